//! Notifications: which subscribers receive them, how often, in which order, and with which contents.

use crate::support::client::{Client, conditional, entry};
use crate::support::http::emit_at;
use crate::support::tokens::add_project;
use crate::support::{Claims, Node, Tokens, emit};
use serde_json::{Value, json};

async fn started() -> (Node, Tokens, Client) {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let client = Client::connect(&node, &tokens).await;
    (node, tokens, client)
}

/// Emits event data with exactly this text.
fn emit_text(node: &Node, tokens: &Tokens, event: &str, data: &str) {
    let body = format!(r#"{{"name":{},"eventData":{data}}}"#, json!(event));
    let answer = emit(node, &tokens.api, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_notification_names_its_event_its_id_and_its_type() {
    let (node, tokens, mut client) = started().await;
    let id = client.subscribe(entry("order-updates")).await;
    emit_text(&node, &tokens, "order-updates", r#"{"order_no":1001}"#);
    let message = client.next_json().await;
    let expected = json!({"type": "NOTIFICATION", "response": {
        "eventId": id, "eventType": "CUSTOM_WS_EVENTS", "eventName": "order-updates",
        "eventData": {"order_no": 1001}}});
    assert_eq!(message, expected);
}

#[tokio::test]
async fn event_data_is_delivered_byte_for_byte() {
    let (node, tokens, mut client) = started().await;
    client.subscribe(entry("orders")).await;
    client.subscribe(conditional("orders", json!({"z": {"$exists": true}}))).await;
    for data in [
        r#"{"z":9007199254740993,"a":1.10,"m":{"y":1e400,"b":-0,"a":0.10}}"#,
        r#"{"z":"\u00fc\ud83d\ude00\/","a":"ü😀/","":null}"#,
        r#"{"z":1,"z":2,"a":3,"z":4}"#,
        r#"{"z":123456789012345678901234567890.123456789012345678901234567890}"#,
        r#"{ "z" : [ 1 ,  2 ] }"#,
    ] {
        emit_text(&node, &tokens, "orders", data);
        for _ in 0..2 {
            let text = client.next_text().await;
            assert!(text.contains(&format!(r#""eventData":{data}"#)), "{data} came as {text}");
        }
    }
}

#[tokio::test]
async fn event_data_may_be_any_json_value() {
    let (node, tokens, mut client) = started().await;
    client.subscribe(entry("orders")).await;
    for data in ["5", "\"text\"", "true", "null", "[]", "[1,{\"a\":2}]", "{}"] {
        emit_text(&node, &tokens, "orders", data);
        let expected: Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(client.next_notification().await.1, expected);
    }
}

#[tokio::test]
async fn only_matching_data_is_delivered() {
    let (node, tokens, mut client) = started().await;
    let id = client.subscribe(conditional("orders", json!({"to": "u1", "total": {"$gte": 100}}))).await;
    for data in [
        r#"{"to":"u2","total":100}"#,
        r#"{"to":"u1","total":99.99}"#,
        r#"{"to":"u1","total":"100"}"#,
        r#"{"to":"u1"}"#,
        "5",
        r#"{"to":["u3","u1"],"total":1e2}"#,
    ] {
        emit_text(&node, &tokens, "orders", data);
    }
    assert_eq!(client.next_notification().await, (id, json!({"to": ["u3", "u1"], "total": 1e2})));
}

#[tokio::test]
async fn conditions_use_the_last_of_duplicate_keys_and_every_digit() {
    let (node, tokens, mut client) = started().await;
    let last = client.subscribe(conditional("orders", json!({"a": 2}))).await;
    let digits = client.subscribe(conditional("orders", json!({"b": 9007199254740993_u64}))).await;
    emit_text(&node, &tokens, "orders", r#"{"a":2,"a":1}"#);
    emit_text(&node, &tokens, "orders", r#"{"a":1,"a":2}"#);
    emit_text(&node, &tokens, "orders", r#"{"b":9007199254740992}"#);
    emit_text(&node, &tokens, "orders", r#"{"b":9007199254740993.0}"#);
    assert_eq!(client.next_notification().await.0, last);
    assert_eq!(client.next_notification().await.0, digits);
}

#[tokio::test]
async fn a_selection_keeps_or_drops_fields() {
    let (node, tokens, mut client) = started().await;
    let mut keep = entry("orders");
    keep["select"] = json!({"a": 1, "b.c": 1});
    let mut drop = entry("orders");
    drop["select"] = json!({"a": 0});
    let keep = client.subscribe(keep).await;
    let drop = client.subscribe(drop).await;
    emit_text(&node, &tokens, "orders", r#"{"x":1,"b":{"c":1.10,"d":2},"a":9007199254740993}"#);
    for _ in 0..2 {
        let text = client.next_text().await;
        let message: Value = serde_json::from_str(&text).expect("JSON");
        let id = message["response"]["eventId"].as_str().unwrap_or_default();
        let expected = if id == keep {
            r#""eventData":{"b":{"c":1.10},"a":9007199254740993}"#
        } else {
            assert_eq!(id, drop);
            r#""eventData":{"x":1,"b":{"c":1.10,"d":2}}"#
        };
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_notification_without_event_data_names_only_the_event() {
    let (node, tokens, mut client) = started().await;
    let mut quiet = conditional("orders", json!({"a": 1}));
    quiet["getEventData"] = json!(false);
    let id = client.subscribe(quiet).await;
    emit_text(&node, &tokens, "orders", r#"{"a":1}"#);
    let message = client.next_json().await;
    assert_eq!(message["response"]["eventId"], id);
    assert_eq!(message["response"].get("eventData"), None, "{message}");
}

#[tokio::test]
async fn the_same_entry_registered_twice_is_notified_once_per_registration() {
    let (node, tokens, mut client) = started().await;
    let same = || conditional("orders", json!({"a": 1}));
    let first = client.subscribe(same()).await;
    let second = client.subscribe(same()).await;
    assert_ne!(first, second);
    for data in [r#"{"a":1}"#, r#"{"a":1,"n":2}"#] {
        emit_text(&node, &tokens, "orders", data);
        let mut received = [client.next_notification().await.0, client.next_notification().await.0];
        received.sort();
        let mut both = [first.clone(), second.clone()];
        both.sort();
        assert_eq!(received, both);
    }
}

#[tokio::test]
async fn notifications_of_one_event_come_in_the_order_of_their_emits() {
    let node = Node::start(&[("LIMITS__EMITS_PER_SECOND", "100000")]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    client.subscribe(entry("orders")).await;
    client.subscribe(conditional("orders", json!({"n": {"$gte": 0}}))).await;
    let mut count = 0;
    for _ in 0..5 {
        emit_text(&node, &tokens, "orders", &format!(r#"{{"n":{count}}}"#));
        let batch: Vec<Value> =
            (count + 1..count + 100).map(|n| json!({"name": "orders", "eventData": {"n": n}})).collect();
        assert_eq!(emit(&node, &tokens.api, &json!(batch).to_string()).status, 200);
        count += 100;
    }
    for n in 0..count {
        for _ in 0..2 {
            assert_eq!(client.next_notification().await.1["n"], n);
        }
    }
}

#[tokio::test]
async fn every_session_on_every_worker_receives_a_broadcast_once() {
    let node = Node::start(&[("HTTP__WORKERS", "3")]);
    let tokens = node.tokens();
    let mut clients = Vec::new();
    for i in 0..30 {
        let mut client = Client::connect(&node, &tokens).await;
        client.subscribe(conditional("orders", json!({"to": format!("u{}", i % 3)}))).await;
        client.subscribe(entry("last")).await;
        clients.push(client);
    }
    for to in ["u0", "u1", "u2"] {
        emit_text(&node, &tokens, "orders", &json!({"to": to}).to_string());
    }
    emit_text(&node, &tokens, "last", "0");
    for (i, client) in clients.iter_mut().enumerate() {
        let data = client.next_notification().await.1;
        assert_eq!(data, json!({"to": format!("u{}", i % 3)}));
        assert_eq!(client.next_notification().await.1, 0);
    }
}

#[tokio::test]
async fn other_events_are_not_delivered() {
    let (node, tokens, mut client) = started().await;
    client.subscribe(entry("orders")).await;
    for event in ["Orders", "orders ", "order", "orders.new"] {
        emit_text(&node, &tokens, event, "1");
    }
    emit_text(&node, &tokens, "orders", "2");
    assert_eq!(client.next_notification().await.1, 2);
}

#[tokio::test]
async fn an_event_of_the_same_name_in_another_project_is_not_delivered() {
    let (node, tokens, mut client) = started().await;
    add_project(node.directory(), "other");
    let other_tokens = Tokens {
        api: node.token(Claims::api("connect emit").of_project("other")),
        user: node.token(Claims::user("u1").of_project("other")),
    };
    let mut other = Client::connect(&node, &other_tokens).await;
    client.subscribe(entry("orders")).await;
    other.subscribe(entry("orders")).await;
    emit_text(&node, &tokens, "orders", "\"of demo\"");
    let body = r#"{"name":"orders","eventData":"of other"}"#;
    let answer = emit_at(node.address(), "other", &other_tokens.api, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    emit_text(&node, &tokens, "orders", "\"again of demo\"");
    assert_eq!(other.next_notification().await.1, "of other");
    assert_eq!(client.next_notification().await.1, "of demo");
    assert_eq!(client.next_notification().await.1, "again of demo");
}

#[tokio::test]
async fn an_emit_with_more_frames_than_the_queue_holds_is_delivered_completely() {
    let settings = [("LIMITS__QUEUED_BYTES", "262144"), ("SESSION__SEND_BUFFER_BYTES", "67108864")];
    let node = Node::start(&settings);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    let selective = |dropped: usize| {
        let mut entry = entry("orders");
        entry["select"] = json!({format!("dropped{dropped}"): 0});
        entry
    };
    // Ids and selections differ, so each of the fifty subscriptions gets its own frame. Five frames are a megabyte.
    let entries: Vec<Value> = (0..50).map(selective).collect();
    let (valid, _) = client.register(json!(entries)).await;
    emit_text(&node, &tokens, "orders", &json!({"text": "x".repeat(200_000)}).to_string());
    let leaving = valid[0]["eventId"].clone();
    client.send(json!({"objType": "UNREGISTER", "onEvents": [{"eventId": leaving}]}).to_string()).await;
    let mut received = std::collections::BTreeSet::new();
    let mut has_left = false;
    while received.len() < 50 || !has_left {
        let message = client.next_json().await;
        if message["type"] == "UNREGISTER" {
            has_left = true;
        } else {
            let id = message["response"]["eventId"].as_str().expect("an id").to_owned();
            assert!(!has_left || json!(id) != leaving, "a notification after the answer to its UNREGISTER");
            assert!(received.insert(id), "notified twice");
        }
    }
    emit_text(&node, &tokens, "orders", "{}");
    for _ in 0..49 {
        assert_ne!(json!(client.next_notification().await.0), leaving);
    }
}
