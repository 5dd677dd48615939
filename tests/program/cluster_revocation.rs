//! A key revoked or a project removed in MongoDB takes effect on all nodes within a second, or once a node can read the
//! catalogue again.

use crate::support::client::{Client, entry};
use crate::support::cluster::await_ready;
use crate::support::http::system_call;
use crate::support::mongodb::{Database, Server};
use crate::support::process::output_text;
use crate::support::revocation::{BODY, assert_soon, expect_revoked, key_id, refuses};
use crate::support::{Node, RedisServer, emit, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Two nodes on one Redis and one MongoDB.
fn cluster(redis: &RedisServer, database: &Database) -> Vec<Node> {
    let url = redis.url();
    let settings = [("BUS__KIND", "redis"), ("BUS__REDIS__URL", url.as_str())];
    let nodes: Vec<Node> = (0..2).map(|_| database.start_node(&settings)).collect();
    nodes.iter().for_each(await_ready);
    nodes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_revoked_through_one_node_is_refused_on_the_other_within_a_second() {
    let Some(database) = Database::shared() else { return };
    let redis = RedisServer::start();
    let nodes = cluster(&redis, &database);
    let old = database.tokens("demo");
    let listed = database.run(&["key", "list", "--project", "demo"]);
    let (old_api, old_user) = (key_id(&listed, "api"), key_id(&listed, "user"));

    // A second key for API tokens. The command line signs with the first active key.
    let added = database.run(&["key", "add", "--project", "demo", "--use", "api", "--id", "second"]);
    assert_eq!((output_text(&added).as_str(), added.status.code()), ("second\n", Some(0)));
    let admin = database.token(&["api", "--project", "demo", "--name", "ops", "--scope", "admin"]);
    let mut clients = Vec::new();
    for node in &nodes {
        assert_eq!(emit(node, &old.api, BODY).status, 200);
        let mut client = Client::connect(node, &old).await;
        client.subscribe(entry("quiet")).await;
        clients.push(client);
    }

    let listed = system_call(&nodes[0], "GET", "list-keys-ws", &admin, &json!({})).json();
    let keys = listed["data"]["keys"].as_array().expect("a list").clone();
    assert_eq!(keys.len(), 3, "{listed}");
    assert_eq!(keys[0], json!({"id": old_api, "use": "api", "algorithm": "HS256", "active": true}));
    let answer = system_call(&nodes[0], "POST", "revoke-key-ws", &admin, &json!({"id": old_api}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_soon("refused on both nodes", || nodes.iter().all(|node| refuses(node, &old.api)));
    for client in &mut clients {
        expect_revoked(client).await;
    }
    let new = database.tokens("demo");
    for node in &nodes {
        assert_eq!(emit(node, &new.api, BODY).status, 200);
        assert!(node.metric("carillon_project_changes_total", "") >= 1.0);
        assert!(node.output().contains("a project has changed in the catalogue"), "{}", node.output());
    }
    assert!(nodes[0].output().contains("a key was revoked project=demo"), "{}", nodes[0].output());

    // The command line notifies all nodes too.
    let mut client = Client::connect(&nodes[1], &new).await;
    client.subscribe(entry("quiet")).await;
    let url = redis.url();
    let bus = [("BUS__KIND", "redis"), ("BUS__REDIS__URL", url.as_str())];
    let revoked = nodes[0].run(&database.settings(&bus), &["key", "revoke", "--project", "demo", &old_user]);
    let expected = format!("revoked the key {old_user} of project demo: 2 nodes were notified\n");
    assert_eq!(output_text(&revoked), expected);
    assert_soon("the session's end", || nodes[1].metric("carillon_subscriptions", "") == 0.0);
    expect_revoked(&mut client).await;
    drop(nodes);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_redis_learns_of_a_revoked_key_when_it_reconnects() {
    let Some(database) = Database::shared() else { return };
    let mut redis = RedisServer::start();
    let nodes = cluster(&redis, &database);
    let tokens = database.tokens("demo");
    let mut client = Client::connect(&nodes[1], &tokens).await;
    redis.kill();
    eventually("a lost bus", || nodes.iter().all(|node| node.metric("carillon_bus_ready", "") == 0.0));
    let key = key_id(&database.run(&["key", "list", "--project", "demo"]), "api");
    let url = redis.url();
    let bus = [("BUS__KIND", "redis"), ("BUS__REDIS__URL", url.as_str())];
    let output = nodes[0].run(&database.settings(&bus), &["key", "revoke", "--project", "demo", &key]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        output_text(&output)
            .starts_with("carillon: the change is saved, but the nodes could not be notified over Redis"),
        "{}",
        output_text(&output)
    );
    redis.start_again();
    expect_revoked(&mut client).await;
    assert!(refuses(&nodes[1], &tokens.api));
    drop(nodes);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_revoked_while_mongodb_hangs_ends_its_sessions_once_mongodb_answers_again() {
    let Some(server) = Server::started() else { return };
    let database = server.database();
    let redis = RedisServer::start();
    let nodes = cluster(&redis, &database);
    let tokens = database.tokens("demo");
    let mut client = Client::connect(&nodes[1], &tokens).await;
    let key = key_id(&database.run(&["key", "list", "--project", "demo"]), "user");
    // The key is revoked without a notification to the nodes, as if MongoDB became unreachable right after the write.
    assert_eq!(database.run(&["key", "revoke", "--project", "demo", &key]).status.code(), Some(0));
    server.signal(Signal::STOP);
    let message = r#"{"type":"projectChanged","project":"demo"}"#;
    assert_eq!(redis.ask(&["PUBLISH", "carillon:control", message]), ":2");
    eventually("a lookup that failed", || nodes[1].metric("carillon_catalogue_failures_total", "") >= 1.0);
    assert_eq!(emit(&nodes[1], &tokens.api, BODY).status, 200, "what was read before serves on");
    server.signal(Signal::CONT);
    expect_revoked(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_removed_from_mongodb_loses_its_sessions_on_every_node() {
    let Some(database) = Database::shared() else { return };
    let redis = RedisServer::start();
    let nodes = cluster(&redis, &database);
    let tokens = database.tokens("demo");
    let mut client = Client::connect(&nodes[1], &tokens).await;
    client.subscribe(entry("quiet")).await;
    let url = redis.url();
    let bus = [("BUS__KIND", "redis"), ("BUS__REDIS__URL", url.as_str())];
    let removed = nodes[0].run(&database.settings(&bus), &["project", "remove", "demo", "--yes", "--json"]);
    let removed: Value = serde_json::from_slice(&removed.stdout).expect("JSON");
    assert_eq!(removed, json!({"removed": "demo", "nodes_notified": 2, "visible_within_seconds": 0}));
    assert_soon("the session's end", || nodes[1].metric("carillon_subscriptions", "") == 0.0);
    expect_revoked(&mut client).await;
    assert_soon("refused on both nodes", || nodes.iter().all(|node| refuses(node, &tokens.api)));
    drop(nodes);
    database.remove().await;
}
