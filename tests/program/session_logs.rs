//! The debug lines that follow one session by its id, as text and as JSON.

use crate::support::client::{Client, conditional, entry};
use crate::support::{Claims, Node, RawSocket, Tokens, eventually, request};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

const SECRET: &str = "secret-that-no-line-may-have";

/// The lines of a JSON log that name the session, in order.
fn lines_of(node: &Node, session: &str) -> Vec<Value> {
    let lines = node.log();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a JSON line"));
    lines.filter(|line| line["session"] == session).collect()
}

/// Connects. Returns the client and its session id.
async fn connect(node: &Node, tokens: &Tokens) -> (Client, String) {
    let mut client = Client::open(node, "/ws", &tokens.headers()).await;
    let connected = client.next_json().await;
    (client, connected["response"]["sessionId"].as_str().expect("a session id").to_owned())
}

/// Registers, unregisters and refreshes in one session, with success and with errors.
async fn live(client: &mut Client, tokens: &Tokens) {
    let secret = conditional("orders", json!({"field": SECRET}));
    let unsupported = json!({"eventType": "OTHER", "apiName": "invoices"});
    let (valid, _) = client.register(json!([secret, unsupported, SECRET])).await;
    client.ask(json!({"objType": "UNREGISTER", "onEvents": [valid[0], {"eventId": "77"}]})).await;
    for user in [SECRET, tokens.user.as_str()] {
        client.ask(json!({"objType": "REFRESH", "tokens": {"x-am-user-authorization": user}})).await;
    }
    client.ask(json!({"objType": SECRET})).await;
}

#[tokio::test]
async fn one_session_is_followed_by_its_id_in_a_json_log() {
    let node = Node::start(&[("LOG__FORMAT", "json"), ("LOG__LEVEL", "debug")]);
    let tokens = node.tokens();
    let (mut client, session) = connect(&node, &tokens).await;
    let (_other, _) = connect(&node, &tokens).await;
    live(&mut client, &tokens).await;
    client.write(Message::Close(None)).await;
    eventually("the line of the close", || lines_of(&node, &session).len() == 7);
    let lines = lines_of(&node, &session);
    let expected = [
        ("a session has connected", json!({"project": "demo", "application": "tests"})),
        ("REGISTER", json!({"accepted": "1:orders", "refused": "invoices:EVENT_TYPE_UNSUPPORTED,INVALID_JSON"})),
        ("UNREGISTER", json!({"removed": "1", "refused": 1})),
        ("REFRESH: a token was refused", json!({"code": "TOKEN_INVALID"})),
        ("REFRESH", json!({})),
        ("a message was refused", json!({"message_type": "UNKNOWN", "code": "UNKNOWN_MESSAGE"})),
        ("a session is closed", json!({"code": 1000, "by": "peer"})),
    ];
    for (line, (message, fields)) in lines.iter().zip(expected) {
        assert_eq!((&line["message"], &line["level"]), (&json!(message), &json!("debug")), "{line}");
        assert_eq!(line["user"], "u1", "{line}");
        for (name, value) in fields.as_object().expect("fields") {
            assert_eq!(&line[name], value, "{line}");
        }
    }
    for line in [&lines[0], &lines[3]] {
        assert!(line["address"].as_str().is_some_and(|address| address.starts_with("127.0.0.1:")), "{line}");
    }
}

#[tokio::test]
async fn one_session_is_followed_by_its_id_in_a_text_log() {
    let node = Node::start(&[("LOG__LEVEL", "debug")]);
    let tokens = node.tokens();
    let (mut client, session) = connect(&node, &tokens).await;
    live(&mut client, &tokens).await;
    drop(client);
    let field = format!(" session={session} ");
    let lines = || node.log().lines().filter(|line| line.contains(&field)).map(str::to_owned).collect::<Vec<_>>();
    eventually("the line of the close", || lines().len() == 7);
    let (lines, part) = (lines(), " user=u1 ");
    assert!(lines.iter().all(|line| line.contains(" DEBUG ") && line.contains(part)), "{lines:#?}");
    assert!(lines[1].contains("] REGISTER ") && lines[1].contains(" accepted=1:orders "), "{lines:#?}");
    assert!(lines[6].contains(" code=1006 ") && lines[6].contains(" by=peer"), "{lines:#?}");
}

