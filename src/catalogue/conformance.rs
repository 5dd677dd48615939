//! The tests that every catalogue must pass.

use super::{
    Algorithm, Catalogue, CatalogueError, EventDefinition, EventMode, Key, KeyMaterial, KeyUse, Project, ProjectName,
    revoke_key,
};

/// Runs the suite over an empty catalogue.
pub(super) async fn assert_conforms(catalogue: &dyn Catalogue) {
    an_unknown_project_is_none(catalogue).await;
    demo_is_created_once_with_a_key_for_each_use(catalogue).await;
    a_created_project_is_read_unchanged(catalogue).await;
    a_second_project_of_the_same_name_is_refused_and_changes_nothing(catalogue).await;
    a_new_key_is_the_last_and_a_replaced_key_stays_in_place(catalogue).await;
    a_key_of_an_unknown_project_is_refused(catalogue).await;
    a_revoked_key_stays_in_place(catalogue).await;
    a_replaced_project_keeps_its_keys(catalogue).await;
    events_are_read_unchanged_from_their_own_project(catalogue).await;
    a_project_is_removed_with_its_keys_and_events_and_others_stay(catalogue).await;
}

fn name(text: &str) -> ProjectName {
    ProjectName::parse(text).expect("a valid name")
}

fn key(id: &str, algorithm: Algorithm, material: KeyMaterial) -> Key {
    Key { id: id.to_owned(), key_use: KeyUse::User, algorithm, material, active: true }
}

fn shop() -> Project {
    Project {
        name: name("shop"),
        active: true,
        audience: Some("https://shop.example/'; DROP TABLE keys".to_owned()),
        issuer: Some("é".to_owned()),
        events: EventMode::Open,
        keys: vec![
            key("z", Algorithm::HS512, KeyMaterial::Secret(vec![0, 255, 39])),
            key("a", Algorithm::EdDSA, KeyMaterial::PublicPem("pem".to_owned())),
        ],
    }
}

async fn an_unknown_project_is_none(catalogue: &dyn Catalogue) {
    assert_eq!(catalogue.project(&name("demo")).await.unwrap(), None);
}

async fn demo_is_created_once_with_a_key_for_each_use(catalogue: &dyn Catalogue) {
    assert!(catalogue.ensure_demo().await.unwrap());
    let demo = catalogue.project(&ProjectName::demo()).await.unwrap().unwrap();
    let uses: Vec<_> = demo.keys.iter().map(|key| key.key_use).collect();
    assert_eq!(uses, [KeyUse::Api, KeyUse::User]);
    assert!(demo.keys.iter().all(|key| key.active && key.algorithm == Algorithm::HS256));
    assert!(!catalogue.ensure_demo().await.unwrap());
    assert_eq!(catalogue.project(&ProjectName::demo()).await.unwrap(), Some(demo));
}

async fn a_created_project_is_read_unchanged(catalogue: &dyn Catalogue) {
    catalogue.create_project(&shop()).await.unwrap();
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(shop()));
}

async fn a_second_project_of_the_same_name_is_refused_and_changes_nothing(catalogue: &dyn Catalogue) {
    let refusal = catalogue.create_project(&Project::new(name("shop"))).await.unwrap_err();
    assert!(matches!(refusal, CatalogueError::ProjectExists(taken) if taken == name("shop")));
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(shop()));
}

async fn a_new_key_is_the_last_and_a_replaced_key_stays_in_place(catalogue: &dyn Catalogue) {
    let mut expected = shop();
    expected.keys.push(key("m", Algorithm::HS256, KeyMaterial::Secret(vec![1])));
    catalogue.put_key(&name("shop"), &expected.keys[2]).await.unwrap();
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(expected.clone()));
    expected.keys[0].active = false;
    catalogue.put_key(&name("shop"), &expected.keys[0]).await.unwrap();
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(expected));
}

async fn a_key_of_an_unknown_project_is_refused(catalogue: &dyn Catalogue) {
    let refusal = catalogue.put_key(&name("nobody"), &shop().keys[0]).await.unwrap_err();
    assert!(matches!(refusal, CatalogueError::ProjectUnknown(unknown) if unknown == name("nobody")));
}

