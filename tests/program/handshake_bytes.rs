//! Bytes before and after a handshake: sent together, in pieces, or pipelined.

use crate::support::client::{Client, entry};
use crate::support::http::{emit_request, head};
use crate::support::raw::{masked_frame, upgrade_request, upgrade_with};
use crate::support::{Node, RawSocket, emit};
use serde_json::json;

#[test]
fn frames_sent_together_with_the_handshake_are_not_lost() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut bytes = upgrade_request("/ws", &tokens.headers());
    let register = json!({"objType": "REGISTER", "guid": "g", "onEvents": [entry("orders")]});
    bytes.extend(masked_frame(0x81, register.to_string().as_bytes()));
    let mut socket = RawSocket::connect(node.address());
    socket.write(&bytes);
    assert_eq!(socket.read_answer().status, 101);
    for expected in ["CONNECTED", "REGISTER"] {
        let text = String::from_utf8(socket.read_frame().payload).expect("a text");
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(emit(&node, &tokens.api, r#"{"name":"orders","eventData":1}"#).status, 200);
    let text = String::from_utf8(socket.read_frame().payload).expect("a text");
    assert!(text.contains("NOTIFICATION"), "{text}");
}

#[test]
fn a_handshake_in_pieces_is_accepted() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut bytes = upgrade_request("/ws", &tokens.headers());
    bytes.extend(masked_frame(0x81, br#"{"objType":"NOPE","guid":"g"}"#));
    let mut socket = RawSocket::connect(node.address());
    for piece in bytes.chunks(97) {
        socket.write(piece);
        std::thread::yield_now();
    }
    assert_eq!(socket.read_answer().status, 101);
    for expected in ["CONNECTED", "UNKNOWN_MESSAGE"] {
        let text = String::from_utf8(socket.read_frame().payload).expect("a text");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn requests_pipelined_before_an_upgrade_are_answered_first() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut bytes = head("GET", "/healthz", &[], None);
    bytes.extend(head("GET", "/", &[], None));
    bytes.extend(upgrade_request("/ws", &tokens.headers()));
    let mut socket = RawSocket::connect(node.address());
    socket.write(&bytes);
    assert_eq!(socket.read_answer().status, 200);
    assert_eq!(socket.read_answer().status, 200);
    assert_eq!(socket.read_answer().status, 101);
    let text = String::from_utf8(socket.read_frame().payload).expect("a text");
    assert!(text.contains("CONNECTED"), "{text}");
}

#[tokio::test]
async fn bytes_after_a_refused_upgrade_are_not_processed() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut witness = Client::connect(&node, &tokens).await;
    witness.subscribe(entry("orders")).await;
    let smuggled = r#"{"name":"orders","eventData":"smuggled"}"#;
    let mut bytes = upgrade_with("Sec-WebSocket-Key", &[], &tokens);
    bytes.extend(emit_request(&tokens.api, smuggled));
    let mut socket = RawSocket::connect(node.address());
    socket.write(&bytes);
    assert_eq!(socket.read_answer().status, 400);
    socket.expect_end();
    emit(&node, &tokens.api, r#"{"name":"orders","eventData":"honest"}"#);
    assert_eq!(witness.next_notification().await.1, "honest");
}
