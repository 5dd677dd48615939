//! The answer to an emit whose publish is interrupted. The connection to Redis breaks at each step of the publish. A
//! client of another node, whose connection does not break, shows what was published.
//!
//! 503 means that the event was not published. 504 means that it may have been. If it is sent again with its
//! idempotency key, each event is delivered exactly once.

use crate::support::client::{Client, entry};
use crate::support::cluster::{await_ready, nodes};
use crate::support::redis_proxy::{Fault, MARK, RedisProxy};
use crate::support::{Answer, Node, RedisServer, emit, eventually};
use serde_json::{Value, json};
use std::collections::HashMap;

const EVENT: &str = "orders";

/// Each step at which the connection breaks, and whether the event was published by then.
const CUTS: [(Fault, bool); 4] =
    [(Fault::BeforeBytes, false), (Fault::WithinBytes, false), (Fault::BeforeReply, true), (Fault::WithinReply, true)];

/// A node behind a proxy, and a client of a node that reaches Redis directly.
struct Scene {
    proxy: RedisProxy,
    cut: Node,
    whole: Node,
    client: Client,
    ends: u64,
    _redis: RedisServer,
}

impl Scene {
    async fn start() -> Scene {
        let redis = RedisServer::start();
        let proxy = RedisProxy::start(&redis.url());
        let whole = nodes(&redis, 1, &[]).remove(0);
        let cut = nodes(&redis, 1, &[("BUS__REDIS__URL", proxy.url())]).remove(0);
        let mut client = Client::of(&whole).await;
        client.subscribe(entry(EVENT)).await;
        Scene { proxy, cut, whole, client, ends: 0, _redis: redis }
    }

    fn emit(&self, body: &Value) -> Answer {
        emit(&self.cut, &self.cut.tokens().api, &body.to_string())
    }

    /// How often each number was delivered since the last call.
    async fn delivered(&mut self) -> HashMap<u64, usize> {
        self.ends += 1;
        let body = json!({"name": EVENT, "eventData": {"end": self.ends}}).to_string();
        assert_eq!(emit(&self.whole, &self.whole.tokens().api, &body).status, 200);
        let mut counts = HashMap::new();
        loop {
            let (_, data) = self.client.next_notification().await;
            if data["end"] == self.ends {
                return counts;
            }
            *counts.entry(data["number"].as_u64().expect("a number")).or_default() += 1;
        }
    }
}

/// An emit that triggers the fault.
fn marked(number: u64, key: Option<String>) -> Value {
    item(number, MARK, key)
}

fn item(number: u64, mark: &str, key: Option<String>) -> Value {
    let mut body = json!({"name": EVENT, "eventData": {"number": number, "mark": mark}});
    if let Some(key) = key {
        body["idempotencyKey"] = json!(key);
    }
    body
}

