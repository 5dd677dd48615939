//! The catalogue on a MongoDB that nodes share: concurrent first starts, tokens on every node, and outages of MongoDB.

use crate::support::client::{Client, entry};
use crate::support::http::emit_at;
use crate::support::mongodb::{Database, Server, spawn};
use crate::support::process::output_text;
use crate::support::{Answer, Claims, Node, Tokens, emit, eventually, request};
use carillon::catalogue::{Catalogue as _, Key, KeyUse, Project, ProjectName};
use rustix::process::Signal;
use std::process::Output;
use std::time::{Duration, Instant};

/// How soon everything that needs the catalogue works again after MongoDB returns.
const RETURN: Duration = Duration::from_secs(5);

const BODY: &str = r#"{"name":"orders","eventData":1}"#;

fn ready(node: &Node) -> u16 {
    request(node.address(), "GET", "/readyz", &[], b"").status
}

/// Emits to the project `shop`, which the test creates.
fn emit_to_shop(node: &Node, api_token: &str) -> Answer {
    emit_at(node.address(), "shop", api_token, BODY)
}

/// Creates the project `shop`, which the nodes have not looked up yet, and signs tokens for it.
async fn make_shop(database: &Database) -> Tokens {
    let mut shop = Project::new(ProjectName::parse("shop").expect("a name"));
    shop.keys = [KeyUse::Api, KeyUse::User].map(|key_use| Key::random(key_use).expect("randomness")).into();
    database.catalogue().await.create_project(&shop).await.expect("a new project");
    database.tokens("shop")
}

