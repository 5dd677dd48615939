//! A project with event definitions: other events are unknown, and a definition names the applications that may use it.

use crate::support::client::{Client, entry};
use crate::support::mongodb::{Database, Server};
use crate::support::process::output_text;
use crate::support::{Answer, Claims, Node, Tokens, emit, eventually};
use serde_json::{Value, json};

/// Runs a command beside the node, which must succeed. Returns its output.
fn run(node: &Node, words: &[&str]) -> String {
    let output = node.run(&[], words);
    let text = output_text(&output);
    assert!(output.status.success(), "{words:?}: {text}");
    text
}

/// A node whose project `demo` defines `orders` (for all) and `bills` (emitted by `billing`, for clients of
/// `back-office`).
fn node_with_events() -> Node {
    let node = Node::start(&[]);
    run(&node, &["event", "define", "--project", "demo", "orders"]);
    let rules = ["--subscribers", "back-office", "--emitters", "billing,other"];
    run(&node, &[&["event", "define", "--project", "demo"], &rules[..], &["bills"]].concat());
    assert_eq!(emit_as(&node, "tests", "anything").status, 200, "the project is open");
    run(&node, &["project", "events", "demo", "defined"]);
    eventually("defined events only", || emit_as(&node, "tests", "anything").status == 400);
    node
}

fn token_of(node: &Node, application: &str) -> String {
    node.token(Claims::api("connect emit").with("sub", json!(application)))
}

fn emit_as(node: &Node, application: &str, event: &str) -> Answer {
    emit(node, &token_of(node, application), &json!({"name": event, "eventData": event}).to_string())
}

async fn client_as(node: &Node, application: &str) -> Client {
    let tokens = Tokens { api: token_of(node, application), user: node.token(Claims::user("u1")) };
    Client::connect(node, &tokens).await
}

/// The event and the error code of each entry.
fn codes(invalid: &[Value]) -> Vec<(&str, &str)> {
    invalid
        .iter()
        .map(|entry| {
            let name = entry["apiName"].as_str().unwrap_or_default();
            (name, entry["error"]["code"].as_str().unwrap_or_default())
        })
        .collect()
}