#[tokio::test]
async fn no_line_has_a_token_a_condition_or_event_data() {
    let node = Node::start(&[("LOG__LEVEL", "trace")]);
    let tokens = Tokens { api: node.token(Claims::api("connect emit")), ..node.tokens() };
    let (mut client, session) = connect(&node, &tokens).await;
    live(&mut client, &tokens).await;
    client.subscribe(entry("orders")).await;
    crate::support::emit(&node, &tokens.api, &json!({"name": "orders", "eventData": SECRET}).to_string());
    client.next_notification().await;
    let refused = Tokens { api: SECRET.to_owned(), ..tokens.clone() };
    Client::open(&node, "/ws", &refused.headers()).await.expect_close(4401).await;
    client.write(Message::Close(None)).await;
    eventually("the line of the close", || node.log().contains("a session is closed"));
    let log = node.log();
    assert!(log.contains(&session));
    for secret in [SECRET, &tokens.api, &tokens.user] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
}

#[tokio::test]
async fn a_refused_handshake_is_logged_with_its_code_and_its_address() {
    let node = Node::start(&[("LOG__FORMAT", "json"), ("LOG__LEVEL", "debug"), ("LIMITS__SESSIONS_PER_USER", "1")]);
    let tokens = node.tokens();
    let expired = Tokens { user: node.token(Claims::user("u1").expiring_in(-60)), ..tokens.clone() };
    Client::open(&node, "/ws", &expired.headers()).await.expect_close(4401).await;
    let (_first, _) = connect(&node, &tokens).await;
    assert!(Client::try_open(&node, "/ws", &tokens.headers()).await.is_err(), "a second session of the user");
    let line = |message: &str| {
        let log = node.log();
        let mut lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("a JSON line"));
        lines.find(|line| line["message"] == message).unwrap_or_else(|| panic!("no such line in {log}"))
    };
    let token = line("a token was refused at the handshake");
    assert_eq!((&token["code"], &token["token"]), (&json!("TOKEN_EXPIRED"), &json!("user")), "{token}");
    let upgrade = line("an upgrade was refused");
    assert_eq!((&upgrade["code"], &upgrade["status"]), (&json!("RATE_LIMITED"), &json!(429)), "{upgrade}");
    for line in [token, upgrade] {
        assert!(line["address"].as_str().is_some_and(|address| address.starts_with("127.0.0.1:")), "{line}");
    }
}

#[tokio::test]
async fn the_log_line_of_a_close_names_the_side_that_closed() {
    let settings = [
        ("LOG__FORMAT", "json"),
        ("LOG__LEVEL", "debug"),
        ("LIMITS__MESSAGES_PER_SECOND", "5"),
        ("SESSION__CLOSE_SECONDS", "1"),
    ];
    let node = Node::start(&settings);
    let tokens = node.tokens();
    let (mut flooding, flooding_id) = connect(&node, &tokens).await;
    for _ in 0..20 {
        flooding.send("{}").await;
    }
    let (mut binary, binary_id) = connect(&node, &tokens).await;
    binary.write(Message::binary(vec![1])).await;
    let short = Tokens { user: node.token(Claims::user("u1").expiring_in(2)), ..tokens.clone() };
    let (mut expiring, expiring_id) = connect(&node, &short).await;
    expiring.expect_close(4401).await;
    let (mut stopped, stopped_id) = connect(&node, &tokens).await;
    node.signal(Signal::TERM);
    stopped.expect_close(1001).await;
    let rows = [
        (flooding_id, 4429, "limit", "messages_per_second"),
        (binary_id, 1003, "protocol error", ""),
        (expiring_id, 4401, "token expiry", ""),
        (stopped_id, 1001, "node stop", ""),
    ];
    for (session, code, by, detail) in rows {
        let close = || lines_of(&node, &session).into_iter().find(|line| line["message"] == "a session is closed");
        eventually("the line of the close", || close().is_some());
        let line = close().expect("awaited above");
        assert_eq!((&line["code"], &line["by"], &line["detail"]), (&json!(code), &json!(by), &json!(detail)), "{line}");
    }
}

#[test]
fn long_text_from_outside_is_shortened_in_a_line() {
    let node = Node::start(&[("LOG__LEVEL", "debug")]);
    let subject = "s".repeat(256);
    let tokens = Tokens { user: node.token(Claims::user(&subject)), ..node.tokens() };
    let mut socket = RawSocket::upgrade(&node, &tokens);
    let entries: Vec<Value> = (0..30).map(|number| entry(&format!("{number:0>200}"))).collect();
    socket.write_frame(0x81, json!({"objType": "REGISTER", "onEvents": entries}).to_string().as_bytes());
    socket.read_frame();
    assert_eq!(request(node.address(), "GET", "/healthz", &[], b"").status, 200);
    eventually("the line of the REGISTER", || node.log().contains("] REGISTER "));
    let log = node.log();
    let line = log.lines().find(|line| line.contains("] REGISTER ")).expect("awaited above");
    assert!(line.len() < 3_000 && line.contains("10 more"), "{} bytes: {line}", line.len());
    assert!(!log.contains(&subject));
}
