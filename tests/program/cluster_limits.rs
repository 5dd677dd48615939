//! Nodes on one Redis at their limits: more emits than the queue holds, and thousands of channels.

use crate::support::client::{Client, entry};
use crate::support::cluster::{EVENT, Listener, is_ready, nodes};
use crate::support::delivery_check::check_deliveries;
use crate::support::{RedisServer, emit, eventually};
use serde_json::{Value, json};
use std::time::Instant;

#[tokio::test(flavor = "multi_thread")]
async fn publications_beyond_the_queue_are_dropped_and_reported_as_a_gap() {
    let redis = RedisServer::start();
    let limits = [("LIMITS__QUEUED_BYTES", "65536"), ("LIMITS__EMIT_BYTES", "65536")];
    let nodes = nodes(&redis, 2, &limits);
    let listener = Listener::start(&nodes[1]).await;
    let token = nodes[0].tokens().api;
    let mut accepted = Vec::new();
    for round in 0..10 {
        let numbers = round * 1000..(round + 1) * 1000;
        let items = numbers.clone().map(|n| json!({"name": EVENT, "eventData": {"p": 0, "n": n}}));
        let before = Instant::now();
        let answer = emit(&nodes[0], &token, &Value::from_iter(items).to_string());
        let answers = answer.json();
        let answers = answers.as_array().expect("an answer for each emit");
        accepted.extend(
            answers.iter().zip(numbers).filter(|(answer, _)| answer["statusCode"] == 200).map(|(_, n)| (0, n, before)),
        );
    }
    let received = listener.received(&nodes[0]).await;
    let (delivered, missed) = check_deliveries("overflow", &accepted, &received);
    assert!(delivered > 0 && missed > 0, "{delivered} delivered, {missed} missed");
    assert!(nodes[1].limit_count("queued_bytes") >= missed as f64);
    assert!(nodes[1].metric("carillon_gaps_total", "overflow") >= 1.0);
    assert!(nodes.iter().all(is_ready), "too much is not a loss");
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_channels_are_rejoined_after_a_lost_connection() {
    let Some(redis) = RedisServer::own() else { return };
    let settings = [("LIMITS__SUBSCRIPTIONS", "3000"), ("LIMITS__MESSAGE_BYTES", "1000000")];
    let nodes = nodes(&redis, 1, &settings);
    let mut client = Client::of(&nodes[0]).await;
    let entries: Vec<Value> = (0..3000).map(|number| entry(&format!("event-{number}"))).collect();
    let (valid, invalid) = client.register(json!(entries)).await;
    assert_eq!((valid.len(), invalid.len()), (3000, 0));
    redis.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    for _ in 0..3000 {
        let message = client.next_json().await;
        assert_eq!((&message["type"], &message["response"]["reason"]), (&json!("GAP"), &json!("BUS_RECONNECTED")));
    }
    eventually("a ready node", || is_ready(&nodes[0]));
    let token = nodes[0].tokens().api;
    assert_eq!(emit(&nodes[0], &token, r#"{"name":"event-2999","eventData":1}"#).status, 200);
    assert_eq!(client.next_notification().await.1, json!(1));
}
