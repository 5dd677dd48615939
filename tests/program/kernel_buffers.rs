//! What the kernel keeps for clients that do not read, on the real program.

use crate::support::client::entry;
use crate::support::{Node, RawSocket, emit, eventually};
use serde_json::json;
use std::fs;
use std::net::SocketAddr;

const TEXT: u8 = 0x81;
/// Four of these wait for a client without a `4430`.
const DATA_BYTES: usize = 200_000;
const EMITS: usize = 4;

/// Bytes in the kernel's send queue of a connection, as `/proc/net/tcp` shows them (proc(5)).
fn unsent_bytes(local: SocketAddr, peer: SocketAddr) -> usize {
    let table = fs::read_to_string("/proc/net/tcp").expect("the table of connections");
    let ends_with_port = |field: &str, port: u16| field.ends_with(&format!(":{port:04X}"));
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|fields| ends_with_port(fields[1], local.port()) && ends_with_port(fields[2], peer.port()))
        .and_then(|fields| usize::from_str_radix(fields[4].split(':').next()?, 16).ok())
        .expect("the connection is open")
}

/// Emits more than the kernel takes for a client that never reads; gives what its send queue holds then.
fn unsent_bytes_with(kernel_send_buffer_bytes: &str) -> usize {
    let node = Node::start(&[("SESSION__KERNEL_SEND_BUFFER_BYTES", kernel_send_buffer_bytes)]);
    let tokens = node.tokens();
    let mut client = RawSocket::upgrade(&node, &tokens);
    client.write_frame(TEXT, json!({"objType": "REGISTER", "onEvents": [entry("news")]}).to_string().as_bytes());
    eventually("a subscription", || node.metric("carillon_subscriptions", "") == 1.0);
    let body = json!({"name": "news", "eventData": "x".repeat(DATA_BYTES)}).to_string();
    for _ in 0..EMITS {
        assert_eq!(emit(&node, &tokens.api, &body).status, 200);
    }
    eventually("bytes that wait in the node", || node.metric("carillon_session_queue_bytes", "") > 0.0);
    unsent_bytes(node.address(), client.local_address())
}

#[test]
fn the_kernel_holds_no_more_for_a_client_that_does_not_read_than_its_setting_allows() {
    for setting in [16_384, 65_536] {
        let unsent = unsent_bytes_with(&setting.to_string());
        assert!(unsent > 0 && unsent <= 3 * setting, "{unsent} bytes with a setting of {setting}");
    }
}