fn assert_back_in_time(since: Instant) {
    assert!(since.elapsed() < RETURN, "{:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_that_start_together_on_an_empty_catalogue_create_one_demo_and_accept_its_tokens() {
    let Some(database) = Database::shared() else { return };
    let start = || database.start_node(&[]);
    let (one, other) = std::thread::scope(|scope| {
        let one = scope.spawn(start);
        (start(), one.join().expect("a node"))
    });
    let counts = [database.count("projects").await, database.count("keys").await, database.count("migrations").await];
    assert_eq!(counts, [1, 2, 2], "projects, keys, migrations");
    let tokens = database.tokens("demo");
    for node in [&one, &other] {
        assert_eq!(ready(node), 200);
        let mut client = Client::connect(node, &tokens).await;
        client.subscribe(entry("orders")).await;
        assert_eq!(emit(node, &tokens.api, BODY).status, 200);
        assert_eq!(client.next_notification().await.1, 1);
        assert!(!node.directory().join("carillon.sqlite3").exists());
    }
    drop((one, other));
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_project_is_served_while_mongodb_is_down_and_others_soon_after_it_returns() {
    let Some(mut server) = Server::started() else { return };
    let database = server.database();
    let node = database.start_node(&[("CATALOGUE__CACHE_SECONDS", "1")]);
    let (demo, shop) = (database.tokens("demo"), make_shop(&database).await);
    let mut client = Client::connect(&node, &demo).await;
    client.subscribe(entry("orders")).await;

    server.kill();
    // The cached answer is too old. The node can't read it again, and keeps using it.
    eventually("lookups that failed", || {
        assert_eq!(emit(&node, &demo.api, BODY).status, 200);
        node.output().matches("the cached answer stays valid").count() >= 2
    });
    assert_eq!(client.next_notification().await.1, 1);
    Client::connect(&node, &demo).await;
    assert_eq!(emit_to_shop(&node, &shop.api).refusal(503), "TEMPORARILY_UNAVAILABLE");
    let refused = emit(&node, &Claims::api("emit").of_project("other").sign_wrongly(), BODY);
    assert_eq!(refused.refusal(503), "TEMPORARILY_UNAVAILABLE");
    assert_eq!(ready(&node), 200);
    assert!(node.metric("carillon_catalogue_failures_total", "") >= 4.0);

    server.start();
    let back = Instant::now();
    eventually("the new project", || emit_to_shop(&node, &shop.api).status == 200);
    assert_back_in_time(back);
    Client::connect(&node, &shop).await;
    assert_eq!(emit(&node, &demo.api, BODY).status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mongodb_that_hangs_delays_only_the_requests_that_need_it() {
    let Some(server) = Server::started() else { return };
    let database = server.database();
    let node = database.start_node(&[("HTTP__WORKERS", "1")]);
    let (demo, shop) = (database.tokens("demo"), make_shop(&database).await);
    assert_eq!(emit(&node, &demo.api, BODY).status, 200);

    server.signal(Signal::STOP);
    let stop = Instant::now();
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4).map(|_| scope.spawn(|| emit_to_shop(&node, &shop.api))).collect();
        let mut served = 0;
        while asking.iter().any(|asks| !asks.is_finished()) {
            let start = Instant::now();
            assert_eq!(emit(&node, &demo.api, BODY).status, 200);
            assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
            served += 1;
        }
        assert!(served > 10, "{served}");
        for asks in asking {
            assert_eq!(asks.join().expect("an answer").refusal(503), "TEMPORARILY_UNAVAILABLE");
        }
    });
    // They wait for one lookup together, and not for one lookup each.
    assert!(stop.elapsed() < Duration::from_secs(8), "{:?}", stop.elapsed());
    server.signal(Signal::CONT);
    let back = Instant::now();
    eventually("the new project", || emit_to_shop(&node, &shop.api).status == 200);
    assert_back_in_time(back);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_without_mongodb_is_healthy_and_becomes_ready_when_mongodb_starts() {
    let Some(mut server) = Server::new() else { return };
    let database = server.database();
    let node = database.start_node(&[]);
    assert_eq!(request(node.address(), "GET", "/healthz", &[], b"").status, 200);
    assert_eq!(ready(&node), 503);
    let token = Claims::api("emit").sign_wrongly();
    assert_eq!(emit(&node, &token, BODY).refusal(503), "TEMPORARILY_UNAVAILABLE");
    assert!(node.output().contains("the catalogue cannot be reached"), "{}", node.output());

    server.start();
    let back = Instant::now();
    eventually("readiness", || ready(&node) == 200);
    assert_back_in_time(back);
    assert_eq!(emit(&node, &database.tokens("demo").api, BODY).status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_that_run_concurrently_and_again_are_applied_once() {
    let Some(database) = Database::shared() else { return };
    let both = [spawn(&database, &["migrate"]), spawn(&database, &["migrate"])];
    let outputs: Vec<Output> = both.map(|child| child.wait_with_output().expect("its output")).into();
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", output_text(output));
    }
    assert!(
        outputs
            .iter()
            .any(|output| output_text(output)
                == "applied 0001_projects_keys_events\napplied 0002_states_and_event_rules\n"),
        "{outputs:?}"
    );
    let again = database.run(&["migrate"]);
    assert_eq!(output_text(&again), "nothing to do: every migration is applied\n");
    assert_eq!((database.count("migrations").await, database.count("projects").await), (2, 0));
    let unknown = database.run(&["token", "user", "--project", "demo", "--sub", "u1"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        output_text(&unknown).starts_with("carillon: there is no project demo in the database "),
        "{}",
        output_text(&unknown)
    );
    database.remove().await;
}

#[test]
fn an_unreachable_or_impossible_mongodb_address_is_reported_in_one_line_without_the_password() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its address");
    let nowhere = format!("mongodb://ann:sesame@{unused}/?serverSelectionTimeoutMS=200");
    let commands = [&["migrate"][..], &["token", "user", "--project", "demo", "--sub", "u1"]];
    for uri in [nowhere.as_str(), "mongodb://ann:sesame@a:b:c"] {
        for words in commands {
            let output = Database::on(uri.to_owned()).run(words);
            assert_eq!(output.status.code(), Some(1), "{}", output_text(&output));
            assert!(
                output_text(&output).starts_with("carillon: ") && output_text(&output).lines().count() == 1,
                "{}",
                output_text(&output)
            );
            assert!(!output_text(&output).contains("sesame"), "{}", output_text(&output));
        }
    }
    let served = Database::on("mongodb://ann:sesame@a:b:c".to_owned()).run(&["serve"]);
    assert_eq!(served.status.code(), Some(1));
    assert!(output_text(&served).contains("catalogue.mongodb.uri cannot be used: "), "{}", output_text(&served));
}
