//! What a worker still does while one event storms over it.

use crate::support::client::entry;
use crate::support::raw::{PING, PONG};
use crate::support::{Node, RawSocket, emit};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// Subscribes a session many times over to one event, and has all that it is told read and forgotten.
fn listen(node: &Node) -> thread::JoinHandle<()> {
    let mut socket = RawSocket::upgrade(node, &node.tokens());
    let entries: Vec<Value> = (0..100).map(|_| entry("storm")).collect();
    socket.register(&entries);
    thread::spawn(move || socket.expect_end())
}

#[test]
fn a_ping_is_answered_while_its_worker_is_busy_with_notifications() {
    // What waits for the sessions is never empty: publishing waits for room in the queue.
    let settings = [("HTTP__WORKERS", "1"), ("SESSION__SEND_BUFFER_BYTES", "1073741824")];
    let node = Node::start(&settings);
    let listeners: Vec<_> = (0..4).map(|_| listen(&node)).collect();
    let mut quiet = RawSocket::upgrade(&node, &node.tokens());
    let (api, is_over) = (node.tokens().api, AtomicBool::new(false));
    let batch = json!(vec![json!({"name": "storm", "eventData": "x".repeat(100)}); 1_000]).to_string();
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !is_over.load(Relaxed) {
                    assert_eq!(emit(&node, &api, &batch).status, 200);
                }
            });
        }
        let begun = std::time::Instant::now();
        while node.metric("carillon_notifications_total", "") == 0.0 {
            assert!(begun.elapsed() < crate::support::DEADLINE, "nothing is told");
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
