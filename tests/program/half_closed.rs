//! The kernel socket of a session is gone soon after the session has ended.

use crate::support::client::entry;
use crate::support::raw::{BINARY, CLOSE, TEXT, upgrade_request};
use crate::support::{Node, RawSocket, Tokens, emit, eventually};
use serde_json::json;

const SETTINGS: [(&str, &str); 4] = [
    ("SESSION__PING_SECONDS", "1"),
    ("SESSION__CLOSE_SECONDS", "1"),
    ("SESSION__SEND_BUFFER_BYTES", "65536"),
    ("LIMITS__EMIT_BYTES", "65536"),
];

fn subscribed(node: &Node) -> RawSocket {
    let mut socket = RawSocket::upgrade(node, &node.tokens());
    socket.register(&[entry("orders")]);
    socket
}

/// Emits until the kernel accepts no more bytes for a client that does not read.
fn fill(node: &Node, is_full: impl Fn() -> bool) {
    let body = json!({"name": "orders", "eventData": "x".repeat(60_000)}).to_string();
    let api = node.tokens().api;
    for _ in 0..400 {
        assert_eq!(emit(node, &api, &body).status, 200);
        if is_full() {
            return;
        }
    }
    panic!("the node keeps everything for a client that reads nothing");
}

#[test]
fn a_peer_that_does_not_answer_the_close_frame_is_reset_after_the_close_timeout() {
    let node = Node::start(&SETTINGS);
    let silent = RawSocket::upgrade(&node, &node.tokens());
    assert!(node.kernel_send_queue(silent.local_address()).is_some());
    eventually("closed for silence", || node.metric("carillon_closes_total", "4408") == 1.0);
    assert_eq!(node.kernel_send_queue(silent.local_address()), None);
}

#[test]
fn bytes_that_a_closed_slow_reader_did_not_read_do_not_stay_in_the_kernel() {
    let node = Node::start(&SETTINGS);
    let slow = subscribed(&node);
    fill(&node, || node.limit_count("send_buffer_bytes") == 1.0);
    let waiting = node.kernel_send_queue(slow.local_address()).expect("the session is closing");
    assert!(waiting > 65_536, "{waiting} bytes wait");
    eventually("closed for slowness", || node.metric("carillon_sessions", "") == 0.0);
    assert_eq!(node.kernel_send_queue(slow.local_address()), None);
}

#[test]
fn the_socket_of_a_half_closed_peer_that_does_not_read_is_gone_after_the_close_timeout() {
    let node = Node::start(&SETTINGS);
    let gone = subscribed(&node);
    let waits = || node.kernel_send_queue(gone.local_address()).unwrap_or_default();
    fill(&node, || node.metric("carillon_session_queue_bytes", "") > 0.0 && waits() > 65_536);
    gone.end_writing();
    eventually("the session's end", || node.metric("carillon_sessions", "") == 0.0);
    eventually("the socket's end", || node.kernel_send_queue(gone.local_address()).is_none());
}

#[test]
fn an_unauthenticated_peer_that_does_not_close_is_dropped_long_before_a_client() {
    let node = Node::start(&[("SESSION__CLOSE_SECONDS", "60")]);
    let mut client = RawSocket::upgrade(&node, &node.tokens());
    client.write_frame(BINARY, b"");
    assert_eq!(client.read_frame().first_byte, CLOSE);
    let mut unauthenticated = RawSocket::connect(node.address());
    let tokens = Tokens { api: "invalid".to_owned(), user: "invalid".to_owned() };
    unauthenticated.write(&upgrade_request("/ws", &tokens.headers()));
    assert_eq!(unauthenticated.read_answer().status, 101);
    assert_eq!([TEXT, CLOSE].map(|_| unauthenticated.read_frame().first_byte), [TEXT, CLOSE]);
    eventually("the refused connection closed", || node.metric("carillon_closes_total", "4401") == 1.0);
    eventually("its session removed", || node.metric("carillon_sessions", "") == 1.0);
    drop((client, unauthenticated));
}
