//! Every close code of the protocol, and what causes it.

use crate::support::client::{Client, entry};
use crate::support::raw::{BINARY, CLOSE, PING, PONG, TEXT, masked_frame};
use crate::support::{Claims, Node, RawSocket, Tokens, emit, eventually};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

async fn raw(node: &Node) -> RawSocket {
    RawSocket::upgrade(node, &node.tokens())
}

/// A message of exactly `bytes` bytes.
fn message_of(bytes: usize) -> String {
    let frame = r#"{"objType":""}"#.len();
    format!(r#"{{"objType":"{}"}}"#, "x".repeat(bytes - frame))
}

#[tokio::test]
async fn a_close_frame_is_answered_with_the_code_of_the_client() {
    let node = Node::start(&[]);
    for code in [1000_u16, 1001, 3000, 4999] {
        let mut socket = raw(&node).await;
        socket.write_frame(CLOSE, &[&code.to_be_bytes()[..], b"bye"].concat());
        socket.expect_close(code);
    }
    let mut socket = raw(&node).await;
    socket.write_frame(CLOSE, b"");
    let answer = socket.read_frame();
    assert_eq!(answer.first_byte, CLOSE);
    socket.expect_end();
}

#[tokio::test]
async fn a_broken_frame_is_closed_with_1002() {
    let node = Node::start(&[]);
    let rows: [(&str, Vec<u8>); 9] = [
        ("not masked", vec![TEXT, 2, b'{', b'}']),
        ("a reserved bit", vec![TEXT | 0x40, 0x82, 0, 0, 0, 0, b'{', b'}']),
        ("a reserved opcode", vec![0x83, 0x80, 0, 0, 0, 0]),
        ("a reserved control opcode", vec![0x8b, 0x80, 0, 0, 0, 0]),
        ("a continuation of nothing", vec![0x80, 0x80, 0, 0, 0, 0]),
        ("a fragmented ping", vec![0x09, 0x80, 0, 0, 0, 0]),
        ("a ping of 126 bytes", [vec![PING, 0xfe, 0, 126, 0, 0, 0, 0], vec![0; 126]].concat()),
        ("a close of one byte", vec![CLOSE, 0x81, 0, 0, 0, 0, 3]),
        ("a close with a reserved code", vec![CLOSE, 0x82, 0, 0, 0, 0, 0x03, 0xed]),
    ];
    for (what, bytes) in rows {
        let mut socket = raw(&node).await;
        socket.write(&bytes);
        println!("{what}");
        socket.expect_close(1002);
    }
}

#[tokio::test]
async fn a_binary_message_is_closed_with_1003() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    client.write(Message::binary(vec![1, 2, 3])).await;
    client.expect_close(1003).await;
    let mut socket = raw(&node).await;
    socket.write_frame(BINARY, b"");
    socket.expect_close(1003);
}

#[tokio::test]
async fn text_that_is_not_utf8_is_closed_with_1007() {
    let node = Node::start(&[]);
    for bytes in [&b"\xff"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"{\"a\":\"\xc3\"}"] {
        let mut socket = raw(&node).await;
        socket.write_frame(TEXT, bytes);
        socket.expect_close(1007);
    }
}

#[tokio::test]
async fn characters_split_over_fragments_are_valid_utf8() {
    let node = Node::start(&[]);
    let mut socket = raw(&node).await;
    let text = r#"{"objType":"REGISTER","guid":"ü€😀","onEvents":[]}"#.as_bytes();
    for (i, byte) in text.iter().enumerate() {
        let opcode = if i == 0 { 0x01 } else { 0x00 };
        let last = if i + 1 == text.len() { 0x80 } else { 0x00 };
        socket.write_frame(opcode | last, &[*byte]);
        if i == 20 {
            socket.write_frame(PING, b"between");
        }
    }
    let pong = socket.read_frame();
    assert_eq!((pong.first_byte, pong.payload.as_slice()), (PONG, &b"between"[..]));
    let answer = String::from_utf8(socket.read_frame().payload).expect("a text");
    assert!(answer.contains("ü€😀"), "{answer}");
}

#[tokio::test]
async fn a_message_at_the_limit_is_accepted_and_one_byte_more_closes_with_1009() {
    for (settings, limit) in [(vec![], 65_536), (vec![("LIMITS__MESSAGE_BYTES", "1024")], 1024)] {
        let node = Node::start(&settings);
        let mut client = Client::of(&node).await;
        for bytes in [limit - 1, limit] {
            client.send(message_of(bytes)).await;
            assert_eq!(client.next_json().await["type"], "UNKNOWN");
        }
        client.send(message_of(limit + 1)).await;
        client.expect_close(1009).await;
    }
}

