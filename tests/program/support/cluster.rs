//! Several nodes on one Redis, with clients and publishers that record their messages and answers.

use super::client::{Client, entry};
use super::delivery_check::{Accepted, Message, Received};
use super::http::emit_at;
use super::{Node, RedisServer, emit, eventually, request};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The event that publishers emit.
pub const EVENT: &str = "load";

/// Starts `count` nodes on one Redis. Each has its own data directory, with the same keys.
pub fn nodes(redis: &RedisServer, count: usize, settings: &[(&str, &str)]) -> Vec<Node> {
    let url = redis.url();
    let prefix = ("BUS__REDIS__PREFIX", redis.prefix());
    let mut all = vec![("BUS__KIND", "redis"), ("BUS__REDIS__URL", url.as_str()), prefix];
    all.extend_from_slice(settings);
    let first = Node::start(&all);
    let others = (1..count).map(|_| {
        let directory = tempfile::tempdir().expect("a directory for the node's data");
        let copy = directory.path().join("carillon.sqlite3");
        let catalogue =
            Connection::open(first.directory().join("carillon.sqlite3")).expect("the first node's catalogue");
        catalogue.execute("VACUUM INTO ?1", [copy.to_str()]).expect("a copy of the catalogue");
        Node::start_in(directory, &all)
    });
    let others: Vec<Node> = others.collect();
    let nodes: Vec<Node> = std::iter::once(first).chain(others).collect();
    nodes.iter().for_each(await_ready);
    nodes
}

/// Whether `/readyz` reports the node as ready.
pub fn is_ready(node: &Node) -> bool {
    request(node.address(), "GET", "/readyz", &[], b"").status == 200
}

/// Waits until a node is ready.
pub fn await_ready(node: &Node) {
    eventually("a ready node", || is_ready(node));
}

/// A client that subscribes to [`EVENT`] and records its messages until the end event.
pub struct Listener(tokio::task::JoinHandle<Vec<Received>>);

impl Listener {
    /// Subscribes, and starts to record.
    pub async fn start(node: &Node) -> Listener {
        let mut client = Client::of(node).await;
        let (valid, invalid) = client.register(json!([entry(EVENT)])).await;
        assert_eq!((valid.len(), invalid.len()), (1, 0), "{invalid:?}");
        Listener(tokio::spawn(async move {
            let mut received = Vec::new();
            loop {
                let message = client.next_json_within(Duration::from_secs(60)).await;
                let at = Instant::now();
                let response = &message["response"];
                let data = &response["eventData"];
                let content = match message["type"].as_str() {
                    Some("GAP") => Message::Gap { reason: response["reason"].as_str().unwrap_or_default().to_owned() },
                    _ if data["end"] == true => return received,
                    _ => Message::Notification {
                        publisher: data["p"].as_u64().unwrap_or(u64::MAX),
                        number: data["n"].as_u64().unwrap_or(u64::MAX),
                    },
                };
                received.push(Received { at, message: content });
            }
        }))
    }

    /// The messages up to the end event. `node` emits the end until it arrives: like any emit, it is refused while the
    /// bus is down, and dropped while the queue of the listener's node is full.
    pub async fn received(mut self, node: &Node) -> Vec<Received> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            emit_end(node);
            match tokio::time::timeout(Duration::from_millis(200), &mut self.0).await {
                Ok(received) => return received.expect("a listener does not fail"),
                Err(_) => assert!(Instant::now() < deadline, "the end event does not arrive"),
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A backend that emits batches at a fixed rate, whether they are accepted or not.
pub struct Publisher {
    is_ended: Arc<AtomicBool>,
    thread: JoinHandle<Accepted>,
}

impl Publisher {
    /// Emits `batch` events every `pause`, until [`Publisher::end`].
    pub fn start(node: &Node, publisher: u64, batch: u64, pause: Duration) -> Publisher {
        let (address, token) = (node.address(), node.tokens().api);
        let is_ended = Arc::new(AtomicBool::new(false));
        let ended = is_ended.clone();
        let thread = std::thread::spawn(move || {
            let (mut accepted, mut number, start) = (Accepted::new(), 0, Instant::now());
            for round in 1.. {
                if ended.load(SeqCst) {
                    break;
                }
                let before = Instant::now();
                for n in accepted_of(address, &token, publisher, number, batch) {
                    accepted.push((publisher, n, before));
                }
                number += batch;
                std::thread::sleep((start + pause * round).saturating_duration_since(Instant::now()));
            }
            accepted
        });
        Publisher { is_ended, thread }
    }

    /// Stops the publisher. Returns the accepted emits.
    pub fn end(self) -> Accepted {
        self.is_ended.store(true, SeqCst);
        self.thread.join().expect("a publisher does not fail")
    }
}

fn accepted_of(address: SocketAddr, token: &str, publisher: u64, from: u64, batch: u64) -> Vec<u64> {
    let items = (from..from + batch).map(|n| json!({"name": EVENT, "eventData": {"p": publisher, "n": n}}));
    let body = Value::from_iter(items).to_string();
    let answers = emit_at(address, "demo", token, &body).json();
    let answers = answers.as_array().expect("an answer for each emit");
    let good = answers.iter().zip(from..).filter(|(answer, _)| answer["statusCode"] == 200);
    good.map(|(_, number)| number).collect()
}

/// Emits the end event until it is accepted.
fn emit_end(node: &Node) {
    let token = node.tokens().api;
    let body = json!({"name": EVENT, "eventData": {"end": true}}).to_string();
    eventually("an accepted end event", || emit(node, &token, &body).status == 200);
}