/// Asserts the answer for an unknown outcome.
fn assert_unknown(answer: &Answer, fault: Fault) {
    assert_eq!(answer.refusal(504), "OUTCOME_UNKNOWN", "{fault:?}");
    assert_eq!(answer.header("retry-after"), None, "no library repeats it by itself");
    assert!(answer.text().contains("give an idempotency key and send it again"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_publish_is_answered_504_and_delivered_once_when_sent_again_with_its_key() {
    let mut scene = Scene::start().await;
    for (number, (fault, is_published)) in (0..).zip(CUTS) {
        let body = marked(number, Some(format!("key-{number}")));
        await_ready(&scene.cut);
        scene.proxy.arm(fault);
        assert_unknown(&scene.emit(&body), fault);
        let before = scene.delivered().await.get(&number).copied().unwrap_or(0);
        assert_eq!(before, usize::from(is_published), "{fault:?}");
        let mut last = Value::Null;
        eventually("an accepted retry", || {
            let answer = scene.emit(&body);
            last = answer.json();
            answer.status == 200
        });
        assert_eq!(last["duplicate"] == true, is_published, "{fault:?}: {last}");
        let after = scene.delivered().await.get(&number).copied().unwrap_or(0);
        assert_eq!(before + after, 1, "{fault:?}");
    }
    assert_eq!(scene.cut.metric("carillon_emits_total", "\"unknown\""), CUTS.len() as f64);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_publish_without_a_key_is_answered_504_whether_it_was_published_or_not() {
    let mut scene = Scene::start().await;
    for (number, (fault, is_published)) in (0..).zip(CUTS) {
        await_ready(&scene.cut);
        scene.proxy.arm(fault);
        assert_unknown(&scene.emit(&marked(number, None)), fault);
        let count = scene.delivered().await.get(&number).copied().unwrap_or(0);
        assert_eq!(count, usize::from(is_published), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_connection_an_emit_is_503_and_never_delivered() {
    let mut scene = Scene::start().await;
    scene.proxy.close();
    eventually("the bus is refused", || {
        let answer = scene.emit(&marked(1, None));
        assert_ne!(answer.status, 200);
        answer.status == 503
    });
    for number in 2..5 {
        let answer = scene.emit(&marked(number, Some(format!("key-{number}"))));
        assert_eq!((answer.refusal(503).as_str(), answer.header("retry-after")), ("BUS_UNAVAILABLE", Some("1")));
    }
    scene.proxy.open();
    await_ready(&scene.cut);
    let delivered = scene.delivered().await;
    assert!((2..5).all(|number| !delivered.contains_key(&number)), "{delivered:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_that_hangs_is_answered_504_in_time_and_the_key_prevents_a_second_delivery_by_late_bytes() {
    let mut scene = Scene::start().await;
    for (number, fault) in (0..).zip([Fault::HeldBytes, Fault::HeldReply]) {
        let keyed = marked(number, Some(format!("key-{number}")));
        await_ready(&scene.cut);
        scene.proxy.arm(fault);
        assert_unknown(&scene.emit(&keyed), fault);
        // The second try uses a new connection while the first one is still held.
        eventually("an accepted retry", || scene.emit(&keyed).status == 200);
        scene.proxy.release();
        let first = scene.delivered().await.get(&number).copied().unwrap_or(0);
        // The held bytes reach Redis before a later emit does.
        let second = scene.delivered().await.get(&number).copied().unwrap_or(0);
        assert_eq!(first + second, 1, "{fault:?}");
    }
    await_ready(&scene.cut);
    scene.proxy.arm(Fault::HeldBytes);
    assert_unknown(&scene.emit(&marked(7, None)), Fault::HeldBytes);
    scene.proxy.release();
    let (_, late) = scene.client.next_notification().await;
    assert_eq!(late["number"], 7, "504 is right: it was published after the answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_item_of_an_interrupted_batch_is_delivered_as_its_status_says() {
    let mut scene = Scene::start().await;
    // More than one pipeline: when the connection breaks, some items are answered, some are sent, and some are not
    // sent.
    let count = 1_000;
    let held = [Fault::HeldBytes, Fault::HeldReply];
    for (round, fault) in (0..).zip(CUTS.map(|(fault, _)| fault).into_iter().chain(held)) {
        let numbers = round * count..(round + 1) * count;
        let body = Value::from_iter(numbers.clone().map(|number| {
            let mark = if number % count == count / 2 { MARK } else { "" };
            item(number, mark, Some(format!("key-{number}")))
        }));
        await_ready(&scene.cut);
        scene.proxy.arm(fault);
        let answer = scene.emit(&body).json();
        let statuses: Vec<u64> = statuses(&answer);
        assert_eq!(statuses.len() as u64, count);
        assert!(statuses.iter().all(|status| [200, 503, 504].contains(status)), "{fault:?}: {statuses:?}");
        assert!(statuses.contains(&504), "{fault:?}");
        scene.proxy.release();
        let before = scene.delivered().await;
        for (number, status) in numbers.clone().zip(&statuses) {
            let times = before.get(&number).copied().unwrap_or(0);
            let is_kept = match status {
                200 => times == 1,
                503 => times == 0,
                _ => times <= 1,
            };
            assert!(is_kept, "{fault:?}: item {number} was answered {status} and delivered {times} times");
        }
        eventually("an accepted retry of the whole request", || {
            statuses_of(&scene.emit(&body)).iter().all(|status| *status == 200)
        });
        let after = scene.delivered().await;
        for number in numbers {
            let times = |counts: &HashMap<u64, usize>| counts.get(&number).copied().unwrap_or(0);
            assert_eq!(times(&before) + times(&after), 1, "{fault:?}: item {number}");
        }
    }
}

fn statuses_of(answer: &Answer) -> Vec<u64> {
    statuses(&answer.json())
}

fn statuses(answer: &Value) -> Vec<u64> {
    let items = answer.as_array().expect("an answer for each item");
    items.iter().map(|item| item["statusCode"].as_u64().expect("a status")).collect()
}

#[test]
fn a_publication_that_redis_refuses_is_answered_503_and_its_key_stays_unused() {
    let Some(redis) = RedisServer::own() else { return };
    let node = nodes(&redis, 1, &[]).remove(0);
    let body = marked(1, Some("refused".to_owned())).to_string();
    let deny = ["ACL", "SETUSER", "default", "-publish"];
    assert_eq!(redis.ask(&deny), "+OK");
    assert_eq!(emit(&node, &node.tokens().api, &body).refusal(503), "BUS_UNAVAILABLE");
    assert_eq!(redis.ask(&["ACL", "SETUSER", "default", "+publish"]), "+OK");
    let mut last = Value::Null;
    eventually("an accepted retry", || {
        let answer = emit(&node, &node.tokens().api, &body);
        last = answer.json();
        answer.status == 200
    });
    assert_eq!(last["duplicate"], Value::Null, "the refused try published nothing: {last}");
}
