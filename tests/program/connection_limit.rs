//! HTTP connections over the limit of the node.

use crate::support::http::{emit_request, head};
use crate::support::raw::{answer_to, upgrade_request};
use crate::support::{Node, RawSocket, eventually};

/// A sixteenth of the 400 open files is reserved for HTTP.
const OPEN_FILES: u32 = 400;
const RESERVED: usize = 25;

#[test]
fn connections_past_the_limit_are_answered_503_while_health_checks_and_upgrades_still_work() {
    let node = Node::start_with_open_files(OPEN_FILES);
    let tokens = node.tokens();
    let emit = emit_request(&tokens.api, r#"{"name":"orders","eventData":1}"#);
    let mut connected: Vec<RawSocket> = (0..RESERVED).map(|_| RawSocket::connect(node.address())).collect();
    for socket in &mut connected {
        socket.write(&emit);
        assert_eq!(socket.read_answer().status, 200);
    }
    let mut late = RawSocket::connect(node.address());
    late.write(&emit);
    let refused = late.read_answer();
    assert_eq!(refused.refusal(503), "TEMPORARILY_UNAVAILABLE");
    assert!(refused.header("retry-after").is_some());
    late.expect_end();
    assert_eq!(answer_to(&node, &head("GET", "/readyz", &[], None)).status, 200);
    assert_eq!(answer_to(&node, &upgrade_request("/ws", &tokens.headers())).status, 101);
    assert_eq!(node.limit_count("http_connections"), 1.0);
    drop(connected);
    eventually("answered again", || answer_to(&node, &emit).status == 200);
}
