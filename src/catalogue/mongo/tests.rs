//! Tests with a MongoDB: several nodes at once, and interrupted writes.
//!
//! They need a server, whose address is in `CARILLON_TEST_MONGODB_URI` (`tests/run` starts one). Without it they pass
//! without running. Each test has its own database and drops it at the end.

use futures::future::join_all;

use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc};

use super::documents::KeyDocument;
use super::*;
use crate::catalogue::conformance::assert_conforms;
use crate::catalogue::{Algorithm, KeyMaterial, KeyUse};

const SERVER: &str = "CARILLON_TEST_MONGODB_URI";

/// Runs a test with its own database, whose address and name it passes to the test.
async fn with_database<F: Future<Output = ()>>(test: impl FnOnce(SecretUrl, String) -> F) {
    let Ok(uri) = std::env::var(SERVER) else {
        eprintln!("not run: {SERVER} names no MongoDB");
        return;
    };
    let uri = SecretUrl::from(uri.as_str());
    let name = format!("carillon_test_{}", ObjectId::new().to_hex());
    // A failed test keeps its database for inspection.
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
async fn the_mongo_catalogue_conforms() {
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
async fn migrations_run_again_if_a_start_was_killed_before_their_record() {
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
async fn one_of_many_concurrent_first_starts_creates_the_demo() {
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
async fn keys_of_an_interrupted_creation_belong_to_no_project() {
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
async fn a_key_written_by_many_at_once_is_stored_once() {
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
async fn the_error_for_an_unreadable_document_has_no_secret() {
    with_database(async |uri, name| {
        let catalogue = open(&uri, &name).await;
        catalogue.ensure_demo().await.unwrap();
        let id = catalogue.find_project(&ProjectName::demo()).await.unwrap().unwrap().id;
        // The database is not migrated, so that no validator refuses the document.
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

/// A port that was just free refuses connections. A listener that never accepts does not answer.
#[tokio::test]
async fn a_server_that_refuses_or_does_not_answer_is_an_error_in_bounded_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [free, silent.local_addr().unwrap()] {
        let uri = SecretUrl::from(format!("mongodb://{address}").as_str());
        let catalogue = open(&uri, "carillon").await;
        let start = std::time::Instant::now();
        let refusal = catalogue.project(&ProjectName::demo()).await.unwrap_err();
        assert!(matches!(refusal, CatalogueError::Database(_) | CatalogueError::Timeout(_)), "{refusal}");
        assert!(start.elapsed() < CALL_TIMEOUT * 2, "{:?}", start.elapsed());
    }
}
