//! The door of a WebSocket: every row of the table of handshake answers, on the real program.

mod support;

use serde_json::json;
use support::client::{Client, entry};
use support::http::head;
use support::raw::{SAMPLE_KEY, masked_frame, upgrade_request};
use support::{Answer, Claims, Node, RawSocket, Tokens, emit, error_code, eventually, request};
use tokio_tungstenite::tungstenite::Error;

/// Sends a head on a connection of its own and reads the answer.
fn answer(node: &Node, bytes: &[u8]) -> Answer {
    let mut socket = RawSocket::connect(node.address());
    socket.write(bytes);
    socket.read_answer()
}

/// The header lines of a good upgrade, with one of them replaced by others.
fn upgrade_with(name: &str, replacement: &[(&str, &str)], tokens: &Tokens) -> Vec<u8> {
    let good = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", SAMPLE_KEY),
    ];
    let mut headers: Vec<(&str, &str)> = good.into_iter().filter(|(key, _)| *key != name).collect();
    headers.extend_from_slice(replacement);
    headers.extend(tokens.headers());
    head("GET", "/ws", &headers, None)
}

/// The status with which the upgrade was refused.
async fn refused(node: &Node, tokens: &Tokens, headers: &[(&str, &str)]) -> Answer {
    let mut all = tokens.headers().to_vec();
    all.extend_from_slice(headers);
    match Client::shake_hands(node, "/ws", &all).await {
        Err(Error::Http(response)) => Answer {
            status: response.status().as_u16(),
            headers: response
                .headers()
                .iter()
                .map(|(key, value)| (key.to_string(), value.to_str().unwrap_or("").to_owned()))
                .collect(),
            body: response.into_body().unwrap_or_default(),
        },
        Err(error) => panic!("not an HTTP answer: {error}"),
        Ok(_) => panic!("the upgrade was granted"),
    }
}

/// Opens a session with tokens that must be refused, and gives the code that says why.
async fn refusal_of_tokens(node: &Node, path: &str, headers: &[(&str, &str)]) -> String {
    let mut client = Client::open(node, path, headers).await;
    let message = client.next_json().await;
    assert_eq!(message["type"], "TOKEN_VALIDATION", "{message}");
    let text = message["errors"][0]["message"].as_str().unwrap_or_default();
    assert!(!text.is_empty(), "an error says what to do: {message}");
    client.expect_close(4401).await;
    error_code(&message).to_owned()
}

#[tokio::test]
async fn a_good_upgrade_is_answered_101_and_connected_on_both_paths() {
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
        assert!(
            response["node"]
                .as_str()
                .is_some_and(|node| !node.is_empty())
        );
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
    let answer = answer(&node, &upgrade_request("/ws", &headers));
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

#[tokio::test]
async fn tokens_are_taken_from_headers_query_or_subprotocol() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let query = tokens.in_query("/ws");
    let subprotocol = tokens.in_subprotocol();
    let offered = [("Sec-WebSocket-Protocol", subprotocol.as_str())];
    let ways: [(&str, &[(&str, &str)]); 3] =
        [("/ws", &tokens.headers()), (&query, &[]), ("/ws", &offered)];
    for (path, headers) in ways {
        let mut client = Client::open(&node, path, headers).await;
        assert_eq!(client.next_json().await["type"], "CONNECTED");
    }
}

#[test]
fn exactly_one_subprotocol_is_echoed_and_never_one_that_carries_a_token() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let offers = [
        (tokens.in_subprotocol(), Some("carillon.v1")),
        (
            format!("user.{}, carillon.v1, api.{}", tokens.user, tokens.api),
            Some("carillon.v1"),
        ),
    ];
    for (offer, echoed) in offers {
        let headers = [("Sec-WebSocket-Protocol", offer.as_str())];
        let answer = answer(&node, &upgrade_request("/ws", &headers));
        assert_eq!(answer.status, 101);
        let lines = answer
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
        assert_eq!(lines.count(), usize::from(echoed.is_some()));
        assert_eq!(answer.header("sec-websocket-protocol"), echoed);
    }
    let mut headers = tokens.headers().to_vec();
    headers.push(("Sec-WebSocket-Protocol", "chat, superchat"));
    let answer = answer(&node, &upgrade_request("/ws", &headers));
    assert_eq!(answer.header("sec-websocket-protocol"), None);
}

