//! Channels that are joined and left while another node emits: no subscriber misses an emit after its answer to
//! REGISTER.

use crate::support::client::{Client, entry};
use crate::support::cluster::nodes;
use crate::support::http::emit_at;
use crate::support::{Node, RedisServer, emit, eventually};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For clients that send more messages per second than the default allows.
const MANY_MESSAGES: [(&str, &str); 1] = [("LIMITS__MESSAGES_PER_SECOND", "100000")];

/// The default limit of subscriptions per session.
const SUBSCRIPTIONS: u32 = 100;

/// Emits a number, which the node must accept.
fn emit_number(node: &Node, token: &str, event: &str, number: u32) {
    let body = json!({"name": event, "eventData": number}).to_string();
    let answer = emit(node, token, &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

async fn unsubscribe(client: &mut Client, id: &str) {
    let answer = client.ask(json!({"objType": "UNREGISTER", "onEvents": [{"eventId": id}]})).await;
    assert_eq!(answer["response"]["validOnEvents"][0]["eventId"], id, "{answer}");
}

/// The number of SUBSCRIBE commands that Redis has received.
fn joins(redis: &RedisServer) -> u64 {
    let statistics = redis.ask(&["INFO", "commandstats"]);
    let line = statistics.lines().find(|line| line.starts_with("cmdstat_subscribe:")).unwrap_or_default();
    line.split(['=', ',']).nth(1).and_then(|calls| calls.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_emit_right_after_the_answer_to_register_is_never_missed_in_ten_thousand_tries() {
    let redis = RedisServer::start();
    let nodes = Arc::new(nodes(&redis, 4, &MANY_MESSAGES));
    let start = Instant::now();
    let sides = (0..4).map(|side| {
        let nodes = nodes.clone();
        tokio::spawn(async move {
            let (here, there) = (&nodes[side], &nodes[(side + 1) % nodes.len()]);
            let token = there.tokens().api;
            let mut client = Client::of(here).await;
            for number in 0..2500 {
                if number % SUBSCRIPTIONS == SUBSCRIPTIONS - 1 {
                    client = Client::of(here).await;
                }
                let event = format!("event-{side}-{number}");
                client.subscribe(entry(&event)).await;
                emit_number(there, &token, &event, number);
                assert_eq!(client.next_notification().await.1, json!(number));
            }
        })
    });
    for side in sides.collect::<Vec<_>>() {
        side.await.expect("none missed");
    }
    println!("10000 answers to REGISTER, each followed by an emit elsewhere: all delivered, in {:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_short_subscriptions_neither_rejoin_a_channel_needlessly_nor_lose_an_emit() {
    let Some(redis) = RedisServer::own() else { return };
    let nodes = Arc::new(nodes(&redis, 2, &MANY_MESSAGES));
    let mut permanent = Client::of(&nodes[1]).await;
    permanent.subscribe(entry("busy")).await;
    let before = joins(&redis);
    let start = Instant::now();
    let (clients, rounds) = (3, 300);
    let tasks = (0..clients).map(|number| {
        let nodes = nodes.clone();
        tokio::spawn(async move { subscribe_repeatedly(&nodes, number, rounds).await })
    });
    for client in tasks.collect::<Vec<_>>() {
        client.await.expect("nothing lost");
    }
    let seconds = start.elapsed().as_secs() + 1;
    let joins = joins(&redis) - before;
    println!("{clients} clients, {rounds} rounds each in {seconds} s, joined {joins} times");
    assert!(joins <= seconds, "the channel is left and joined all the time");
    for _ in 0..clients * rounds {
        permanent.next_notification().await;
    }
    eventually("the channel is left", || redis.subscribers("e:demo:busy") == 1);
}

/// Subscribes, receives its own emit from the other node, and unsubscribes, over and over.
async fn subscribe_repeatedly(nodes: &[Node], number: u32, rounds: u32) {
    let token = nodes[1].tokens().api;
    let mut client = Client::of(&nodes[0]).await;
    for round in 0..rounds {
        let mine = number * rounds + round;
        let id = client.subscribe(entry("busy")).await;
        emit_number(&nodes[1], &token, "busy", mine);
        while client.next_notification().await != (id.clone(), json!(mine)) {}
        client.send(json!({"objType": "UNREGISTER", "onEvents": [{"eventId": id}]}).to_string()).await;
        while client.next_json().await["type"] != "UNREGISTER" {}
        if round % 40 == 39 {
            client = Client::of(&nodes[0]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_subscriber_that_returns_while_its_channel_is_being_left_misses_nothing() {
    let redis = RedisServer::start();
    let nodes = nodes(&redis, 2, &MANY_MESSAGES);
    let (address, token) = (nodes[1].address(), nodes[1].tokens().api);
    // A node leaves a channel one to two seconds after its last subscriber. These pauses cover that second.
    let pauses = (0..50).map(|step| Duration::from_millis(1000 + 20 * step));
    let mut tasks = Vec::new();
    for (number, pause) in (0..).zip(pauses) {
        let client = Client::of(&nodes[0]).await;
        tasks.push(tokio::spawn(subscribe_and_leave(client, address, token.clone(), number, pause)));
    }
    for task in tasks {
        task.await.expect("nothing missed");
    }
}

async fn subscribe_and_leave(mut client: Client, address: SocketAddr, token: String, number: u32, pause: Duration) {
    let event = format!("event-{number}");
    for round in 0..3 {
        let id = client.subscribe(entry(&event)).await;
        let body = json!({"name": event, "eventData": round}).to_string();
        let answer = emit_at(address, "demo", &token, &body);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(client.next_notification().await, (id.clone(), Value::from(round)));
        unsubscribe(&mut client, &id).await;
        tokio::time::sleep(pause).await;
    }
}
