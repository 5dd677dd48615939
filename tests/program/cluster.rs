//! Nodes on one working Redis: an emit on one node is delivered on all nodes, once and in the same order.

use crate::support::client::{Client, entry};
use crate::support::cluster::{Listener, Publisher, nodes};
use crate::support::delivery_check::{Message, check_deliveries};
use crate::support::process::is_named_program;
use crate::support::{Node, RedisServer, emit};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Emits one event, which must be accepted. Returns the answer.
fn emit_one(node: &Node, event: &str, data: Value, key: Option<&str>) -> Value {
    let mut body = json!({"name": event, "eventData": data});
    if let Some(key) = key {
        body["idempotencyKey"] = json!(key);
    }
    let answer = emit(node, &node.tokens().api, &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn an_emit_on_one_node_is_delivered_on_all_nodes_and_once_per_idempotency_key() {
    let redis = RedisServer::start();
    let nodes = nodes(&redis, 2, &[]);
    let mut clients = Vec::new();
    for node in &nodes {
        let mut client = Client::of(node).await;
        client.subscribe(entry("orders")).await;
        clients.push(client);
    }
    for (number, node) in nodes.iter().enumerate() {
        emit_one(node, "orders", json!({"from": number}), None);
        for client in &mut clients {
            assert_eq!(client.next_notification().await.1, json!({"from": number}));
        }
    }
    let first = emit_one(&nodes[0], "orders", json!("first"), Some("k"));
    let second = emit_one(&nodes[1], "orders", json!("second"), Some("k"));
    assert_eq!(second["data"]["id"], first["data"]["id"]);
    assert_eq!((&first["duplicate"], &second["duplicate"]), (&Value::Null, &json!(true)));
    emit_one(&nodes[1], "orders", json!("third"), Some("another key"));
    for client in &mut clients {
        assert_eq!(client.next_notification().await.1, json!("first"));
        assert_eq!(client.next_notification().await.1, json!("third"));
    }
    let expiry = redis.ask(&["TTL", &format!("{}i:demo:k", redis.prefix())]);
    assert!((1..=300).contains(&expiry.trim_start_matches(':').parse::<u64>().expect("seconds")), "{expiry}");
}

#[tokio::test]
async fn nodes_with_different_prefixes_on_one_redis_share_nothing() {
    let redis = RedisServer::start();
    let prefixes = ["one:", "other:"].map(|name| format!("{}{name}", redis.prefix()));
    let [one, other] = prefixes.each_ref().map(|prefix| nodes(&redis, 1, &[("BUS__REDIS__PREFIX", prefix)]).remove(0));
    let mut client = Client::of(&one).await;
    client.subscribe(entry("orders")).await;
    emit_one(&other, "orders", json!("elsewhere"), Some("k"));
    let answer = emit_one(&one, "orders", json!("here"), Some("k"));
    assert_eq!(answer["duplicate"], Value::Null);
    assert_eq!(client.next_notification().await.1, json!("here"));
    assert_eq!(["one:control", "other:control"].map(|name| redis.subscribers(name)), [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn four_nodes_deliver_in_one_order_under_the_load_of_three_publishers() {
    let redis = RedisServer::start();
    let nodes = nodes(&redis, 4, &[]);
    let mut listeners = Vec::new();
    for node in &nodes {
        listeners.push(Listener::start(node).await);
    }
    // Together somewhat more than 2,000 per second, each on its own node.
    let (batch, pace) = (25, Duration::from_millis(35));
    let start = Instant::now();
    let publishers: Vec<Publisher> =
        nodes.iter().zip(0..3).map(|(node, number)| Publisher::start(node, number, batch, pace)).collect();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let accepted: Vec<_> = publishers.into_iter().flat_map(Publisher::end).collect();
    let rate = accepted.len() as f64 / start.elapsed().as_secs_f64();
    let mut orders: Vec<Vec<Message>> = Vec::new();
    for listener in listeners {
        let received = listener.received(&nodes[0]).await;
        assert_eq!(check_deliveries("order", &accepted, &received).1, 0, "nothing is missed without a cause");
        orders.push(received.into_iter().map(|received| received.message).collect());
    }
    let spent: Duration = nodes.iter().map(Node::processor_time).sum();
    println!("order: {rate:.0} emits a second, {:.1} s of the processor", spent.as_secs_f64());
    assert!(orders.iter().all(|order| *order == orders[0]));
    // A debug build may be too slow for this rate on a busy machine.
    assert!(rate > 2000.0 || !is_named_program(), "only {rate:.0} emits a second");
}
