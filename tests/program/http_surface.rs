//! The HTTP surface: headers of every answer, refusals before a body is sent, the ways to send a token.

use crate::support::http::{EMIT, head, json_headers};
use crate::support::raw::{answer_to, upgrade_with};
use crate::support::{Answer, Node, RawSocket, emit, request};

const BODY: &[u8] = br#"{"name":"orders","eventData":1}"#;

/// Announces a body with `Expect: 100-continue`, and reads the answer.
fn expecting(node: &Node, path: &str, headers: &[(&str, &str)], length: usize) -> (RawSocket, Answer) {
    let mut headers = headers.to_vec();
    headers.push(("Expect", "100-continue"));
    let mut socket = RawSocket::connect(node.address());
    socket.write(&head("POST", path, &headers, Some(length)));
    let answer = socket.read_answer();
    (socket, answer)
}

#[test]
fn a_refused_request_gets_no_100_continue() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let json = ("Content-Type", "application/json");
    let token = ("x-am-authorization", tokens.api.as_str());
    let refused = |path: &str, headers: &[(&str, &str)], length| expecting(&node, path, headers, length).1;
    assert_eq!(refused(EMIT, &[json], BODY.len()).refusal(401), "TOKEN_MISSING");
    assert_eq!(refused(EMIT, &[json, ("x-am-authorization", "no.such.token")], 30).refusal(401), "TOKEN_INVALID");
    assert_eq!(refused("/nowhere", &[json, token], BODY.len()).refusal(404), "UNKNOWN_MESSAGE");
    assert_eq!(refused("/healthz", &[json, token], BODY.len()).refusal(405), "UNKNOWN_MESSAGE");
    assert_eq!(refused(EMIT, &[json, token], 10_000_000).refusal(413), "PAYLOAD_TOO_LARGE");
    assert_eq!(refused(EMIT, &[token], BODY.len()).refusal(415), "UNSUPPORTED_MEDIA_TYPE");
}

#[test]
fn an_accepted_request_gets_100_continue_once() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let headers = json_headers(&tokens.api);
    // The first call reads the project from the catalogue, the second finds it in memory.
    for _ in 0..2 {
        let (mut socket, answer) = expecting(&node, EMIT, &headers, BODY.len());
        assert_eq!(answer.status, 100);
        socket.write(BODY);
        assert_eq!(socket.read_answer().status, 200);
        socket.write(&head("GET", "/healthz", &[], None));
        assert_eq!(socket.read_answer().status, 200);
    }
}

#[test]
fn a_byte_order_mark_before_the_body_is_named_in_the_error() {
    let node = Node::start(&[]);
    let answer = emit(&node, &node.tokens().api, "\u{feff}{\"name\":\"orders\",\"eventData\":1}");
    assert_eq!(answer.refusal(400), "INVALID_JSON");
    assert!(answer.text().contains("byte order mark"), "{}", answer.text());
}

#[test]
fn a_browser_gets_a_page_that_links_to_the_try_page_and_other_clients_get_json() {
    let node = Node::start(&[]);
    let root = |accept: &str| request(node.address(), "GET", "/", &[("Accept", accept)], b"");
    let page = root("text/html,application/xhtml+xml,*/*;q=0.8");
    assert_eq!((page.status, page.header("Content-Type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.text().contains(r#"<a href="/try">"#) && page.text().contains("docs"), "{}", page.text());
    for accept in ["*/*", "application/json"] {
        let product = root(accept).json();
        assert_eq!((&product["name"], &product["tryPage"]), (&"Carillon".into(), &"/try".into()), "{accept}");
    }
    assert_eq!(request(node.address(), "GET", "/try", &[], b"").status, 200);
}

#[test]
fn a_node_without_the_try_page_has_no_link_to_it_and_no_file_of_it() {
    let node = Node::start(&[("HTTP__TRY_PAGE", "false")]);
    let get = |path: &str, accept: &str| request(node.address(), "GET", path, &[("Accept", accept)], b"");
    for path in ["/try", "/try.css", "/try.js", "/try/client.js"] {
        assert_eq!(get(path, "*/*").refusal(404), "UNKNOWN_MESSAGE", "{path}");
    }
    for accept in ["text/html", "application/json"] {
        let root = get("/", accept);
        assert!(root.status == 200 && !root.text().contains("try"), "{}", root.text());
    }
    assert!(get("/", "text/html").text().contains("/readyz"));
}

#[test]
fn every_answer_has_nosniff() {
    let node = Node::start(&[]);
    let bytes = ["/", "/metrics", "/healthz", "/readyz", "/try", "/try.js", "/ws", "/nowhere", EMIT]
        .map(|path| head("GET", path, &[], None));
    let others = [upgrade_with("Connection", &[], &node.tokens()), b"no request\r\n\r\n".to_vec()];
    for bytes in bytes.into_iter().chain(others) {
        let answer = answer_to(&node, &bytes);
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn bytes_that_are_not_a_request_are_refused_with_the_common_error_shape() {
    let node = Node::start(&[]);
    let long = [b"GET / HTTP/1.1\r\nHost: a\r\nx: ".to_vec(), vec![b'x'; 200_000]].concat();
    for (bytes, status) in
        [(b"no request\r\n\r\n".to_vec(), 400), (b"GET / HTTP/1.1\r\n: x\r\n\r\n".to_vec(), 400), (long, 431)]
    {
        // A valid request comes before it, and is answered as usual.
        let mut socket = RawSocket::connect(node.address());
        socket.write(&[head("GET", "/healthz", &[], None), bytes].concat());
        assert_eq!(socket.read_answer().status, 200);
        assert_eq!(socket.read_answer().refusal(status), "UNKNOWN_MESSAGE");
        socket.expect_end();
    }
}

#[test]
fn a_head_that_does_not_come_in_time_is_refused_in_our_shape() {
    let node = Node::start(&[]);
    let mut socket = RawSocket::connect(node.address());
    socket.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\n");
    assert_eq!(socket.read_answer().refusal(408), "UNKNOWN_MESSAGE");
    socket.expect_end();
}

#[test]
fn a_body_that_does_not_come_in_time_is_refused_in_our_shape() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let headers = json_headers(&tokens.api);
    let mut socket = RawSocket::connect(node.address());
    socket.write(&head("POST", EMIT, &headers, Some(BODY.len())));
    socket.write(&BODY[..BODY.len() - 1]);
    assert_eq!(socket.read_answer().refusal(408), "INVALID_JSON");
}

#[test]
fn an_api_token_may_be_sent_as_a_bearer_token() {
    let node = Node::start(&[]);
    let api = node.tokens().api;
    let call = |name: &str, value: &str| {
        request(node.address(), "POST", EMIT, &[("Content-Type", "application/json"), (name, value)], BODY)
    };
    assert_eq!(call("Authorization", &format!("Bearer {api}")).status, 200);
    assert_eq!(call("authorization", &format!("bearer {api}")).status, 200);
    assert_eq!(call("Authorization", "Bearer no.such.token").refusal(401), "TOKEN_INVALID");
    assert_eq!(call("Authorization", &format!("Basic {api}")).refusal(401), "TOKEN_MISSING");
    let prefixed = call("x-am-authorization", &format!("Bearer {api}"));
    assert_eq!(prefixed.refusal(401), "TOKEN_INVALID");
    assert!(prefixed.text().contains("remove `Bearer `"), "{}", prefixed.text());
}
