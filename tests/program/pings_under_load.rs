//! A worker answers pings while it is busy with notifications.

use crate::support::client::entry;
use crate::support::raw::{PING, PONG};
use crate::support::{Node, RawSocket, emit};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Subscribes a session many times to one event, and reads all its notifications in the background.
fn listen(node: &Node) -> thread::JoinHandle<()> {
    let mut socket = RawSocket::upgrade(node, &node.tokens());
    let entries: Vec<Value> = (0..100).map(|_| entry("busy")).collect();
    socket.register(&entries);
    thread::spawn(move || socket.expect_end())
}

#[test]
fn a_ping_is_answered_while_its_worker_is_busy_with_notifications() {
    // The queues of the sessions are never empty: publishers wait for room in the queue.
    let settings = [("HTTP__WORKERS", "1"), ("SESSION__SEND_BUFFER_BYTES", "1073741824")];
    let node = Node::start(&settings);
    let listeners: Vec<_> = (0..4).map(|_| listen(&node)).collect();
    let mut quiet = RawSocket::upgrade(&node, &node.tokens());
    let (api, is_over) = (node.tokens().api, AtomicBool::new(false));
    let batch = json!(vec![json!({"name": "busy", "eventData": "x".repeat(100)}); 1_000]).to_string();
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !is_over.load(Relaxed) {
                    assert_eq!(emit(&node, &api, &batch).status, 200);
                }
            });
        }
        let start = std::time::Instant::now();
        while node.metric("carillon_notifications_total", "") == 0.0 {
            assert!(start.elapsed() < crate::support::DEADLINE, "no notification was delivered");
        }
        for number in 0..20_u8 {
            quiet.write_frame(PING, &[number]);
            let pong = quiet.read_frame();
            assert_eq!((pong.first_byte, pong.payload), (PONG, vec![number]));
        }
        is_over.store(true, Relaxed);
    });
    assert_eq!(node.metric("carillon_limits_total", ""), 0.0);
    drop(node);
    listeners.into_iter().for_each(|listener| listener.join().expect("read to the end"));
}