#[tokio::test]
async fn the_first_way_in_which_tokens_are_found_wins() {
    let node = Node::start(&[]);
    let good = node.tokens();
    let bad = Tokens {
        api: Claims::api("connect").sign_wrongly(),
        user: Claims::user("u1").sign_wrongly(),
    };
    let mut client = Client::open(&node, &bad.in_query("/ws"), &good.headers()).await;
    assert_eq!(client.next_json().await["type"], "CONNECTED");
    let code = refusal_of_tokens(&node, &good.in_query("/ws"), &bad.headers()).await;
    assert_eq!(code, "TOKEN_INVALID");
}

#[tokio::test]
async fn refused_tokens_are_told_why_and_closed_with_4401() {
    let node = Node::start(&[]);
    let good = node.tokens();
    let api = |claims: Claims| (node.token(claims), good.user.clone());
    let user = |claims: Claims| (good.api.clone(), node.token(claims));
    let malformed = || "not.a.token".to_owned();
    let rows = [
        (
            "malformed API token",
            "TOKEN_INVALID",
            (malformed(), good.user.clone()),
        ),
        (
            "malformed user token",
            "TOKEN_INVALID",
            (good.api.clone(), malformed()),
        ),
        (
            "expired API token",
            "TOKEN_EXPIRED",
            api(Claims::api("connect").expiring_in(-60)),
        ),
        (
            "expired user token",
            "TOKEN_EXPIRED",
            user(Claims::user("u1").expiring_in(-60)),
        ),
        (
            "user token without an expiry",
            "TOKEN_INVALID",
            user(Claims::user("u1").without("exp")),
        ),
        (
            "expiry of text",
            "TOKEN_INVALID",
            user(Claims::user("u1").with("exp", json!("soon"))),
        ),
        (
            "expiry of null",
            "TOKEN_INVALID",
            user(Claims::user("u1").with("exp", json!(null))),
        ),
        (
            "absurd expiry",
            "TOKEN_INVALID",
            user(Claims::user("u1").with("exp", json!(1e300))),
        ),
        (
            "not yet valid",
            "TOKEN_INVALID",
            user(Claims::user("u1").with("nbf", json!(4e9))),
        ),
        (
            "no subject",
            "TOKEN_INVALID",
            user(Claims::user("u1").without("sub")),
        ),
        (
            "no scope to connect",
            "TOKEN_SCOPE",
            api(Claims::api("emit")),
        ),
        (
            "no scope at all",
            "TOKEN_SCOPE",
            api(Claims::api("").without("scope")),
        ),
        (
            "two projects",
            "PROJECT_MISMATCH",
            user(Claims::user("u1").with("project", json!("other"))),
        ),
        (
            "unknown project",
            "TOKEN_INVALID",
            api(Claims::api("connect").with("project", json!("other"))),
        ),
        (
            "API token signed with a stranger's key",
            "TOKEN_INVALID",
            (Claims::api("connect").sign_wrongly(), good.user.clone()),
        ),
        (
            "user token signed with a stranger's key",
            "TOKEN_INVALID",
            (good.api.clone(), Claims::user("u1").sign_wrongly()),
        ),
        (
            "the two tokens swapped",
            "TOKEN_INVALID",
            (good.user.clone(), good.api.clone()),
        ),
    ];
    for (what, code, (api, user)) in rows {
        let tokens = Tokens { api, user };
        let told = refusal_of_tokens(&node, "/ws", &tokens.headers()).await;
        assert_eq!(told, code, "{what}");
    }
}

#[tokio::test]
async fn a_missing_token_is_named_as_missing() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let both = tokens.headers();
    for headers in [&both[..0], &both[..1], &both[1..]] {
        let code = refusal_of_tokens(&node, "/ws", headers).await;
        assert_eq!(code, "TOKEN_MISSING", "{} of two tokens", headers.len());
    }
}

