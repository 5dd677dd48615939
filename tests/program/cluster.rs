//! Two nodes on one Redis while all is well: what is emitted on one is told on all, once, in one order.

use crate::support::client::{Client, entry};
use crate::support::cluster::{EVENT, Listener, Publisher, What, account, emit_end, nodes};
use crate::support::{Node, RedisServer, emit, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// For clients that say more in a second than people do.
const MANY_MESSAGES: [(&str, &str); 1] = [("LIMITS__MESSAGES_PER_SECOND", "100000")];

/// Emits one event with good tokens, which must be accepted, and gives the answer.
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
async fn an_emit_on_one_node_is_told_on_all_and_under_one_key_once() {
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
    let expiry = redis.ask(&["EVAL", "redis.call('SELECT', 3) return redis.call('TTL', 'carillon:i:demo:k')", "0"]);
    assert!((1..=300).contains(&expiry.trim_start_matches(':').parse::<u64>().expect("seconds")), "{expiry}");
}

#[test]
fn nodes_know_of_each_other_until_they_leave() {
    let redis = RedisServer::start();
    let mut nodes = nodes(&redis, 3, &[]);
    let counted = |nodes: &[Node], count: f64| {
        eventually("the number of nodes", || nodes.iter().all(|node| node.metric("carillon_nodes", "") == count));
    };
    counted(&nodes, 3.0);
    let mut leaving = nodes.remove(2);
    leaving.signal(Signal::TERM);
    leaving.wait();
    let left_at = Instant::now();
    counted(&nodes, 2.0);
    assert!(left_at.elapsed() < Duration::from_secs(3), "it said goodbye");
    nodes.remove(1).kill();
    counted(&nodes, 1.0);
}

#[tokio::test]
async fn nodes_with_different_prefixes_on_one_redis_share_nothing() {
    let redis = RedisServer::start();
    let one = nodes(&redis, 1, &[("BUS__REDIS__PREFIX", "one:")]).remove(0);
    let other = nodes(&redis, 1, &[("BUS__REDIS__PREFIX", "other:")]).remove(0);
    let mut client = Client::of(&one).await;
    client.subscribe(entry("orders")).await;
    emit_one(&other, "orders", json!("elsewhere"), Some("k"));
    let answer = emit_one(&one, "orders", json!("here"), Some("k"));
    assert_eq!(answer["duplicate"], Value::Null);
    assert_eq!(client.next_notification().await.1, json!("here"));
}

#[tokio::test]
async fn all_nodes_tell_one_order_under_the_load_of_three_publishers() {
    let redis = RedisServer::start();
    let nodes = nodes(&redis, 2, &[]);
    let mut listeners = Vec::new();
    for node in &nodes {
        listeners.push(Listener::start(node).await);
    }
    let start = Instant::now();
    let pace = Duration::from_millis(15);
    let publishers: Vec<Publisher> =
        (0..3).map(|number| Publisher::start(&nodes[number as usize % 2], number, 10, pace)).collect();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let accepted: Vec<_> = publishers.into_iter().flat_map(Publisher::end).collect();
    let rate = accepted.len() as f64 / start.elapsed().as_secs_f64();
    emit_end(&nodes[0]);
    let mut orders: Vec<Vec<What>> = Vec::new();
    for listener in listeners {
        let heard = listener.heard().await;
        assert_eq!(account("order", &accepted, &heard).1, 0, "nothing is missed without a cause");
        orders.push(heard.into_iter().map(|heard| heard.what).collect());
    }
    println!("order: {rate:.0} emits a second");
    assert_eq!(orders[0], orders[1]);
}

#[tokio::test]
async fn what_is_emitted_elsewhere_right_after_the_answer_to_register_is_told() {
    let redis = RedisServer::start();
    let nodes = nodes(&redis, 2, &MANY_MESSAGES);
    let token = nodes[1].tokens().api;
    let mut client = Client::of(&nodes[0]).await;
    for number in 0..2000 {
        if number % 90 == 0 {
            client = Client::of(&nodes[0]).await;
        }
        let event = format!("event-{number}");
        client.subscribe(entry(&event)).await;
        let body = json!({"name": event, "eventData": number}).to_string();
        assert_eq!(emit(&nodes[1], &token, &body).status, 200);
        assert_eq!(client.next_notification().await.1, json!(number));
    }
}

#[tokio::test]
async fn a_storm_of_subscribers_neither_flaps_a_channel_nor_loses_an_emit() {
    let redis = RedisServer::start();
    let nodes = nodes(&redis, 2, &MANY_MESSAGES);
    let joins = || -> u64 {
        let statistics = redis.ask(&["INFO", "commandstats"]);
        let line = statistics.lines().find(|line| line.starts_with("cmdstat_subscribe:")).unwrap_or_default();
        line.split(['=', ',']).nth(1).and_then(|calls| calls.parse().ok()).unwrap_or(0)
    };
    let before = joins();
    let mut client = Client::of(&nodes[0]).await;
    let token = nodes[1].tokens().api;
    let start = Instant::now();
    let rounds = 300;
    for number in 0..rounds {
        let id = client.subscribe(entry("storm")).await;
        let body = json!({"name": "storm", "eventData": number}).to_string();
        assert_eq!(emit(&nodes[1], &token, &body).status, 200);
        assert_eq!(client.next_notification().await, (id.clone(), json!(number)));
        let answer = client.ask(json!({"objType": "UNREGISTER", "onEvents": [{"eventId": id}]})).await;
        assert_eq!(answer["type"], "UNREGISTER", "{answer}");
        if number % 40 == 39 {
            client = Client::of(&nodes[0]).await;
        }
    }
    let seconds = start.elapsed().as_secs() + 1;
    let joins = joins() - before;
    println!("storm: {rounds} rounds in {seconds} s, joined {joins} times");
    assert!(joins <= seconds, "the channel is left and joined all the time");
    drop(client);
    eventually("the channel is left", || redis.ask(&["PUBSUB", "NUMSUB", "carillon:e:demo:storm"]).ends_with(":0"));
}

#[tokio::test]
async fn a_node_that_is_killed_takes_nothing_from_the_others() {
    let redis = RedisServer::start();
    let mut nodes = nodes(&redis, 2, &[]);
    let listener = Listener::start(&nodes[0]).await;
    let publisher = Publisher::start(&nodes[0], 0, 5, Duration::from_millis(20));
    let other = Listener::start(&nodes[1]).await;
    nodes.remove(1).kill();
    drop(other);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let accepted = publisher.end();
    emit_end(&nodes[0]);
    let heard = listener.heard().await;
    assert_eq!(account("a node killed", &accepted, &heard).1, 0);
    assert!(accepted.len() > 50, "{}", accepted.len());
    let channel = format!("carillon:e:demo:{EVENT}");
    eventually("only one node hears", || redis.ask(&["PUBSUB", "NUMSUB", &channel]).ends_with(":1"));
}
