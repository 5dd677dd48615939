//! Operation: health checks, metrics, the data folder, the command line.

use crate::support::client::{Client, conditional, entry};
use crate::support::process::{command, program, refused_start};
use crate::support::raw::{masked_frame, upgrade_request};
use crate::support::{Node, RawSocket, Tokens, emit, eventually, request};
use serde_json::json;
use std::process::Command;

const METRICS: [&str; 13] = [
    "carillon_sessions",
    "carillon_subscriptions",
    "carillon_channels",
    "carillon_emits_total",
    "carillon_notifications_total",
    "carillon_condition_drops_total",
    "carillon_closes_total",
    "carillon_session_queue_bytes",
    "carillon_bus_queue_bytes",
    "carillon_emit_seconds_bucket",
    "carillon_limits_total",
    "carillon_upgrades_total",
    "carillon_catalogue_failures_total",
];

fn nothing_is_left(node: &Node) -> bool {
    ["carillon_sessions", "carillon_subscriptions", "carillon_channels"].iter().all(|name| node.metric(name, "") == 0.0)
}

#[test]
fn a_started_node_is_healthy_and_ready() {
    let node = Node::start(&[]);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(request(node.address(), "GET", path, &[], b"").status, 200, "{path}");
    }
}

#[tokio::test]
async fn metrics_have_every_name_and_count_what_happened() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    client.subscribe(conditional("orders", json!({"a": 1}))).await;
    client.subscribe(entry("orders")).await;
    emit(&node, &tokens.api, r#"{"name":"orders","eventData":{"a":2}}"#);
    emit(&node, &tokens.api, r#"{"name":"","eventData":{"a":2}}"#);
    client.next_notification().await;
    let mut gone = Client::connect(&node, &tokens).await;
    gone.write(tokio_tungstenite::tungstenite::Message::binary(vec![0])).await;
    gone.expect_close(1003).await;
    eventually("the counts", || {
        let count = |name, label| node.metric(name, label);
        count("carillon_sessions", "") == 1.0
            && count("carillon_subscriptions", "") == 2.0
            && count("carillon_channels", "") == 1.0
            && count("carillon_notifications_total", "") == 1.0
            && count("carillon_condition_drops_total", "") == 1.0
            && count("carillon_closes_total", "1003") == 1.0
            && count("carillon_emits_total", "") == 2.0
            && count("carillon_emit_seconds_count", "") >= 1.0
            && count("carillon_upgrades_total", "") == 2.0
    });
    let answer = request(node.address(), "GET", "/metrics", &[], b"");
    let text = answer.text();
    for name in METRICS {
        assert!(text.contains(name), "{name} is missing in\n{text}");
    }
}

#[tokio::test]
async fn no_token_and_no_event_data_stand_in_metrics_or_logs() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::open(&node, &tokens.in_query("/ws"), &[]).await;
    client.next_json().await;
    client.subscribe(conditional("orders", json!({"to": "secret-condition"}))).await;
    emit(&node, &tokens.api, r#"{"name":"orders","eventData":{"to":"secret-data"}}"#);
    let bad = Tokens { api: "secret-token".to_owned(), user: tokens.user.clone() };
    let mut refused = Client::open(&node, &bad.in_query("/ws"), &[]).await;
    refused.expect_close(4401).await;
    let metrics = request(node.address(), "GET", "/metrics", &[], b"").text();
    let log = node.log();
    for secret in [tokens.api.as_str(), &tokens.user, "secret-condition", "secret-data", "secret-token"] {
        assert!(!metrics.contains(secret) && !log.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn a_session_that_ends_leaves_nothing_behind() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    for round in 0..5 {
        let mut client = Client::connect(&node, &tokens).await;
        for i in 0..20 {
            client.subscribe(conditional(&format!("event-{i}"), json!({"to": i, "x": {"$gt": round}}))).await;
        }
    }
    eventually("nothing left behind", || nothing_is_left(&node));
}

#[test]
fn a_session_that_ends_during_its_register_leaves_nothing_behind() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let entries: Vec<_> = (0..100).map(|i| conditional(&format!("event-{i}"), json!({"to": i}))).collect();
    let register = json!({"objType": "REGISTER", "onEvents": entries}).to_string();
    let mut bytes = upgrade_request("/ws", &tokens.headers());
    bytes.extend(masked_frame(0x81, register.as_bytes()));
    let close = masked_frame(0x88, &1000_u16.to_be_bytes());
    for round in 0..60 {
        let mut socket = RawSocket::connect(node.address());
        socket.write(&bytes);
        match round % 3 {
            0 => socket.write(&close),
            1 => assert_eq!(socket.read_answer().status, 101),
            _ => {}
        }
    }
    eventually("every upgrade seen", || node.metric("carillon_upgrades_total", "") >= 20.0);
    eventually("nothing left behind", || nothing_is_left(&node));
}

#[test]
fn a_second_node_on_the_same_data_folder_exits_with_a_reason() {
    let node = Node::start(&[]);
    let text = refused_start(command(node.directory(), &[]));
    let folder = node.directory().to_str().expect("a path of UTF-8");
    assert!(text.contains(folder), "the folder is named: {text}");
    assert_eq!(request(node.address(), "GET", "/readyz", &[], b"").status, 200);
}

#[tokio::test]
async fn a_data_folder_left_by_a_killed_node_opens_again_with_its_keys() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let _session = Client::connect(&node, &tokens).await;
    let directory = node.kill();
    let node = Node::start_in(directory, &[]);
    Client::connect(&node, &tokens).await;
}

#[tokio::test]
async fn the_command_line_issues_tokens_beside_a_running_node() {
    let node = Node::start(&[]);
    let token = |words: &[&str]| {
        let output = Command::new(program())
            .arg("token")
            .args(words)
            .env("CARILLON__DATA__DIR", node.directory())
            .output()
            .expect("the program runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{error}");
        let text = String::from_utf8(output.stdout).expect("a text");
        assert_eq!(text.lines().count(), 1, "the token alone: {text}");
        text.trim().to_owned()
    };
    let tokens = Tokens {
        api: token(&["api", "--project", "demo", "--name", "shop", "--scope", "connect,emit"]),
        user: token(&["user", "--project", "demo", "--sub", "u7", "--ttl", "1h", "--claim", "team=blue"]),
    };
    let mut client = Client::connect(&node, &tokens).await;
    client.subscribe(entry("orders")).await;
    assert_eq!(emit(&node, &tokens.api, r#"{"name":"orders","eventData":1}"#).status, 200);
    assert_eq!(client.next_notification().await.1, 1);
}