async fn a_revoked_key_stays_in_place(catalogue: &dyn Catalogue) {
    let mut expected = catalogue.project(&name("shop")).await.unwrap().unwrap();
    for _ in 0..2 {
        assert!(revoke_key(catalogue, &name("shop"), "a").await.unwrap());
        expected.keys[1].active = false;
        assert_eq!(catalogue.project(&name("shop")).await.unwrap().as_ref(), Some(&expected));
    }
    assert!(!revoke_key(catalogue, &name("shop"), "A").await.unwrap());
    let refusal = revoke_key(catalogue, &name("nobody"), "a").await.unwrap_err();
    assert!(matches!(refusal, CatalogueError::ProjectUnknown(unknown) if unknown == name("nobody")));
}

async fn a_replaced_project_keeps_its_keys(catalogue: &dyn Catalogue) {
    let mut expected = catalogue.project(&name("shop")).await.unwrap().unwrap();
    expected.active = false;
    expected.audience = None;
    expected.events = EventMode::Defined;
    let without_keys = Project { keys: Vec::new(), ..expected.clone() };
    catalogue.put_project(&without_keys).await.unwrap();
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(expected));
    let refusal = catalogue.put_project(&Project::new(name("nobody"))).await.unwrap_err();
    assert!(matches!(refusal, CatalogueError::ProjectUnknown(unknown) if unknown == name("nobody")));
    assert_eq!(catalogue.projects().await.unwrap(), [name("demo"), name("shop")]);
}

async fn events_are_read_unchanged_from_their_own_project(catalogue: &dyn Catalogue) {
    let (demo, shop) = (ProjectName::demo(), name("shop"));
    let mut orders = EventDefinition::new("orders/'; DROP TABLE events \u{fc}");
    assert_eq!(catalogue.event(&shop, &orders.name).await.unwrap(), None);
    catalogue.put_event(&shop, &orders).await.unwrap();
    assert_eq!(catalogue.event(&shop, &orders.name).await.unwrap().as_ref(), Some(&orders));
    orders.active = false;
    orders.subscribers = Some(vec!["web".to_owned(), "\"app\"".to_owned()]);
    orders.emitters = Some(Vec::new());
    catalogue.put_event(&shop, &orders).await.unwrap();
    assert_eq!(catalogue.event(&shop, &orders.name).await.unwrap().as_ref(), Some(&orders));
    let bills = EventDefinition::new("bills");
    catalogue.put_event(&shop, &bills).await.unwrap();
    assert_eq!(catalogue.events(&shop).await.unwrap(), [bills.clone(), orders]);
    for (project, event) in [(&demo, "bills"), (&shop, "Bills"), (&name("nobody"), "bills")] {
        assert_eq!(catalogue.event(project, event).await.unwrap(), None);
    }
    assert_eq!(catalogue.events(&name("nobody")).await.unwrap(), []);
    let refusal = catalogue.put_event(&name("nobody"), &bills).await.unwrap_err();
    assert!(matches!(refusal, CatalogueError::ProjectUnknown(unknown) if unknown == name("nobody")));
}

async fn a_project_is_removed_with_its_keys_and_events_and_others_stay(catalogue: &dyn Catalogue) {
    let (demo, shop) = (ProjectName::demo(), name("shop"));
    let before = catalogue.project(&demo).await.unwrap();
    let event = EventDefinition::new("bills");
    catalogue.put_event(&demo, &event).await.unwrap();
    catalogue.remove_project(&shop).await.unwrap();
    assert_eq!(catalogue.project(&shop).await.unwrap(), None);
    assert_eq!(catalogue.projects().await.unwrap(), [name("demo")]);
    assert_eq!(catalogue.events(&shop).await.unwrap(), []);
    assert_eq!(catalogue.project(&demo).await.unwrap(), before);
    assert_eq!(catalogue.events(&demo).await.unwrap(), [event]);
    let refusal = catalogue.remove_project(&shop).await.unwrap_err();
    assert!(matches!(refusal, CatalogueError::ProjectUnknown(unknown) if unknown == shop));
    // A new project of the same name has nothing of the old one.
    let empty = Project::new(shop.clone());
    catalogue.create_project(&empty).await.unwrap();
    assert_eq!(catalogue.project(&shop).await.unwrap(), Some(empty));
    assert_eq!(catalogue.events(&shop).await.unwrap(), []);
}