#[tokio::test]
async fn unsigned_tokens_are_refused() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    // {"alg":"none"}, with the body of the good token and no signature.
    let body = tokens.user.split('.').nth(1).expect("three parts");
    let unsigned = format!("eyJhbGciOiJub25lIn0.{body}.");
    let headers = [
        ("x-am-authorization", tokens.api.as_str()),
        ("x-am-user-authorization", unsigned.as_str()),
    ];
    assert_eq!(
        refusal_of_tokens(&node, "/ws", &headers).await,
        "TOKEN_INVALID"
    );
}

#[tokio::test]
async fn fractional_dates_and_the_leeway_are_honoured() {
    let node = Node::start(&[("AUTH__LEEWAY_SECONDS", "30")]);
    let mut tokens = node.tokens();
    let now = support::tokens::seconds_since_epoch();
    for claims in [
        Claims::user("u1").with("exp", json!(now as f64 + 100.25)),
        Claims::user("u1").expiring_in(-5),
        Claims::user("u1").with("nbf", json!(now as f64 + 5.5)),
    ] {
        tokens.user = node.token(claims);
        Client::connect(&node, &tokens).await;
    }
}

#[tokio::test]
async fn a_full_node_answers_503_and_has_room_again_once_a_session_left() {
    let node = Node::start(&[("LIMITS__SESSIONS", "1")]);
    let tokens = node.tokens();
    let first = Client::connect(&node, &tokens).await;
    let answer = refused(&node, &tokens, &[]).await;
    assert_eq!(answer.status, 503);
    let seconds = answer.header("retry-after").expect("when to come back");
    assert!(seconds.parse::<u64>().is_ok(), "{seconds}");
    drop(first);
    eventually("room for a session", || {
        node.metric("carillon_sessions", "") == 0.0
    });
    Client::connect(&node, &tokens).await;
}

#[tokio::test]
async fn too_many_sessions_of_one_user_are_answered_429() {
    let node = Node::start(&[("LIMITS__SESSIONS_PER_USER", "2")]);
    let tokens = node.tokens();
    let _first = Client::connect(&node, &tokens).await;
    let second = Client::connect(&node, &tokens).await;
    assert_eq!(refused(&node, &tokens, &[]).await.status, 429);
    let mut other = tokens.clone();
    other.user = node.token(Claims::user("u2"));
    Client::connect(&node, &other).await;
    drop(second);
    eventually("one session less", || {
        node.metric("carillon_sessions", "") == 1.0
    });
    Client::connect(&node, &tokens).await;
}

#[tokio::test]
async fn too_many_sessions_of_one_address_are_answered_429() {
    let node = Node::start(&[("LIMITS__SESSIONS_PER_ADDRESS", "1")]);
    let tokens = node.tokens();
    let first = Client::connect(&node, &tokens).await;
    let mut other = tokens.clone();
    other.user = node.token(Claims::user("u2"));
    assert_eq!(refused(&node, &other, &[]).await.status, 429);
    drop(first);
    eventually("room for a session", || {
        node.metric("carillon_sessions", "") == 0.0
    });
    Client::connect(&node, &other).await;
}

#[tokio::test]
async fn an_origin_that_is_not_allowed_is_answered_403() {
    let node = Node::start(&[(
        "HTTP__ALLOWED_ORIGINS",
        "https://shop.example,https://desk.example",
    )]);
    let tokens = node.tokens();
    for origin in [
        "https://evil.example",
        "null",
        "https://shop.example.evil.example",
    ] {
        let answer = refused(&node, &tokens, &[("Origin", origin)]).await;
        assert_eq!(answer.status, 403, "{origin}");
    }
    let mut headers = tokens.headers().to_vec();
    headers.push(("Origin", "https://desk.example"));
    Client::open(&node, "/ws", &headers).await;
    Client::connect(&node, &tokens).await;
}

#[tokio::test]
async fn by_default_any_origin_may_connect() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut headers = tokens.headers().to_vec();
    headers.push(("Origin", "https://anywhere.example"));
    Client::open(&node, "/ws", &headers).await;
}

#[test]
fn a_plain_get_is_answered_426_on_ws_and_the_products_name_on_the_root() {
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
fn other_versions_are_answered_426_with_the_version_that_is_spoken() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    for version in ["7", "8", "12", "14", "013", "13x"] {
        let line = [("Sec-WebSocket-Version", version)];
        let answer = answer(
            &node,
            &upgrade_with("Sec-WebSocket-Version", &line, &tokens),
        );
        assert_eq!(answer.status, 426, "version {version}");
        assert_eq!(answer.header("sec-websocket-version"), Some("13"));
    }
}

