//! The kernel's send buffer for clients that do not read.

use crate::support::client::entry;
use crate::support::{Node, RawSocket, emit, eventually};
use serde_json::json;

/// Four of these can be queued for a client without a close with 4430.
const DATA_BYTES: usize = 200_000;
const EMITS: usize = 4;

/// Emits more than the kernel accepts for a client that never reads. Returns the bytes in the kernel's send queue.
fn unsent_bytes_with(kernel_send_buffer_bytes: &str) -> usize {
    let node = Node::start(&[("SESSION__KERNEL_SEND_BUFFER_BYTES", kernel_send_buffer_bytes)]);
    let tokens = node.tokens();
    let mut client = RawSocket::upgrade(&node, &tokens);
    client.register(&[entry("news")]);
    let body = json!({"name": "news", "eventData": "x".repeat(DATA_BYTES)}).to_string();
    for _ in 0..EMITS {
        assert_eq!(emit(&node, &tokens.api, &body).status, 200);
    }
    eventually("bytes that wait in the node", || node.metric("carillon_session_queue_bytes", "") > 0.0);
    node.kernel_send_queue(client.local_address()).expect("the connection is open")
}

#[test]
fn the_kernel_send_buffer_of_a_client_that_does_not_read_stays_within_its_setting() {
    for setting in [16_384, 65_536] {
        let unsent = unsent_bytes_with(&setting.to_string());
        assert!(unsent > 0 && unsent <= 3 * setting, "{unsent} bytes with a setting of {setting}");
    }
}
