//! REGISTER: accepted subscriptions and their answers.

use crate::support::Node;
use crate::support::client::{Client, conditional, entry};
use serde_json::{Value, json};
use std::collections::HashSet;

#[tokio::test]
async fn a_valid_entry_is_returned_with_its_event_id() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let mut full = conditional("orders", json!({"recipientId": "u42", "total": {"$gte": 100}}));
    full["select"] = json!({"order_no": 1, "status": 1});
    full["getEventData"] = json!(true);
    full["ofTheClient"] = json!({"kept": [1, 2]});
    let (valid, invalid) = client.register(json!([full])).await;
    assert!(invalid.is_empty(), "{invalid:?}");
    assert!(valid[0]["eventId"].is_string(), "{valid:?}");
    let mut echoed = valid[0].clone();
    echoed.as_object_mut().expect("an entry").remove("eventId");
    assert_eq!(echoed, full);
}

#[tokio::test]
async fn event_ids_are_unique_within_the_session() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let mut ids = HashSet::new();
    for round in 0..3 {
        let entries: Vec<Value> = (0..20).map(|i| entry(&format!("event-{}", i % 7))).collect();
        let (valid, _) = client.register(json!(entries)).await;
        for entry in &valid {
            let id = entry["eventId"].as_str().expect("a string").to_owned();
            assert!(ids.insert(id), "an id came twice: {entry}");
        }
        let gone: Vec<Value> = valid[..5].iter().map(|entry| json!({"eventId": entry["eventId"]})).collect();
        client.ask(json!({"objType": "UNREGISTER", "onEvents": gone})).await;
        assert_eq!(ids.len(), (round + 1) * 20);
    }
}

#[tokio::test]
async fn names_of_minimum_and_maximum_length_are_valid() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    for name in ["n", &"n".repeat(200), &"ü".repeat(100), "Größe / 大 \"quoted\" \\"] {
        client.subscribe(entry(name)).await;
    }
}

#[tokio::test]
async fn a_recover_is_answered_not_recovered_because_events_have_no_history() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let mut wished = entry("orders");
    wished["recover"] = json!({"epoch": "k3x", "offset": 1041});
    let (valid, invalid) = client.register(json!([wished])).await;
    assert!(invalid.is_empty(), "{invalid:?}");
    assert_eq!(valid[0]["recovered"], false);
}

#[tokio::test]
async fn subscription_101_is_refused_until_another_is_unregistered() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let entries =
        |numbers: std::ops::Range<u32>| -> Value { numbers.map(|number| entry(&format!("event-{number}"))).collect() };
    let (valid, invalid) = client.register(entries(0..50)).await;
    assert_eq!((valid.len(), invalid.len()), (50, 0));
    let (valid, invalid) = client.register(entries(50..101)).await;
    assert_eq!((valid.len(), invalid.len()), (50, 1));
    assert_eq!(invalid[0]["apiName"], "event-100");
    assert_eq!(invalid[0]["error"]["code"], "TOO_MANY_SUBSCRIPTIONS");
    let gone = json!([{"eventId": valid[7]["eventId"]}]);
    client.ask(json!({"objType": "UNREGISTER", "onEvents": gone})).await;
    let (valid, invalid) = client.register(json!([entry("a"), entry("b")])).await;
    assert_eq!((valid.len(), invalid.len()), (1, 1));
}

#[tokio::test]
async fn entries_beyond_the_limit_of_a_session_are_refused_with_too_many_subscriptions() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let entries: Vec<Value> = (0..101).map(|number| entry(&format!("event-{number}"))).collect();
    let answer = client.ask(json!({"objType": "REGISTER", "guid": "g", "onEvents": entries})).await;
    assert_eq!(answer["guid"], "g", "{answer}");
    assert!(answer.to_string().contains("TOO_MANY_SUBSCRIPTIONS"), "{answer}");
    let (_, invalid) = client.register(json!([])).await;
    assert!(invalid.is_empty(), "the session goes on");
}