#[test]
fn malformed_upgrades_are_answered_400() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let key = |value: &'static str| {
        upgrade_with(
            "Sec-WebSocket-Key",
            &[("Sec-WebSocket-Key", value)],
            &tokens,
        )
    };
    let twice = [
        ("Sec-WebSocket-Key", SAMPLE_KEY),
        ("Sec-WebSocket-Key", SAMPLE_KEY),
    ];
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("a text");
    let good = text(upgrade_request("/ws", &tokens.headers()));
    let rows = [
        ("no key", upgrade_with("Sec-WebSocket-Key", &[], &tokens)),
        ("an empty key", key("")),
        ("a key of 15 bytes", key("AAAAAAAAAAAAAAAAAAAA")),
        ("a key of 17 bytes", key("AAAAAAAAAAAAAAAAAAAAAAA=")),
        ("a key that is not base64", key("dGhlIHNhbXBsZSBub25jZ!==")),
        (
            "two keys",
            upgrade_with("Sec-WebSocket-Key", &twice, &tokens),
        ),
        (
            "another method",
            good.replacen("GET", "POST", 1).into_bytes(),
        ),
        (
            "HTTP/1.0",
            good.replacen("HTTP/1.1", "HTTP/1.0", 1).into_bytes(),
        ),
        (
            "no host",
            good.replacen("Host: localhost\r\n", "", 1).into_bytes(),
        ),
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
fn an_upgrade_without_its_version_is_refused() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let answer = answer(&node, &upgrade_with("Sec-WebSocket-Version", &[], &tokens));
    assert!([400, 426].contains(&answer.status), "{}", answer.status);
}

#[test]
fn connection_and_upgrade_are_read_as_lists_in_any_case() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let rows: [(&str, &[(&str, &str)]); 5] = [
        ("Connection", &[("Connection", "keep-alive, Upgrade")]),
        (
            "Connection",
            &[("Connection", "keep-alive"), ("Connection", "Upgrade")],
        ),
        ("Connection", &[("connection", "UPGRADE")]),
        ("Upgrade", &[("upgrade", "WebSocket")]),
        ("Upgrade", &[("Upgrade", "WEBSOCKET")]),
    ];
    for (name, lines) in rows {
        let answer = answer(&node, &upgrade_with(name, lines, &tokens));
        assert_eq!(answer.status, 101, "{lines:?}");
    }
}

#[test]
fn an_upgrade_of_another_path_finds_nothing() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    for path in ["/nowhere", "/metrics", "/ws/x"] {
        let answer = answer(&node, &upgrade_request(path, &tokens.headers()));
        assert_ne!(answer.status, 101, "{path}");
    }
}

#[test]
fn what_is_glued_to_the_handshake_is_not_lost() {
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
    assert_eq!(
        emit(&node, &tokens.api, r#"{"name":"orders","eventData":1}"#).status,
        200
    );
    let text = String::from_utf8(socket.read_frame().payload).expect("a text");
    assert!(text.contains("NOTIFICATION"), "{text}");
}

#[test]
fn a_handshake_in_pieces_is_understood() {
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
async fn nothing_behind_a_refused_upgrade_is_processed() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut witness = Client::connect(&node, &tokens).await;
    witness.subscribe(entry("orders")).await;
    let smuggled = r#"{"name":"orders","eventData":"smuggled"}"#;
    let headers = [
        ("Content-Type", "application/json"),
        ("x-am-authorization", tokens.api.as_str()),
    ];
    let mut bytes = upgrade_with("Sec-WebSocket-Key", &[], &tokens);
    bytes.extend(head(
        "POST",
        support::http::EMIT,
        &headers,
        Some(smuggled.len()),
    ));
    bytes.extend(smuggled.as_bytes());
    let mut socket = RawSocket::connect(node.address());
    socket.write(&bytes);
    assert_eq!(socket.read_answer().status, 400);
    socket.expect_end();
    emit(
        &node,
        &tokens.api,
        r#"{"name":"orders","eventData":"honest"}"#,
    );
    assert_eq!(witness.next_notification().await.1, "honest");
}
