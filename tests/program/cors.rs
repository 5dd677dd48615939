//! Pages of other origins that call the HTTP API.

use crate::support::http::{EMIT, json_headers};
use crate::support::{Answer, Claims, Node, request};
use serde_json::json;

const PAGE: &str = "https://app.example.com";
const SETTING: &str = "HTTP__CORS_ORIGINS";

fn preflight(node: &Node, path: &str, origin: &str) -> Answer {
    let headers = [
        ("Origin", origin),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type,x-am-authorization,authorization"),
    ];
    request(node.address(), "OPTIONS", path, &headers, b"")
}

fn emit_from(node: &Node, origin: &str, token: &str) -> Answer {
    let headers = [("Origin", origin), ("Content-Type", "application/json"), ("x-am-authorization", token)];
    request(node.address(), "POST", EMIT, &headers, br#"{"name":"orders","eventData":1}"#)
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.header("Access-Control-Allow-Origin")
}

#[test]
fn without_the_setting_no_page_of_another_origin_may_call() {
    let node = Node::start(&[]);
    let answer = preflight(&node, EMIT, PAGE);
    assert_eq!((answer.status, allowed(&answer)), (405, None));
    let answer = emit_from(&node, PAGE, &node.tokens().api);
    assert_eq!((answer.status, allowed(&answer)), (200, None));
}

#[test]
fn pages_of_the_listed_origins_may_call_and_read_refusals_too() {
    let node = Node::start(&[(SETTING, PAGE)]);
    for path in [EMIT, "/v1/projects/demo/events", "/v1/projects/demo/disconnect-user"] {
        let answer = preflight(&node, path, PAGE);
        assert_eq!((answer.status, allowed(&answer)), (200, Some(PAGE)), "{path}");
        assert!(answer.header("Access-Control-Allow-Methods").is_some_and(|methods| methods.contains("POST")));
        let headers = answer.header("Access-Control-Allow-Headers").unwrap_or_default().to_ascii_lowercase();
        assert!(["authorization", "content-type", "x-am-authorization"].iter().all(|name| headers.contains(name)));
    }
    for (token, status) in [(node.tokens().api.as_str(), 200), ("no.such.token", 401)] {
        let answer = emit_from(&node, PAGE, token);
        assert_eq!((answer.status, allowed(&answer)), (status, Some(PAGE)));
        assert!(answer.header("Vary").is_some_and(|vary| vary.to_ascii_lowercase().contains("origin")));
    }
    for origin in ["https://other.example.com", "http://app.example.com", "null"] {
        assert_eq!(allowed(&preflight(&node, EMIT, origin)), None, "{origin}");
        assert_eq!(allowed(&emit_from(&node, origin, &node.tokens().api)), None, "{origin}");
    }
    assert_eq!(allowed(&preflight(&node, "/metrics", PAGE)), None);
}

#[test]
fn a_refused_preflight_request_is_answered_in_the_shape_of_all_errors() {
    let node = Node::start(&[(SETTING, PAGE)]);
    let refused = |headers: &[(&str, &str)]| request(node.address(), "OPTIONS", EMIT, headers, b"");
    let (origin, method) = (("Origin", PAGE), ("Access-Control-Request-Method", "POST"));
    let cases = [
        (vec![("Origin", "https://other.example.com"), method], "http.cors_origins"),
        (vec![origin, ("Access-Control-Request-Method", "DELETE")], "GET and POST"),
        (vec![origin, method, ("Access-Control-Request-Headers", "x-other")], "Content-Type"),
    ];
    for (headers, remedy) in cases {
        let answer = refused(&headers);
        assert_eq!((answer.refusal(403).as_str(), allowed(&answer)), ("ACCESS_DENIED", None), "{headers:?}");
        assert!(answer.text().contains(remedy), "{}", answer.text());
    }
    assert_eq!(refused(&[method]).refusal(400), "UNKNOWN_MESSAGE");
}

#[test]
fn an_asterisk_lets_pages_of_any_origin_call() {
    let node = Node::start(&[(SETTING, "*")]);
    assert_eq!(allowed(&preflight(&node, EMIT, PAGE)), Some("*"));
    assert_eq!(allowed(&emit_from(&node, PAGE, &node.tokens().api)), Some("*"));
}

#[test]
fn the_v1_paths_answer_like_the_paths_of_api_maker() {
    let node = Node::start(&[]);
    let token = node.token(Claims::api("emit admin"));
    let call = |method: &str, path: &str, body: serde_json::Value| {
        let headers = json_headers(&token);
        let path = format!("/v1/projects/demo/{path}");
        request(node.address(), method, &path, &headers, body.to_string().as_bytes())
    };
    assert_eq!(call("POST", "events", json!({"name": "orders", "eventData": 1})).status, 200);
    assert_eq!(call("POST", "disconnect-user", json!({"user": "u1"})).status, 200);
    let keys = call("GET", "keys", json!(null)).json();
    assert_eq!(keys["success"], true, "{keys}");
    assert_eq!(call("POST", "revoke-key", json!({"id": "no-such-key"})).refusal(404), "UNKNOWN_MESSAGE");
    assert_eq!(call("GET", "events", json!(null)).status, 405);
}
