//! Each limit that a client or a backend reaches is counted under its name. The answers are tested in `closing`,
//! `emit`, `handshake_limits` and `register`, the limits of the system in `system_limits` and `connection_limit`, and
//! those of queues in `closing` and `cluster_limits`.

use crate::support::client::{Client, conditional, entry};
use crate::support::raw::{TEXT, upgrade_request};
use crate::support::{Node, RawSocket, Tokens, emit, eventually};
use serde_json::{Value, json};

#[test]
fn limits_of_an_emit_are_counted() {
    let settings = [("EMIT_BYTES", "1024"), ("EMIT_BATCH", "2"), ("EMITS_PER_SECOND", "5"), ("IDEMPOTENCY_KEYS", "1")]
        .map(|(name, value)| (format!("LIMITS__{name}"), value));
    let node = Node::start(&settings.each_ref().map(|(name, value)| (name.as_str(), *value)));
    let api = node.tokens().api;
    let one = json!({"name": "orders", "eventData": 1});
    let batch = emit(&node, &api, &json!([one, one, one]).to_string());
    assert_eq!(batch.refusal(400), "INVALID_JSON");
    let long = json!({"name": "orders", "eventData": "x".repeat(1_024)});
    assert_eq!(emit(&node, &api, &long.to_string()).refusal(413), "PAYLOAD_TOO_LARGE");
    let keyed = |key: &str| json!({"name": "orders", "eventData": 1, "idempotencyKey": key}).to_string();
    assert_eq!(emit(&node, &api, &keyed("a")).status, 200);
    assert_eq!(emit(&node, &api, &keyed("b")).refusal(429), "RATE_LIMITED");
    assert_eq!(["emit_batch", "emit_bytes", "idempotency_keys"].map(|limit| node.limit_count(limit)), [1.0; 3]);
    eventually("a rate that is met", || emit(&node, &api, &one.to_string()).status == 429);
    assert_eq!(node.limit_count("emits_per_second"), 1.0);
}

#[tokio::test]
async fn limits_of_a_session_are_counted() {
    let settings =
        [("LIMITS__SUBSCRIPTIONS", "1"), ("LIMITS__MESSAGE_BYTES", "1024"), ("LIMITS__MESSAGES_PER_SECOND", "3")];
    let node = Node::start(&settings);
    let mut client = Client::of(&node).await;
    let (valid, invalid) = client.register(json!([entry("a")])).await;
    assert_eq!((valid.len(), invalid.len()), (1, 0));
    let (_, invalid) = client.register(json!([entry("b")])).await;
    assert_eq!(invalid[0]["error"]["code"], "TOO_MANY_SUBSCRIPTIONS");
    client.send("x".repeat(1_025)).await;
    client.expect_close(1009).await;
    let mut hasty = RawSocket::upgrade(&node, &node.tokens());
    for _ in 0..4 {
        hasty.write_frame(TEXT, b"{}");
    }
    hasty.expect_close(4429);
    let limits = ["subscriptions", "message_bytes", "messages_per_second"];
    assert_eq!(limits.map(|limit| node.limit_count(limit)), [1.0; 3]);
}

#[test]
fn registers_that_take_too_much_worker_time_close_with_4429_and_are_counted() {
    let node = Node::start(&[
        ("LIMITS__SUBSCRIPTIONS", "10000"),
        ("LIMITS__MESSAGES_PER_SECOND", "1000"),
        ("LIMITS__REGISTER_MILLISECONDS", "100"),
    ]);
    let mut client = RawSocket::upgrade(&node, &node.tokens());
    // Patterns are expensive: each is compiled, and all are different.
    let pattern = |number: usize| json!({"text": {"$regex": format!("^(a|b|[c-z]{{1,9}}){{1,20}}{number}$")}});
    for message in 0..100 {
        let entries: Value = (0..20).map(|entry| conditional("orders", pattern(message * 20 + entry))).collect();
        client.write_json(&json!({"objType": "REGISTER", "onEvents": entries}));
    }
    client.expect_close(4429);
    assert_eq!(["register_milliseconds", "messages_per_second"].map(|limit| node.limit_count(limit)), [1.0, 0.0]);
}