#[tokio::test]
async fn only_the_items_of_a_batch_with_an_unknown_or_forbidden_event_are_refused() {
    let node = node_with_events();
    assert_eq!(emit_as(&node, "tests", "order").refusal(400), "EVENT_UNKNOWN");
    assert_eq!(emit_as(&node, "tests", "bills").refusal(403), "ACCESS_DENIED");
    assert_eq!(emit_as(&node, "billing", "bills").status, 200);
    let body = json!([
        {"name": "orders", "eventData": 1}, {"name": "order", "eventData": 2}, {"name": "bills", "eventData": 3},
    ]);
    let answer = emit(&node, &token_of(&node, "tests"), &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answers = answer.json();
    let statuses: Vec<u64> = (0..3).filter_map(|place| answers[place]["statusCode"].as_u64()).collect();
    assert_eq!(statuses, [200, 400, 403], "{answers}");
    assert_eq!(answers[1]["errors"][0]["code"], "EVENT_UNKNOWN");
}

#[tokio::test]
async fn a_register_accepts_defined_and_permitted_events_and_refuses_all_others() {
    let node = node_with_events();
    let mut client = client_as(&node, "tests").await;
    let (valid, invalid) = client.register(json!([entry("order"), entry("orders"), entry("bills")])).await;
    assert_eq!(codes(&invalid), [("order", "EVENT_UNKNOWN"), ("bills", "ACCESS_DENIED")]);
    assert_eq!((valid.len(), &valid[0]["apiName"]), (1, &json!("orders")));
    let (valid, invalid) = client.register(json!([entry("order")])).await;
    assert_eq!((valid.len(), codes(&invalid)), (0, vec![("order", "EVENT_UNKNOWN")]));
    let mut office = client_as(&node, "back-office").await;
    office.subscribe(entry("bills")).await;
    assert_eq!(emit_as(&node, "billing", "bills").status, 200);
    assert_eq!(emit_as(&node, "tests", "orders").status, 200);
    assert_eq!(office.next_notification().await.1, json!("bills"));
    assert_eq!(client.next_notification().await.1, json!("orders"));
    assert_eq!(node.metric("carillon_subscriptions", ""), 2.0);
}

#[tokio::test]
async fn refused_entries_do_not_count_toward_the_subscription_limit() {
    let node = node_with_events();
    let mut client = client_as(&node, "tests").await;
    for _ in 0..3 {
        let unknown: Value = (0..100).map(|number| entry(&format!("no-{number}"))).collect();
        let (valid, invalid) = client.register(unknown).await;
        assert_eq!((valid.len(), invalid.len()), (0, 100));
        assert!(invalid.iter().all(|entry| entry["error"]["code"] == "EVENT_UNKNOWN"), "{invalid:?}");
    }
    let known: Value = (0..100).map(|_| entry("orders")).collect();
    let (valid, invalid) = client.register(known).await;
    assert_eq!((valid.len(), invalid.len()), (100, 0));
}

#[tokio::test]
async fn an_added_or_removed_definition_takes_effect_soon() {
    let node = node_with_events();
    assert_eq!(run(&node, &["event", "list", "--project", "demo"]).lines().count(), 2);
    assert_eq!(emit_as(&node, "tests", "new").refusal(400), "EVENT_UNKNOWN");
    run(&node, &["event", "define", "--project", "demo", "new"]);
    eventually("a new event", || emit_as(&node, "tests", "new").status == 200);
    run(&node, &["event", "remove", "--project", "demo", "new"]);
    eventually("no event any more", || emit_as(&node, "tests", "new").status == 400);
    let again = node.run(&[], &["event", "remove", "--project", "demo", "new"]);
    assert_eq!(again.status.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn while_mongodb_is_down_known_events_keep_working_and_new_ones_are_temporarily_unavailable() {
    let Some(mut server) = Server::started() else { return };
    let database: Database = server.database();
    let node = database.start_node(&[("CATALOGUE__CACHE_SECONDS", "1")]);
    for event in ["orders", "bills"] {
        assert!(database.run(&["event", "define", "--project", "demo", event]).status.success());
    }
    assert!(database.run(&["project", "events", "demo", "defined"]).status.success());
    let tokens = database.tokens("demo");
    let mut client = Client::connect(&node, &tokens).await;
    client.subscribe(entry("orders")).await;
    let emitted = |event: &str| emit(&node, &tokens.api, &json!({"name": event, "eventData": 1}).to_string());
    eventually("defined events only", || emitted("nothing").status == 400);
    assert_eq!(emitted("orders").status, 200);

    server.kill();
    eventually("lookups that failed", || {
        assert_eq!(emitted("orders").status, 200);
        node.metric("carillon_catalogue_failures_total", "") >= 2.0
    });
    assert_eq!(emitted("bills").refusal(503), "TEMPORARILY_UNAVAILABLE");
    let mut late = Client::connect(&node, &tokens).await;
    let (valid, invalid) = late.register(json!([entry("orders"), entry("bills")])).await;
    assert_eq!((valid.len(), codes(&invalid)), (1, vec![("bills", "TEMPORARILY_UNAVAILABLE")]));

    server.start();
    eventually("the other event", || emitted("bills").status == 200);
    late.subscribe(entry("bills")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_during_the_lookup_of_its_events_leaves_nothing_behind() {
    let Some(server) = Server::started() else { return };
    let database = server.database();
    let node = database.start_node(&[]);
    for event in ["orders", "bills"] {
        assert!(database.run(&["event", "define", "--project", "demo", event]).status.success());
    }
    assert!(database.run(&["project", "events", "demo", "defined"]).status.success());
    let tokens = database.tokens("demo");
    let mut client = Client::connect(&node, &tokens).await;
    server.signal(rustix::process::Signal::STOP);
    client.send(json!({"objType": "REGISTER", "onEvents": [entry("orders"), entry("bills")]}).to_string()).await;
    drop(client);
    eventually("the session's end", || node.metric("carillon_sessions", "") == 0.0);
    server.signal(rustix::process::Signal::CONT);
    let mut other = Client::connect(&node, &tokens).await;
    other.subscribe(entry("orders")).await;
    drop(other);
    eventually("no subscription", || node.metric("carillon_subscriptions", "") == 0.0);
    eventually("no channel", || node.metric("carillon_channels", "") == 0.0);
}
