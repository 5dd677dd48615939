//! Changes of the catalogue while nodes run, such as a revoked key or a disabled project, take effect on all nodes
//! within a second.

use crate::support::client::{Client, entry};
use crate::support::cluster::await_ready;
use crate::support::http::system_call;
use crate::support::mongodb::{Database, Server};
use crate::support::{Claims, DEADLINE, Node, RedisServer, Tokens, emit, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::Output;
use std::time::{Duration, Instant};

/// How soon a revoked key is refused on all nodes.
const EFFECT_TIMEOUT: Duration = Duration::from_secs(1);

const BODY: &str = r#"{"name":"orders","eventData":1}"#;

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// Waits until `check` holds, which must be soon after a change.
fn assert_soon(what: &str, check: impl FnMut() -> bool) {
    let changed = Instant::now();
    eventually(what, check);
    assert!(changed.elapsed() < EFFECT_TIMEOUT, "{what} took {:?}", changed.elapsed());
}

fn refuses(node: &Node, token: &str) -> bool {
    let answer = emit(node, token, BODY);
    answer.status == 401 && answer.refusal(401) == "TOKEN_INVALID"
}

/// The id of the key for one use, from the output of `carillon key list`.
fn key_id(listed: &Output, key_use: &str) -> String {
    let listed = text(listed);
    let line = listed.lines().find(|line| line.contains(&format!(" {key_use} "))).unwrap_or_else(|| panic!("{listed}"));
    line.split(' ').next().unwrap_or_default().to_owned()
}

/// Asserts that the next two messages are the reason and the close frame.
async fn expect_revoked(client: &mut Client) {
    let message = client.next_json().await;
    assert_eq!(message["type"], "TOKEN_VALIDATION", "{message}");
    assert_eq!(message["errors"][0]["code"], "TOKEN_INVALID", "{message}");
    client.expect_close(4401).await;
}

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
    assert_eq!((text(&added).as_str(), added.status.code()), ("second\n", Some(0)));
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
    assert_eq!(text(&revoked), expected);
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
        text(&output).starts_with("carillon: the change is saved, but the nodes could not be notified over Redis"),
        "{}",
        text(&output)
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

#[tokio::test]
async fn a_running_node_sees_changes_of_the_command_line_in_the_embedded_catalogue() {
    let node = Node::start(&[]);
    let (mut client, tokens) = (Client::of(&node).await, node.tokens());
    client.subscribe(entry("orders")).await;
    let run = |words: &[&str]| node.run(&[], words);
    assert_eq!(text(&run(&["project", "list"])), "demo active open\n");
    let key = key_id(&run(&["key", "list", "--project", "demo"]), "user");
    let added = text(&run(&["key", "add", "--project", "demo", "--use", "user"])).trim().to_owned();
    let revoked = run(&["key", "revoke", "--project", "demo", &key]);
    let expected = format!("revoked the key {key} of project demo: a node that runs on it sees it within a second\n");
    assert_eq!(text(&revoked), expected);
    assert_soon("the session's end", || node.metric("carillon_subscriptions", "") == 0.0);
    expect_revoked(&mut client).await;

    let listed = text(&run(&["key", "list", "--project", "demo"]));
    assert!(listed.contains(&format!("{key} user HS256 revoked\n{added} user HS256 active\n")), "{listed}");
    let new_user = text(&run(&["token", "user", "--project", "demo", "--sub", "u1"])).trim().to_owned();
    let new = Tokens { api: tokens.api.clone(), user: new_user };
    let mut client = Client::connect(&node, &new).await;

    assert_eq!(run(&["project", "disable", "demo"]).status.code(), Some(0));
    assert_soon("a refused emit", || refuses(&node, &tokens.api));
    expect_revoked(&mut client).await;
    assert_eq!(run(&["project", "enable", "demo"]).status.code(), Some(0));
    eventually("an accepted emit", || emit(&node, &tokens.api, BODY).status == 200);
}

#[tokio::test]
async fn a_session_refreshed_with_tokens_of_a_new_key_survives_the_revocation_of_the_old_key() {
    let node = Node::start(&[]);
    let mut refreshed = Client::of(&node).await;
    let mut old = Client::of(&node).await;
    refreshed.subscribe(entry("orders")).await;
    let run = |words: &[&str]| node.run(&[], words);
    let keys = run(&["key", "list", "--project", "demo"]);
    let (api, user) = (key_id(&keys, "api"), key_id(&keys, "user"));
    for key_use in ["api", "user"] {
        run(&["key", "add", "--project", "demo", "--use", key_use, "--id", &format!("new-{key_use}")]);
    }
    let tokens = crate::support::tokens::signed_with(node.directory(), "new-api", "new-user");
    let message = json!({"objType": "REFRESH", "tokens": {
        "x-am-authorization": tokens.api, "x-am-user-authorization": tokens.user,
    }});
    // The node sees the new keys within a second.
    let end = Instant::now() + DEADLINE;
    while refreshed.ask(message.clone()).await["errors"] != Value::Null {
        assert!(Instant::now() < end, "never refreshed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for key in [&api, &user] {
        assert_eq!(run(&["key", "revoke", "--project", "demo", key]).status.code(), Some(0));
    }
    expect_revoked(&mut old).await;
    assert_eq!(emit(&node, &tokens.api, BODY).status, 200);
    assert_eq!(refreshed.next_notification().await.1, json!(1));
}

#[test]
fn key_calls_need_the_admin_scope_and_an_existing_key() {
    let node = Node::start(&[]);
    let admin = node.token(Claims::api("admin"));
    let emitter = node.token(Claims::api("connect emit"));
    assert_eq!(system_call(&node, "GET", "list-keys-ws", &emitter, &json!({})).refusal(403), "TOKEN_SCOPE");
    assert_eq!(system_call(&node, "POST", "revoke-key-ws", &emitter, &json!({"id": "x"})).refusal(403), "TOKEN_SCOPE");
    assert_eq!(system_call(&node, "POST", "revoke-key-ws", &admin, &json!({"id": 1})).refusal(400), "INVALID_JSON");
    assert_eq!(
        system_call(&node, "POST", "revoke-key-ws", &admin, &json!({"id": "x"})).refusal(404),
        "UNKNOWN_MESSAGE"
    );
    let listed = system_call(&node, "GET", "list-keys-ws", &admin, &json!({}));
    let keys = listed.json()["data"]["keys"].clone();
    assert_eq!(keys.as_array().map(Vec::len), Some(2), "{keys}");
    let members: Vec<&String> = keys[0].as_object().expect("a key").keys().collect();
    assert_eq!(members, ["active", "algorithm", "id", "use"], "no secret");
    // The key that signed the token of this call.
    assert_eq!(system_call(&node, "POST", "revoke-key-ws", &admin, &json!({"id": keys[0]["id"]})).status, 200);
    assert_soon("refused", || refuses(&node, &emitter));
}

#[tokio::test]
async fn a_removed_project_loses_its_sessions_and_its_tokens_on_a_running_node() {
    let node = Node::start(&[]);
    let (mut client, tokens) = (Client::of(&node).await, node.tokens());
    client.subscribe(entry("orders")).await;
    let run = |words: &[&str]| node.run(&[], words);
    assert_eq!(text(&run(&["project", "add", "other"])), "added the project other\n");
    let removed = run(&["project", "remove", "demo", "--yes"]);
    assert_eq!(text(&removed), "removed the project demo: a node that runs on it sees it within a second\n");
    assert_soon("the session's end", || node.metric("carillon_subscriptions", "") == 0.0);
    expect_revoked(&mut client).await;
    assert!(refuses(&node, &tokens.api));
    assert_eq!(text(&run(&["project", "list"])), "other active open\n");

    // A new project with the same name has new keys, so tokens of the old one stay refused.
    assert_eq!(run(&["project", "add", "demo"]).status.code(), Some(0));
    let new = text(&run(&["token", "api", "--project", "demo", "--name", "shop", "--scope", "emit"]));
    eventually("an accepted emit", || emit(&node, new.trim(), BODY).status == 200);
    assert!(refuses(&node, &tokens.api));
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

#[test]
fn a_key_whose_id_begins_like_an_option_can_be_added_and_revoked() {
    let node = Node::start(&[]);
    let added = node.run(&[], &["key", "add", "--project", "demo", "--use", "api", "--id", "-Old_1-x"]);
    assert_eq!(text(&added), "-Old_1-x\n");
    let revoked = node.run(&[], &["key", "revoke", "--project", "demo", "-Old_1-x"]);
    assert!(text(&revoked).starts_with("revoked the key -Old_1-x of project demo: "), "{}", text(&revoked));
    let unknown = node.run(&[], &["key", "revoke", "--projekt", "demo", "x"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", text(&unknown));
}

#[test]
fn command_line_errors_are_one_line() {
    let node = Node::start(&[]);
    let rows: [(&[&str], &str); 5] = [
        (&["key", "list", "--project", "nobody"], "carillon: there is no project nobody in "),
        (&["key", "revoke", "--project", "demo", "x"], "carillon: the project demo has no key x: "),
        (&["project", "disable", "nobody"], "carillon: there is no project nobody in "),
        (&["project", "add", "demo"], "carillon: the project demo already exists"),
        (
            &["key", "add", "--project", "demo", "--use", "user", "--public", "/dev/null", "--algorithm", "EdDSA"],
            "carillon: the key cannot be used: ",
        ),
    ];
    for (words, expected) in rows {
        let output = node.run(&[], words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(text(&output).starts_with(expected) && text(&output).lines().count() == 1, "{}", text(&output));
    }
}