/// A condition that reads every element of `a` forty times. `own` makes it different from others.
fn costly(own: usize) -> Value {
    let parts: Vec<Value> = (0..40).map(|part| json!({"a": {"$gt": own * 100 + part + 2}})).collect();
    conditional("orders", json!({"$nor": parts}))
}

#[tokio::test]
async fn a_condition_over_its_cost_limit_gets_a_gap_after_the_notifications_of_the_emit() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    let costly = client.subscribe(costly(0)).await;
    let plain = client.subscribe(entry("orders")).await;
    let data = [json!(vec![1; 100_000]), json!([1])];
    for data in data {
        let body = json!({"name": "orders", "eventData": {"a": data}}).to_string();
        assert_eq!(emit(&node, &tokens.api, &body).status, 200);
    }
    assert_eq!(client.next_notification().await.0, plain);
    let gap = json!({"type": "GAP", "response": {"eventId": costly, "reason": "CONDITION_TOO_COSTLY"}});
    assert_eq!(client.next_json().await, gap);
    // The second emit is small, so its evaluation is cheap.
    let mut notified = [client.next_notification().await.0, client.next_notification().await.0];
    notified.sort();
    assert_eq!(notified, [costly, plain]);
    assert_eq!(node.limit_count("condition_cost"), 1.0);
    assert_eq!(node.metric("carillon_gaps_total", "condition_too_costly"), 1.0);
}

#[tokio::test]
async fn expensive_conditions_get_one_gap_each_and_do_not_delay_other_sessions() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut honest = Client::connect(&node, &tokens).await;
    honest.subscribe(conditional("orders", json!({"to": "u1", "kind": {"$ne": "old"}}))).await;
    let mut hostile = Vec::new();
    for session in 0..3 {
        let mut client = Client::connect(&node, &tokens).await;
        let entries: Vec<Value> = (0..40).map(|own| costly(session * 40 + own)).collect();
        assert_eq!(client.register(json!(entries)).await.0.len(), 40);
        client.subscribe(entry("last")).await;
        hostile.push(client);
    }
    let body = json!({"name": "orders", "eventData": {"to": "u1", "a": vec![1; 100_000]}}).to_string();
    assert_eq!(emit(&node, &tokens.api, &body).status, 200);
    assert_eq!(emit(&node, &tokens.api, r#"{"name":"last","eventData":0}"#).status, 200);
    assert_eq!(honest.next_notification().await.1["to"], "u1");
    for mut client in hostile {
        let mut notified = std::collections::BTreeSet::new();
        loop {
            let message = client.next_json().await;
            if message["type"] == "NOTIFICATION" {
                assert_eq!(message["response"]["eventName"], "last");
                break;
            }
            assert_eq!(message["type"], "GAP", "{message}");
            assert!(notified.insert(message["response"]["eventId"].to_string()), "a second gap");
        }
        assert_eq!(notified.len(), 40);
    }
    assert_eq!(node.limit_count("condition_cost"), 1.0);
}

#[test]
fn limits_of_the_upgrade_are_counted() {
    let user = Node::start(&[("LIMITS__SESSIONS_PER_USER", "1")]);
    let address = Node::start(&[("LIMITS__SESSIONS_PER_ADDRESS", "1")]);
    let full = Node::start(&[("LIMITS__SESSIONS", "1")]);
    for (node, limit, status) in
        [(user, "sessions_per_user", 429), (address, "sessions_per_address", 429), (full, "sessions", 503)]
    {
        let tokens = node.tokens();
        let _first = RawSocket::upgrade(&node, &tokens);
        assert_eq!(second(&node, &tokens), status, "{limit}");
        assert_eq!(node.limit_count(limit), 1.0, "{limit}");
    }
}

fn second(node: &Node, tokens: &Tokens) -> u16 {
    let mut socket = RawSocket::connect(node.address());
    socket.write(&upgrade_request("/ws", &tokens.headers()));
    socket.read_answer().status
}