#[tokio::test]
async fn the_length_limit_applies_to_all_fragments_together_and_at_the_header() {
    let node = Node::start(&[("LIMITS__MESSAGE_BYTES", "1024")]);
    let mut socket = raw(&node).await;
    socket.write_frame(0x01, &[b' '; 600]);
    // Only the header of the second fragment. Its payload would exceed the limit by one byte.
    socket.write(&[0x80, 0xfe, 0x01, 0xa9, 0, 0, 0, 0]);
    socket.expect_close(1009);
    let mut socket = raw(&node).await;
    socket.write(&[TEXT, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    socket.expect_close(1009);
}

#[tokio::test]
async fn an_expired_token_closes_with_4401_and_a_refresh_prevents_it() {
    let node = Node::start(&[("AUTH__LEEWAY_SECONDS", "0")]);
    let good = node.tokens();
    let short_user = Tokens { user: node.token(Claims::user("u1").expiring_in(2)), ..good.clone() };
    let short_api = Tokens { api: node.token(Claims::api("connect").expiring_in(2)), ..good.clone() };
    let mut refreshed = Client::connect(&node, &short_user).await;
    let tokens = json!({"x-am-user-authorization": good.user});
    let answer = refreshed.ask(json!({"objType": "REFRESH", "tokens": tokens})).await;
    assert!(answer["response"]["expiresAt"].is_number(), "{answer}");
    let mut kept = Client::connect(&node, &short_user).await;
    let mut other = Client::connect(&node, &short_api).await;
    kept.expect_close(4401).await;
    other.expect_close(4401).await;
    refreshed.subscribe(entry("still-here")).await;
}

#[tokio::test]
async fn a_silent_peer_is_closed_with_4408_and_one_that_answers_pings_is_not() {
    let node = Node::start(&[("SESSION__PING_SECONDS", "1")]);
    let mut silent = raw(&node).await;
    let mut answering = raw(&node).await;
    let closed = std::thread::spawn(move || silent.expect_close(4408));
    // Six pings take six seconds, longer than the 2.5 intervals after which a silent peer is closed.
    for _ in 0..6 {
        let ping = answering.read_frame();
        assert_eq!(ping.first_byte, PING, "{ping:?}");
        answering.write_frame(PONG, &ping.payload);
    }
    closed.join().expect("closed with 4408");
    answering.write_frame(TEXT, br#"{"objType":"NOPE"}"#);
    let answer = loop {
        let frame = answering.read_frame();
        if frame.first_byte != PING {
            break String::from_utf8(frame.payload).expect("a text");
        }
    };
    assert!(answer.contains("UNKNOWN"), "{answer}");
}

#[tokio::test]
async fn the_connected_message_names_the_ping_interval() {
    let node = Node::start(&[("SESSION__PING_SECONDS", "7")]);
    let tokens = node.tokens();
    let mut client = Client::open(&node, "/ws", &tokens.headers()).await;
    assert_eq!(client.next_json().await["response"]["pingInterval"], 7);
}

#[tokio::test]
async fn more_messages_per_second_than_allowed_close_with_4429() {
    let node = Node::start(&[("LIMITS__MESSAGES_PER_SECOND", "50")]);
    let mut socket = raw(&node).await;
    let message = masked_frame(TEXT, br#"{"objType":"NOPE"}"#);
    socket.write(&message.repeat(50));
    for _ in 0..50 {
        assert_eq!(socket.read_frame().first_byte, TEXT);
    }
    let mut socket = raw(&node).await;
    socket.write(&message.repeat(51));
    socket.expect_close(4429);
}

#[tokio::test]
async fn a_slow_reader_is_closed_with_4430_and_other_sessions_receive_everything() {
    let node = Node::start(&[("SESSION__SEND_BUFFER_BYTES", "65536"), ("LIMITS__EMIT_BYTES", "65536")]);
    let tokens = node.tokens();
    let mut slow = raw(&node).await;
    slow.register(&[entry("orders")]);
    let mut quick = Client::connect(&node, &tokens).await;
    quick.subscribe(entry("orders")).await;
    let is_too_slow = || node.limit_count("send_buffer_bytes") > 0.0;
    // More than both kernel buffers of a loopback connection can hold (at most 4 MiB and 6 MiB).
    let body = json!({"name": "orders", "eventData": "x".repeat(60_000)}).to_string();
    for _ in 0..400 {
        assert_eq!(emit(&node, &tokens.api, &body).status, 200);
        assert_eq!(quick.next_notification().await.1.as_str().map(str::len), Some(60_000));
        if is_too_slow() {
            break;
        }
    }
    assert!(is_too_slow(), "the node keeps everything for a client that reads nothing");
    slow.expect_close(4430);
    eventually("the slow session's end", || node.metric("carillon_closes_total", "4430") == 1.0);
    assert_eq!(node.metric("carillon_sessions", ""), 1.0);
}
