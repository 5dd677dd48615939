//! What every catalogue must do, as one suite over the trait.

use super::{Algorithm, Catalogue, CatalogueError, Key, KeyMaterial, KeyUse, Project, ProjectName};

/// Runs the suite over an empty catalogue.
pub(super) async fn assert_conforms(catalogue: &dyn Catalogue) {
    unknown_project_is_none(catalogue).await;
    demo_is_made_once_with_a_key_for_each_use(catalogue).await;
    project_comes_back_as_it_was_created(catalogue).await;
    second_project_of_a_name_is_refused_and_changes_nothing(catalogue).await;
    key_is_added_behind_the_others_and_replaced_in_place(catalogue).await;
    key_of_an_unknown_project_is_refused(catalogue).await;
}

fn name(text: &str) -> ProjectName {
    ProjectName::parse(text).expect("the suite's names are good")
}

fn key(id: &str, algorithm: Algorithm, material: KeyMaterial) -> Key {
    Key { id: id.to_owned(), key_use: KeyUse::User, algorithm, material, active: true }
}

fn shop() -> Project {
    Project {
        name: name("shop"),
        audience: Some("https://shop.example/'; DROP TABLE keys".to_owned()),
        issuer: Some("é".to_owned()),
        keys: vec![
            key("z", Algorithm::HS512, KeyMaterial::Secret(vec![0, 255, 39])),
            key("a", Algorithm::EdDSA, KeyMaterial::PublicPem("pem".to_owned())),
        ],
    }
}

async fn unknown_project_is_none(catalogue: &dyn Catalogue) {
    assert_eq!(catalogue.project(&name("demo")).await.unwrap(), None);
}

async fn demo_is_made_once_with_a_key_for_each_use(catalogue: &dyn Catalogue) {
    assert!(catalogue.ensure_demo().await.unwrap());
    let demo = catalogue.project(&ProjectName::demo()).await.unwrap().unwrap();
    let uses: Vec<_> = demo.keys.iter().map(|key| key.key_use).collect();
    assert_eq!(uses, [KeyUse::Api, KeyUse::User]);
    assert!(demo.keys.iter().all(|key| key.active && key.algorithm == Algorithm::HS256));
    assert!(!catalogue.ensure_demo().await.unwrap());
    assert_eq!(catalogue.project(&ProjectName::demo()).await.unwrap(), Some(demo));
}

async fn project_comes_back_as_it_was_created(catalogue: &dyn Catalogue) {
    catalogue.create_project(&shop()).await.unwrap();
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(shop()));
}

async fn second_project_of_a_name_is_refused_and_changes_nothing(catalogue: &dyn Catalogue) {
    let refusal = catalogue.create_project(&Project::new(name("shop"))).await.unwrap_err();
    assert!(matches!(refusal, CatalogueError::ProjectExists(taken) if taken == name("shop")));
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(shop()));
}

async fn key_is_added_behind_the_others_and_replaced_in_place(catalogue: &dyn Catalogue) {
    let mut expected = shop();
    expected.keys.push(key("m", Algorithm::HS256, KeyMaterial::Secret(vec![1])));
    catalogue.put_key(&name("shop"), &expected.keys[2]).await.unwrap();
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(expected.clone()));
    expected.keys[0].active = false;
    catalogue.put_key(&name("shop"), &expected.keys[0]).await.unwrap();
    assert_eq!(catalogue.project(&name("shop")).await.unwrap(), Some(expected));
}

async fn key_of_an_unknown_project_is_refused(catalogue: &dyn Catalogue) {
    let refusal = catalogue.put_key(&name("nobody"), &shop().keys[0]).await.unwrap_err();
    assert!(matches!(refusal, CatalogueError::ProjectUnknown(unknown) if unknown == name("nobody")));
}
