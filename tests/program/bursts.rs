//! One large emit for many subscriptions of one session, on the real program.

use crate::support::raw::TEXT;
use crate::support::{Node, RawSocket, emit, eventually};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SUBSCRIPTIONS: usize = 100;
/// With all its subscriptions, a session receives 22 MB from one emit: 20 times its send buffer.
const DATA_BYTES: usize = 220_000;

/// Connects a session with many subscriptions on one event. Their conditions differ, and all match.
fn subscribe(node: &Node) -> RawSocket {
    subscribe_with(node, &json!({}))
}

/// The same, with further members in each entry.
fn subscribe_with(node: &Node, members: &Value) -> RawSocket {
    let mut socket = RawSocket::upgrade(node, &node.tokens());
    let entries: Vec<Value> = (0..SUBSCRIPTIONS)
        .map(|number| {
            let condition = json!({"conditionType": "RESPONSE", "criteria": {"n": {"$lte": 2 + number}}});
            let mut entry = json!({"eventType": "CUSTOM_WS_EVENTS", "apiName": "orders", "condition": condition});
            entry.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
            entry
        })
        .collect();
    socket.register(&entries);
    socket
}

fn emit_data(node: &Node, n: u32, text: &str) {
    let body = json!({"name": "orders", "eventData": {"n": n, "text": text}}).to_string();
    assert_eq!(emit(node, &node.tokens().api, &body).status, 200);
}

/// Reads one notification per subscription. All must come from emit `n`.
fn read_notifications(socket: &mut RawSocket, n: u32) {
    let mut ids = BTreeSet::new();
    for _ in 0..SUBSCRIPTIONS {
        let frame = socket.read_frame();
        assert_eq!(frame.first_byte, TEXT, "{:?}", String::from_utf8_lossy(&frame.payload));
        let notification: Value = serde_json::from_slice(&frame.payload).expect("a notification");
        assert_eq!(notification["response"]["eventData"]["n"], n);
        ids.insert(notification["response"]["eventId"].to_string());
    }
    assert_eq!(ids.len(), SUBSCRIPTIONS, "each subscription is notified once");
}

#[test]
fn a_session_that_reads_receives_all_of_a_large_emit_in_order_and_stays_open() {
    let node = Node::start(&[]);
    let mut socket = subscribe(&node);
    emit_data(&node, 1, &"x".repeat(DATA_BYTES));
    emit_data(&node, 2, "small");
    read_notifications(&mut socket, 1);
    read_notifications(&mut socket, 2);
    assert_eq!(node.metric("carillon_sessions", ""), 1.0);
    assert_eq!(["send_buffer_bytes", "session.write_timeout_seconds"].map(|limit| node.limit_count(limit)), [0.0; 2]);
}

#[test]
fn a_session_that_does_not_read_is_closed_with_4430_after_the_write_timeout_and_delays_no_other() {
    let node = Node::start(&[("SESSION__WRITE_TIMEOUT_SECONDS", "1")]);
    let silent = subscribe(&node);
    let mut reading = subscribe(&node);
    emit_data(&node, 1, &"x".repeat(DATA_BYTES));
    emit_data(&node, 2, "small");
    read_notifications(&mut reading, 1);
    read_notifications(&mut reading, 2);
    eventually("the silent session closed", || node.metric("carillon_closes_total", r#"code="4430""#) == 1.0);
    assert_eq!(node.limit_count("session.write_timeout_seconds"), 1.0);
    assert_eq!(node.metric("carillon_sessions", ""), 1.0);
    drop(silent);
}

#[test]
fn sessions_that_do_not_read_share_the_data_of_a_large_emit() {
    const SESSIONS: usize = 20;
    let node = Node::start(&[("SESSION__WRITE_TIMEOUT_SECONDS", "600")]);
    let silent: Vec<RawSocket> = (0..SESSIONS).map(|_| subscribe(&node)).collect();
    let before = node.resident_bytes();
    emit_data(&node, 1, &"x".repeat(DATA_BYTES));
    eventually("frames that wait", || node.metric("carillon_session_queue_bytes", "") > 1e8);
    let grown = node.resident_bytes().saturating_sub(before);
    // 440 MB are queued. One copy per session would be 4.4 MB, one copy per frame would be all 440 MB.
    assert!(grown < 40_000_000, "{grown} bytes for {SESSIONS} sessions");
    assert_eq!(node.metric("carillon_sessions", ""), SESSIONS as f64);
    drop(silent);
}

#[test]
fn all_bursts_of_a_node_together_stay_within_queued_bytes() {
    const QUEUED_BYTES: f64 = 30e6;
    let settings = [
        ("LIMITS__QUEUED_BYTES", "30000000"),
        ("SESSION__WRITE_TIMEOUT_SECONDS", "600"),
        ("SESSION__CLOSE_SECONDS", "60"),
    ];
    let node = Node::start(&settings);
    // The selected data is copied into each frame: 22 MB for each session, so that only one session has room.
    let select = json!({"select": {"n": 1, "text": 1}});
    let mut silent: Vec<RawSocket> = (0..3).map(|_| subscribe_with(&node, &select)).collect();
    emit_data(&node, 1, &"x".repeat(DATA_BYTES));
    eventually("two sessions over the bound", || node.limit_count("send_buffer_bytes") == 2.0);
    eventually("the burst of the third", || node.metric("carillon_session_burst_bytes", "") > 20e6);
    assert!(node.metric("carillon_session_burst_bytes", "") <= QUEUED_BYTES);
    let mut closed = 0;
    for socket in &mut silent {
        // A closed session receives the rest of the frame that was written in part, then the close frame.
        let last = (0..SUBSCRIPTIONS).map(|_| socket.read_frame()).find(|frame| frame.first_byte != TEXT);
        if let Some(frame) = last {
            assert_eq!(frame.payload[..2], 4430_u16.to_be_bytes());
            closed += 1;
        }
    }
    assert_eq!(closed, 2, "the third session receives all of the emit");
    eventually("no burst", || node.metric("carillon_session_burst_bytes", "") == 0.0);
}
