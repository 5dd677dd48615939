//! The upgrade (RFC 6455 §4.2): valid requests, and the answers to invalid ones.

use crate::support::client::Client;
use crate::support::raw::{SAMPLE_KEY, answer_to, upgrade_request, upgrade_with};
use crate::support::{Node, RawSocket, request};

#[tokio::test]
async fn a_valid_upgrade_is_answered_101_and_connected_on_both_paths() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut sessions = Vec::new();
    for path in ["/", "/ws"] {
        let mut client = Client::open(&node, path, &tokens.headers()).await;
        let message = client.next_json().await;
        assert_eq!(message["type"], "CONNECTED");
        let response = &message["response"];
        assert_eq!(response["connected"], true);
        assert_eq!(response["pingInterval"], 60);
        assert!(response["node"].as_str().is_some_and(|node| !node.is_empty()));
        let session = response["sessionId"].as_str().expect("a session's id");
        assert!(!session.is_empty());
        sessions.push(session.to_owned());
    }
    assert_ne!(sessions[0], sessions[1]);
}

#[test]
fn the_101_proves_that_the_key_was_read_and_declines_extensions() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut headers = tokens.headers().to_vec();
    headers.push(("Sec-WebSocket-Extensions", "permessage-deflate"));
    let answer = answer_to(&node, &upgrade_request("/ws", &headers));
    assert_eq!(answer.status, 101);
    let accept = answer.header("sec-websocket-accept");
    assert_eq!(accept, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    let upgrade = answer.header("upgrade").unwrap_or_default();
    assert!(upgrade.eq_ignore_ascii_case("websocket"));
    let connection = answer.header("connection").unwrap_or_default();
    assert!(connection.eq_ignore_ascii_case("upgrade"));
    assert_eq!(answer.header("sec-websocket-extensions"), None);
    assert_eq!(answer.header("sec-websocket-protocol"), None);
}

#[test]
fn a_plain_get_is_answered_426_on_ws_and_with_the_product_name_on_the_root() {
    let node = Node::start(&[]);
    let plain = request(node.address(), "GET", "/ws", &[], b"");
    assert_eq!(plain.status, 426);
    let root = request(node.address(), "GET", "/", &[], b"");
    assert_eq!(root.status, 200);
    let text = root.json().to_string().to_lowercase();
    assert!(text.contains("carillon"), "{text}");
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}

#[test]
fn other_versions_are_answered_426_with_the_supported_version() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    for version in ["0", "7", "8", "12", "14"] {
        let line = [("Sec-WebSocket-Version", version)];
        let answer = answer_to(&node, &upgrade_with("Sec-WebSocket-Version", &line, &tokens));
        assert_eq!(answer.status, 426, "version {version}");
        assert_eq!(answer.header("sec-websocket-version"), Some("13"));
    }
}

#[test]
fn malformed_upgrades_are_answered_400() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let key = |value: &'static str| upgrade_with("Sec-WebSocket-Key", &[("Sec-WebSocket-Key", value)], &tokens);
    let twice = [("Sec-WebSocket-Key", SAMPLE_KEY), ("Sec-WebSocket-Key", SAMPLE_KEY)];
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("a text");
    let good = text(upgrade_request("/ws", &tokens.headers()));
    let rows = [
        ("no key", upgrade_with("Sec-WebSocket-Key", &[], &tokens)),
        ("an empty key", key("")),
        ("a key of 15 bytes", key("AAAAAAAAAAAAAAAAAAAA")),
        ("a key of 17 bytes", key("AAAAAAAAAAAAAAAAAAAAAAA=")),
        ("a key that is not base64", key("dGhlIHNhbXBsZSBub25jZ!==")),
        ("two keys", upgrade_with("Sec-WebSocket-Key", &twice, &tokens)),
        ("another method", good.replacen("GET", "POST", 1).into_bytes()),
        ("HTTP/1.0", good.replacen("HTTP/1.1", "HTTP/1.0", 1).into_bytes()),
        ("no host", good.replacen("Host: localhost\r\n", "", 1).into_bytes()),
    ];
    for (what, bytes) in rows {
        let mut socket = RawSocket::connect(node.address());
        socket.write(&bytes);
        let answer = socket.read_answer();
        assert_eq!(answer.status, 400, "{what}");
        socket.expect_end();
    }
}

#[test]
fn an_upgrade_without_a_valid_version_is_refused() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let name = "Sec-WebSocket-Version";
    let rows: [&[(&str, &str)]; 4] = [&[], &[(name, "")], &[(name, "013")], &[(name, "13x")]];
    for lines in rows {
        let answer = answer_to(&node, &upgrade_with(name, lines, &tokens));
        assert!([400, 426].contains(&answer.status), "{lines:?}");
    }
}

#[test]
fn connection_and_upgrade_are_read_as_lists_in_any_case() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let rows: [(&str, &[(&str, &str)]); 5] = [
        ("Connection", &[("Connection", "keep-alive, Upgrade")]),
        ("Connection", &[("Connection", "keep-alive"), ("Connection", "Upgrade")]),
        ("Connection", &[("connection", "UPGRADE")]),
        ("Upgrade", &[("upgrade", "WebSocket")]),
        ("Upgrade", &[("Upgrade", "WEBSOCKET")]),
    ];
    for (name, lines) in rows {
        let answer = answer_to(&node, &upgrade_with(name, lines, &tokens));
        assert_eq!(answer.status, 101, "{lines:?}");
    }
}

#[test]
fn an_upgrade_on_another_path_is_answered_404() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    for path in ["/nowhere", "/metrics", "/ws/x"] {
        let answer = answer_to(&node, &upgrade_request(path, &tokens.headers()));
        assert_eq!(answer.status, 404, "{path}");
    }
}
