//! The shutdown of a node: it closes its sessions and answers the emits in progress before it exits.

use crate::support::client::{Client, entry};
use crate::support::http::{emit_request, head};
use crate::support::raw::{answer_to, upgrade_request};
use crate::support::{Node, RawSocket, emit, eventually, request};
use rustix::process::Signal;
use std::time::{Duration, Instant};

#[tokio::test]
async fn at_sigterm_and_sigint_sessions_are_closed_with_1001_and_the_exit_is_clean() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut node = Node::start(&[]);
        let tokens = node.tokens();
        let mut clients = Vec::new();
        for _ in 0..10 {
            let mut client = Client::connect(&node, &tokens).await;
            client.subscribe(entry("orders")).await;
            clients.push(client);
        }
        node.signal(signal);
        for client in &mut clients {
            client.expect_close(1001).await;
        }
        drop(clients);
        assert_eq!(node.wait().code(), Some(0));
        assert!(!node.directory().join("node.address").exists());
    }
}

#[tokio::test]
async fn peers_that_never_answer_do_not_delay_the_exit_beyond_the_shutdown_timeout() {
    let mut node = Node::start(&[("SHUTDOWN__SECONDS", "2")]);
    let tokens = node.tokens();
    let _deaf = RawSocket::upgrade(&node, &tokens);
    let mut half = RawSocket::connect(node.address());
    half.write(b"GET /heal");
    let start = Instant::now();
    node.signal(Signal::TERM);
    assert_eq!(node.wait().code(), Some(0));
    // One more second, for a busy machine.
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_stopping_node_is_not_ready_refuses_upgrades_and_answers_the_emit_in_progress() {
    let mut node = Node::start(&[]);
    let tokens = node.tokens();
    let body = r#"{"name":"orders","eventData":1}"#;
    let request_bytes = emit_request(&tokens.api, body);
    let (first_part, last_part) = request_bytes.split_at(request_bytes.len() - 10);
    let mut under_way = RawSocket::connect(node.address());
    under_way.write(first_part);
    let mut client = Client::connect(&node, &tokens).await;
    // Connections from before the signal are still served while the node drains.
    let mut asking = RawSocket::connect(node.address());
    asking.write(&head("GET", "/readyz", &[], None));
    assert_eq!(asking.read_answer().status, 200);
    let mut upgrading = RawSocket::connect(node.address());
    upgrading.write(&head("GET", "/healthz", &[], None));
    assert_eq!(upgrading.read_answer().status, 200);
    node.signal(Signal::TERM);
    client.expect_close(1001).await;
    asking.write(&head("GET", "/readyz", &[], None));
    assert_eq!(asking.read_answer().status, 503);
    asking.write(&emit_request(&tokens.api, body));
    let too_late = asking.read_answer();
    assert_eq!((too_late.status, too_late.header("retry-after")), (503, Some("1")), "no session is left");
    upgrading.write(&upgrade_request("/ws", &tokens.headers()));
    let refused = upgrading.read_answer();
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    under_way.write(last_part);
    let answer = under_way.read_answer();
    assert_eq!(answer.status, 200, "{}", answer.text());
    drop((asking, upgrading, under_way, client));
    assert_eq!(node.wait().code(), Some(0));
}

#[tokio::test]
async fn a_node_that_gives_notice_is_not_ready_and_keeps_serving_until_the_notice_ends_or_a_second_signal() {
    let mut node = Node::start(&[("SHUTDOWN__NOTICE_SECONDS", "600")]);
    node.signal(Signal::TERM);
    eventually("a node that is not ready", || request(node.address(), "GET", "/readyz", &[], b"").status == 503);
    let mut client = Client::of(&node).await;
    client.subscribe(entry("orders")).await;
    assert_eq!(emit(&node, &node.tokens().api, r#"{"name":"orders","eventData":1}"#).status, 200);
    assert_eq!(client.next_notification().await.1, 1);
    node.signal(Signal::TERM);
    client.expect_close(1001).await;
    assert_eq!(node.wait().code(), Some(0));
    let mut node = Node::start(&[("SHUTDOWN__NOTICE_SECONDS", "1")]);
    node.signal(Signal::TERM);
    assert_eq!(node.wait().code(), Some(0));
}

#[test]
fn a_stopped_node_starts_again_on_its_data_folder() {
    let mut node = Node::start(&[]);
    let tokens = node.tokens();
    node.signal(Signal::TERM);
    assert_eq!(node.wait().code(), Some(0));
    let again = Node::start_in(node.leave(), &[]);
    let answer = answer_to(&again, &upgrade_request("/ws", &tokens.headers()));
    assert_eq!(answer.status, 101);
    eventually("ready again", || request(again.address(), "GET", "/readyz", &[], b"").status == 200);
}
