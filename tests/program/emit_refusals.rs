//! The answers to refused emits: every row of the documented table, in the common shape of errors.

use crate::support::http::{EMIT, head, json_headers};
use crate::support::{Answer, Claims, Node, RawSocket, emit, request};
use serde_json::json;

const BODY: &[u8] = br#"{"name":"orders","eventData":1}"#;

/// Posts a valid body with only these header lines.
fn post(node: &Node, path: &str, headers: &[(&str, &str)]) -> Answer {
    request(node.address(), "POST", path, headers, BODY)
}

#[test]
fn bad_bodies_are_answered_400() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let long = "n".repeat(201);
    let rows = [
        ("", "INVALID_JSON"),
        ("{", "INVALID_JSON"),
        ("nope", "INVALID_JSON"),
        (r#"{"name":"orders","eventData":1} x"#, "INVALID_JSON"),
        (r#"{"name":"orders","eventData":01}"#, "INVALID_JSON"),
        (r#"{"name":"orders","eventData":NaN}"#, "INVALID_JSON"),
        ("5", "INVALID_JSON"),
        ("null", "INVALID_JSON"),
        (r#""orders""#, "INVALID_JSON"),
        ("[]", "INVALID_JSON"),
        (r#"{"name":"orders"}"#, "INVALID_JSON"),
        (r#"{"name":"orders","eventData":1,"idempotencyKey":5}"#, "INVALID_JSON"),
        (r#"{"eventData":1}"#, "EVENT_NAME_INVALID"),
        (r#"{"name":"","eventData":1}"#, "EVENT_NAME_INVALID"),
        (r#"{"name":5,"eventData":1}"#, "EVENT_NAME_INVALID"),
        (r#"{"name":null,"eventData":1}"#, "EVENT_NAME_INVALID"),
        (r#"{"name":"a\u0000b","eventData":1}"#, "EVENT_NAME_INVALID"),
        (r#"{"name":"a\nb","eventData":1}"#, "EVENT_NAME_INVALID"),
        (&format!(r#"{{"name":"{long}","eventData":1}}"#), "EVENT_NAME_INVALID"),
    ];
    for (body, code) in rows {
        assert_eq!(emit(&node, &tokens.api, body).refusal(400), code, "{body}");
    }
}

#[test]
fn a_body_that_is_not_utf8_is_answered_400() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let headers = json_headers(&tokens.api);
    let body = b"{\"name\":\"orders\",\"eventData\":\"\xff\"}";
    let answer = request(node.address(), "POST", EMIT, &headers, body);
    assert_eq!(answer.refusal(400), "INVALID_JSON");
}

#[test]
fn bad_tokens_are_answered_401() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let rows = [
        ("missing", None, "TOKEN_MISSING"),
        ("malformed", Some("nope".to_owned()), "TOKEN_INVALID"),
        ("signed with an unknown key", Some(Claims::api("emit").sign_wrongly()), "TOKEN_INVALID"),
        ("expired", Some(node.token(Claims::api("emit").expiring_in(-60))), "TOKEN_EXPIRED"),
        ("a user's", Some(tokens.user.clone()), "TOKEN_INVALID"),
    ];
    for (what, token, code) in rows {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(token.as_deref().map(|token| ("x-am-authorization", token)));
        assert_eq!(post(&node, EMIT, &headers).refusal(401), code, "{what}");
    }
}

#[test]
fn a_bad_user_token_beside_a_good_api_token_is_answered_401() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let expired = node.token(Claims::user("u1").expiring_in(-60));
    for (user, code) in [("nope", "TOKEN_INVALID"), (expired.as_str(), "TOKEN_EXPIRED")] {
        let headers = [
            ("Content-Type", "application/json"),
            ("x-am-authorization", tokens.api.as_str()),
            ("x-am-user-authorization", user),
        ];
        assert_eq!(post(&node, EMIT, &headers).refusal(401), code);
    }
}

#[test]
fn a_missing_scope_and_another_projects_path_are_answered_403() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let connect_only = node.token(Claims::api("connect"));
    let scopeless = node.token(Claims::api("").with("scope", json!([])));
    let other = "/api/system-api/other/emit-event-ws";
    let rows = [
        (EMIT, &connect_only, "TOKEN_SCOPE"),
        (EMIT, &scopeless, "TOKEN_SCOPE"),
        (other, &tokens.api, "PROJECT_MISMATCH"),
    ];
    for (path, token, code) in rows {
        let headers = json_headers(token);
        assert_eq!(post(&node, path, &headers).refusal(403), code);
    }
}

#[test]
fn a_body_that_is_not_declared_as_json_is_answered_415() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    for kind in [None, Some("text/plain"), Some("application/jsonx"), Some("multipart/form-data"), Some("")] {
        let mut headers = vec![("x-am-authorization", tokens.api.as_str())];
        headers.extend(kind.map(|kind| ("Content-Type", kind)));
        assert_eq!(post(&node, EMIT, &headers).refusal(415), "UNSUPPORTED_MEDIA_TYPE", "{kind:?}");
    }
}

#[test]
fn a_content_length_with_a_transfer_encoding_is_answered_400_and_nothing_after_it_is_read() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let headers = [
        ("Content-Type", "application/json"),
        ("x-am-authorization", tokens.api.as_str()),
        ("Transfer-Encoding", "chunked"),
    ];
    let mut bytes = head("POST", EMIT, &headers, Some(5));
    bytes.extend(b"0\r\n\r\n");
    bytes.extend(head("GET", "/healthz", &[], None));
    let mut socket = RawSocket::connect(node.address());
    socket.write(&bytes);
    assert_eq!(socket.read_answer().status, 400);
    socket.expect_end();
}

#[test]
fn a_chunked_body_is_accepted_and_limited_by_its_total_length() {
    let node = Node::start(&[("LIMITS__EMIT_BYTES", "1024")]);
    let tokens = node.tokens();
    let headers = [
        ("Content-Type", "application/json"),
        ("x-am-authorization", tokens.api.as_str()),
        ("Transfer-Encoding", "chunked"),
    ];
    for (filling, status) in [(900, 200), (2_000, 413)] {
        let body = json!({"name": "orders", "eventData": "x".repeat(filling)}).to_string();
        let mut bytes = head("POST", EMIT, &headers, None);
        for chunk in body.as_bytes().chunks(100) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        let mut socket = RawSocket::connect(node.address());
        socket.write(&bytes);
        assert_eq!(socket.read_answer().status, status, "{filling}");
    }
}

#[test]
fn an_announced_length_over_the_limit_is_refused_without_its_body() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let headers = json_headers(&tokens.api);
    let mut socket = RawSocket::connect(node.address());
    socket.write(&head("POST", EMIT, &headers, Some(1 << 40)));
    assert_eq!(socket.read_answer().refusal(413), "PAYLOAD_TOO_LARGE");
}

#[test]
fn a_body_far_over_the_limit_is_refused_with_an_answer_and_not_with_a_reset() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let headers = json_headers(&tokens.api);
    let body = vec![b' '; 4 << 20];
    for _ in 0..5 {
        let mut socket = RawSocket::connect(node.address());
        socket.write(&head("POST", EMIT, &headers, Some(body.len())));
        socket.write(&body);
        assert_eq!(socket.read_answer().refusal(413), "PAYLOAD_TOO_LARGE");
    }
}

#[test]
fn a_path_that_answers_get_answers_head() {
    let node = Node::start(&[]);
    let mut socket = RawSocket::connect(node.address());
    socket.write(&head("HEAD", "/readyz", &[("Connection", "close")], None));
    let answer = socket.read_to_end();
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn other_methods_and_paths_are_answered_in_the_same_shape() {
    let node = Node::start(&[]);
    let wrong_method = request(node.address(), "GET", EMIT, &[], b"");
    wrong_method.refusal(405);
    assert_eq!(wrong_method.header("allow"), Some("POST"));
    let nowhere = request(node.address(), "POST", "/api/nowhere", &[], b"{}");
    nowhere.refusal(404);
}

#[test]
fn a_refusal_never_repeats_a_token() {
    let node = Node::start(&[]);
    let bad = Claims::api("emit").sign_wrongly();
    let answer = emit(&node, &bad, r#"{"name":"orders","eventData":"secret-data"}"#);
    assert!(!answer.text().contains(&bad));
    let signature = bad.rsplit('.').next().expect("a signature");
    assert!(!node.output().contains(signature), "a token was logged");
    assert!(!node.output().contains("secret-data"), "event data was logged");
}
