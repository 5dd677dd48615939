//! What several nodes do to one MongoDB at once, and what half a write leaves.
//!
//! They need a server: `CARILLON_TEST_MONGODB_URI` names it (`tests/run` starts one), and without it they pass unrun.
//! Each has a database of its own, dropped at its end.

use futures::future::join_all;

use super::*;
use crate::catalogue::conformance::assert_conforms;
use crate::catalogue::{Algorithm, KeyMaterial};

const SERVER: &str = "CARILLON_TEST_MONGODB_URI";

/// Runs a test on a database of its own, which it names to the test.
async fn with_database<F: Future<Output = ()>>(test: impl FnOnce(SecretUrl, String) -> F) {
    let Ok(uri) = std::env::var(SERVER) else {
        eprintln!("not run: {SERVER} names no MongoDB");
        return;
    };
    let uri = SecretUrl::from(uri.as_str());
    let name = format!("carillon_test_{}", ObjectId::new().to_hex());
    // The database of a test that fails stays, to be looked at.
    test(uri.clone(), name.clone()).await;
    open(&uri, &name).await.database.drop().await.unwrap();
}

async fn open(uri: &SecretUrl, database: &str) -> MongoCatalogue {
    MongoCatalogue::connect(uri, database).await.unwrap()
}

async fn count(catalogue: &MongoCatalogue, collection: &str) -> u64 {
    catalogue.database.collection::<Document>(collection).count_documents(doc! {}).await.unwrap()
}

#[tokio::test]
async fn mongo_catalogue_conforms() {
    with_database(async |uri, name| {
        let catalogue = open(&uri, &name).await;
        catalogue.migrate().await.unwrap();
        assert_conforms(&catalogue).await;
    })
    .await;
}

#[tokio::test]
async fn migrations_are_applied_once_and_recorded() {
    with_database(async |uri, name| {
        let catalogue = open(&uri, &name).await;
        assert_eq!(catalogue.migrate().await.unwrap(), ["0001_projects_keys_events", "0002_states_and_event_rules"]);
        assert_eq!(catalogue.migrate().await.unwrap(), [""; 0]);
        assert_eq!(open(&uri, &name).await.migrate().await.unwrap(), [""; 0]);
        assert_eq!(count(&catalogue, "migrations").await, 2);
    })
    .await;
}

#[tokio::test]
async fn migrations_run_again_where_a_start_was_killed_before_their_record() {
    with_database(async |uri, name| {
        let catalogue = open(&uri, &name).await;
        catalogue.migrate().await.unwrap();
        catalogue.ensure_demo().await.unwrap();
        catalogue.database.collection::<Document>("migrations").delete_many(doc! {}).await.unwrap();
        assert_eq!(catalogue.migrate().await.unwrap().len(), 2);
        assert!(catalogue.project(&ProjectName::demo()).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn one_of_many_first_starts_at_once_makes_the_demo() {
    with_database(async |uri, name| {
        let starts = (0..8).map(async |_| {
            let catalogue = open(&uri, &name).await;
            catalogue.migrate().await.unwrap();
            catalogue.ensure_demo().await.unwrap()
        });
        let made = join_all(starts).await.into_iter().filter(|made| *made).count();
        assert_eq!(made, 1);
        let catalogue = open(&uri, &name).await;
        assert_eq!((count(&catalogue, "projects").await, count(&catalogue, "keys").await), (1, 2));
        assert_eq!(count(&catalogue, "migrations").await, 2);
    })
    .await;
}

#[tokio::test]
async fn keys_of_a_project_whose_maker_was_killed_belong_to_nobody() {
    with_database(async |uri, name| {
        let catalogue = open(&uri, &name).await;
        catalogue.migrate().await.unwrap();
        let half = KeyDocument::new(&ObjectId::new().to_hex(), &Key::random(KeyUse::Api).unwrap(), 0);
        catalogue.key_documents().insert_one(half).await.unwrap();
        assert_eq!(catalogue.project(&ProjectName::demo()).await.unwrap(), None);
        assert!(catalogue.ensure_demo().await.unwrap());
        assert_eq!(catalogue.project(&ProjectName::demo()).await.unwrap().unwrap().keys.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn one_key_written_by_many_at_once_is_there_once() {
    with_database(async |uri, name| {
        let catalogue = open(&uri, &name).await;
        catalogue.migrate().await.unwrap();
        let project = Project::new(ProjectName::demo());
        catalogue.create_project(&project).await.unwrap();
        let key = |byte| Key {
            id: "one".to_owned(),
            key_use: KeyUse::Api,
            algorithm: Algorithm::HS256,
            material: KeyMaterial::Secret(vec![byte; 32]),
            active: true,
        };
        let (uri, name, project) = (&uri, &name, &project.name);
        join_all((0..8).map(async |byte| open(uri, name).await.put_key(project, &key(byte)).await.unwrap())).await;
        assert_eq!(catalogue.project(project).await.unwrap().unwrap().keys.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_document_that_can_not_be_read_is_no_leak_of_its_secret() {
    with_database(async |uri, name| {
        let catalogue = open(&uri, &name).await;
        catalogue.ensure_demo().await.unwrap();
        let id = catalogue.find_project(&ProjectName::demo()).await.unwrap().unwrap().id;
        // Not migrated, so that no validator refuses it.
        let wrong = doc! {
            "project": id, "kid": "x", "use": "api", "algorithm": "HS256", "state": "active", "secret": "open sesame",
        };
        catalogue.database.collection::<Document>("keys").insert_one(wrong).await.unwrap();
        let refusal = catalogue.project(&ProjectName::demo()).await.unwrap_err();
        assert!(matches!(refusal, CatalogueError::Unreadable(_)), "{refusal}");
        assert!(!format!("{refusal} {refusal:?}").contains("sesame"), "{refusal:?}");
    })
    .await;
}

/// A port that was free a moment ago refuses, and a listener that never accepts says nothing.
#[tokio::test]
async fn a_server_that_refuses_or_says_nothing_is_an_error_in_bounded_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [free, silent.local_addr().unwrap()] {
        let uri = SecretUrl::from(format!("mongodb://{address}").as_str());
        let catalogue = open(&uri, "carillon").await;
        let start = std::time::Instant::now();
        let refusal = catalogue.project(&ProjectName::demo()).await.unwrap_err();
        assert!(matches!(refusal, CatalogueError::Database(_) | CatalogueError::Silent(_)), "{refusal}");
        assert!(start.elapsed() < CALL_TIMEOUT * 2, "{:?}", start.elapsed());
    }
}
