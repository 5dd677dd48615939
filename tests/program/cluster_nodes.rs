//! Nodes that start and stop: clients of a stopped node receive events on another node, and nothing of the node
//! remains.

use crate::support::client::{Client, entry};
use crate::support::cluster::{EVENT, Listener, Publisher, nodes};
use crate::support::delivery_check::check_deliveries;
use crate::support::http::{emit_request, head};
use crate::support::raw::CLOSE;
use crate::support::{Node, RawSocket, RedisServer, emit, eventually_within};
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, Instant};

/// The time after which a dead node is removed.
const NODE_TIMEOUT: Duration = Duration::from_secs(30);

fn count_nodes(nodes: &[Node], count: f64) {
    let what = "the number of nodes";
    eventually_within(NODE_TIMEOUT, what, || nodes.iter().all(|node| node.metric("carillon_nodes", "") == count));
}

#[test]
fn nodes_list_each_other_until_they_stop() {
    let redis = RedisServer::start();
    let mut nodes = nodes(&redis, 3, &[]);
    count_nodes(&nodes, 3.0);
    let mut leaving = nodes.remove(2);
    leaving.signal(Signal::TERM);
    leaving.wait();
    let left_at = Instant::now();
    count_nodes(&nodes, 2.0);
    assert!(left_at.elapsed() < Duration::from_secs(3), "a stopping node announces its stop");
    nodes.remove(1).kill();
    count_nodes(&nodes, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_killed_or_stopped_node_receive_events_again_on_another_node() {
    let redis = RedisServer::start();
    let mut nodes = nodes(&redis, 4, &[]);
    let listeners = [Listener::start(&nodes[0]).await, Listener::start(&nodes[1]).await];
    let publisher = Publisher::start(&nodes[0], 0, 5, Duration::from_millis(20));
    let (mut of_killed, mut of_stopped) = (Client::of(&nodes[3]).await, Client::of(&nodes[2]).await);
    for client in [&mut of_killed, &mut of_stopped] {
        client.subscribe(entry("orders")).await;
    }
    count_nodes(&nodes, 4.0);
    let channel = format!("e:demo:{EVENT}");
    assert_eq!((redis.subscribers("e:demo:orders"), redis.subscribers(&channel)), (2, 2));

    nodes.remove(3).kill();
    let killed_at = Instant::now();
    of_killed.expect_end().await;
    let mut stopping = nodes.remove(2);
    stopping.signal(Signal::TERM);
    of_stopped.expect_close(1001).await;
    assert!(stopping.wait().success());

    let token = nodes[0].tokens().api;
    for (number, client) in [&mut of_killed, &mut of_stopped].into_iter().enumerate() {
        *client = Client::of(&nodes[1]).await;
        client.subscribe(entry("orders")).await;
        let body = json!({"name": "orders", "eventData": number}).to_string();
        assert_eq!(emit(&nodes[0], &token, &body).status, 200);
        assert_eq!(client.next_notification().await.1, json!(number));
    }
    assert_eq!(redis.subscribers("e:demo:orders"), 1, "the channels of the stopped nodes are left");
    count_nodes(&nodes, 2.0);
    println!("the dead node is removed after {:?}", killed_at.elapsed());
    assert!(killed_at.elapsed() < NODE_TIMEOUT);

    let accepted = publisher.end();
    for listener in listeners {
        assert_eq!(
            check_deliveries("nodes stopped", &accepted, &listener.received(&nodes[0]).await).1,
            0,
            "listeners on other nodes miss nothing"
        );
    }
    assert!(accepted.len() > 50, "{}", accepted.len());
}

#[tokio::test]
async fn a_stopping_node_accepts_emits_for_other_nodes_as_long_as_it_answers() {
    let redis = RedisServer::start();
    let mut nodes = nodes(&redis, 2, &[]);
    let mut client = Client::of(&nodes[0]).await;
    client.subscribe(entry("orders")).await;
    let stopping = nodes.remove(1);
    let tokens = stopping.tokens();
    // A session that does not answer the close frame delays the exit. The backend connects before the signal.
    let mut silent = RawSocket::upgrade(&stopping, &tokens);
    let mut backend = RawSocket::connect(stopping.address());
    backend.write(&head("GET", "/readyz", &[], None));
    assert_eq!(backend.read_answer().status, 200);
    stopping.signal(Signal::TERM);
    assert_eq!(silent.read_frame().first_byte, CLOSE);
    backend.write(&emit_request(&tokens.api, r#"{"name":"orders","eventData":1}"#));
    assert_eq!(backend.read_answer().status, 200);
    assert_eq!(client.next_notification().await.1, json!(1));
}
