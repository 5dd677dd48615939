//! HTTP clients that pipeline requests and do not read the answers.

use crate::support::http::{EMIT, emit_request, head};
use crate::support::{DEADLINE, Node, RawSocket, eventually};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The bytes that one attacking client sends.
const PIPELINED_BYTES: usize = 400_000;

const PEERS: usize = 5;

fn pipelined(request: &[u8]) -> Vec<u8> {
    request.repeat(PIPELINED_BYTES / request.len())
}

/// Connects, and sends as much of `bytes` as the node accepts.
fn flood(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect_timeout(&address, DEADLINE).expect("the node listens");
    stream.set_nonblocking(true).expect("a socket");
    let mut sent = 0;
    while sent < bytes.len() {
        match stream.write(&bytes[sent..]) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("could not write: {error}"),
        }
    }
    stream
}

/// The cheapest requests for an attacker, and emits, whose handlers wait.
fn attacks(node: &Node) -> [Vec<u8>; 4] {
    let tokens = node.tokens();
    let emit = emit_request(&tokens.api, r#"{"name":"orders","eventData":1}"#);
    [head("GET", "/try", &[], None), head("GET", "/metrics", &[], None), head("GET", "/", &[], None), emit]
}

#[test]
fn a_peer_that_pipelines_and_does_not_read_costs_neither_processor_time_nor_memory() {
    let node = Node::start(&[]);
    for attack in attacks(&node) {
        let flood_bytes = pipelined(&attack);
        let before = node.resident_bytes();
        let peers: Vec<TcpStream> = (0..PEERS).map(|_| flood(node.address(), &flood_bytes)).collect();
        // The kernel buffers accept the first answers. This work ends soon.
        let mut quiet = (node.processor_time(), Instant::now());
        eventually("a node with nothing to do", || {
            let now = node.processor_time();
            if now != quiet.0 {
                quiet = (now, Instant::now());
            }
            quiet.1.elapsed() > Duration::from_millis(300)
        });
        let (started_at, used) = (Instant::now(), node.processor_time());
        eventually("three seconds", || started_at.elapsed() > Duration::from_secs(3));
        let used = node.processor_time() - used;
        assert!(used < Duration::from_secs(1), "{used:?} for {}", String::from_utf8_lossy(&attack));
        let grown = node.resident_bytes().saturating_sub(before);
        assert!(grown < 16 << 20, "{grown} bytes for {}", String::from_utf8_lossy(&attack));
        drop(peers);
    }
}

#[test]
fn a_peer_that_does_not_read_its_answers_is_closed_after_the_timeout_and_counted() {
    let node = Node::start(&[("HTTP__WRITE_TIMEOUT_SECONDS", "1")]);
    let mut peer = flood(node.address(), &pipelined(&head("GET", "/try", &[], None)));
    eventually("the timeout counted", || node.limit_count("http.write_timeout_seconds") == 1.0);
    peer.set_nonblocking(false).expect("a socket");
    peer.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    let end = std::io::copy(&mut peer, &mut std::io::sink()).map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_slow_reader_of_long_answers_that_makes_progress_is_not_closed() {
    let node = Node::start(&[("HTTP__WRITE_TIMEOUT_SECONDS", "1")]);
    let request = head("GET", "/try", &[], None);
    let requests = PIPELINED_BYTES / request.len();
    let mut peer = flood(node.address(), &request.repeat(requests));
    peer.set_nonblocking(false).expect("a socket");
    peer.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    let started_at = Instant::now();
    let mut part = vec![0; 64 * 1024];
    let mut next_read = started_at;
    // For the length of three timeouts, the peer reads a part ten times per second.
    while started_at.elapsed() < Duration::from_secs(3) {
        eventually("the time of the next read", || Instant::now() >= next_read);
        assert_ne!(peer.read(&mut part).expect("an open connection"), 0);
        next_read += Duration::from_millis(100);
    }
    assert_eq!(node.limit_count("http.write_timeout_seconds"), 0.0);
}

#[test]
fn pipelined_requests_are_answered_in_order_and_none_is_lost() {
    let node = Node::start(&[]);
    let [page, _, product, emit] = attacks(&node);
    let mut peer = RawSocket::connect(node.address());
    let chunked = emit_in_chunks(&node);
    let round = [page.as_slice(), &product, &emit, &chunked, &head("GET", "/nowhere", &[], None)].concat();
    for cut in [1, 7, 64, round.len()] {
        let requests = round.repeat(3);
        for piece in requests.chunks(cut) {
            peer.write(piece);
        }
        for _ in 0..3 {
            let statuses = [(); 5].map(|()| peer.read_answer().status);
            assert_eq!(statuses, [200, 200, 200, 200, 404], "in pieces of {cut}");
        }
    }
}

fn emit_in_chunks(node: &Node) -> Vec<u8> {
    let tokens = node.tokens();
    let headers = [
        ("Content-Type", "application/json"),
        ("x-am-authorization", tokens.api.as_str()),
        ("Transfer-Encoding", "chunked"),
    ];
    let body = "15\r\n{\"name\":\"orders\",\r\n\r\n\r\ne\r\n\"eventData\":1}\r\n0\r\n\r\n";
    [head("POST", EMIT, &headers, None), body.as_bytes().to_vec()].concat()
}

#[test]
fn a_header_line_that_ends_with_only_a_line_feed_is_refused() {
    let node = Node::start(&[]);
    let good = String::from_utf8(head("GET", "/", &[("Accept", "*/*")], None)).expect("text");
    let lines = good.matches("\r\n").count();
    for line in 0..lines {
        let mut parts: Vec<String> = good.split_inclusive("\r\n").map(str::to_owned).collect();
        parts[line] = parts[line].replace("\r\n", "\n");
        let mut peer = RawSocket::connect(node.address());
        peer.write(good.as_bytes());
        assert_eq!(peer.read_answer().status, 200);
        peer.write(parts.concat().as_bytes());
        assert_eq!(peer.read_answer().refusal(400), "UNKNOWN_MESSAGE", "line {line}");
        peer.expect_end();
    }
}
