//! Two nodes whose Redis fails under load, in every way that is known to interrupt delivery. In each case, every
//! accepted emit is delivered or covered by a gap, the nodes are not ready during the failure, and afterwards they are
//! ready, deliver again, and use as much memory as before.

use crate::support::client::{Client, entry};
use crate::support::cluster::{Listener, Publisher, await_ready, is_ready, nodes};
use crate::support::delivery_check::check_deliveries;
use crate::support::{Node, RedisServer, emit, error_code, eventually};
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, Instant};

/// The maximum time from the return of Redis to the next delivery.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long Redis is killed, and how long it is stopped.
const KILLED_TIME: Duration = Duration::from_secs(10);
const STOPPED_TIME: Duration = Duration::from_secs(15);

/// How often the subscriber connections are killed.
const CUTS: u32 = 50;

/// The allowed growth of a node's memory: less than an unbounded queue needs, more than buffers and tables need.
const GROWTH_BYTES: u64 = 16 << 20;

/// Two nodes with a listener each, and two publishers.
struct Load {
    redis: RedisServer,
    nodes: Vec<Node>,
    listeners: Vec<Listener>,
    publishers: Vec<Publisher>,
    /// The memory of each node under load, in bytes.
    memory: Vec<u64>,
}

impl Load {
    /// Starts a load of 400 emits per second. `None` if the test can't have its own Redis.
    async fn start() -> Option<Load> {
        Load::of(10, Duration::from_millis(50)).await
    }

    /// Starts a load in which each publisher emits `batch` events every `pause`.
    async fn of(batch: u64, pause: Duration) -> Option<Load> {
        let redis = RedisServer::own()?;
        let nodes = nodes(&redis, 2, &[]);
        let mut listeners = Vec::new();
        for node in &nodes {
            listeners.push(Listener::start(node).await);
        }
        let publishers =
            nodes.iter().zip(0..).map(|(node, number)| Publisher::start(node, number, batch, pause)).collect();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let memory = nodes.iter().map(Node::resident_bytes).collect();
        Some(Load { redis, nodes, listeners, publishers, memory })
    }

    fn await_ready(&self, is: bool) {
        for node in &self.nodes {
            eventually("the other readiness", || is_ready(node) == is);
        }
    }

    /// Ends the load and checks the deliveries of all listeners. Returns the number of missed emits.
    async fn check(self, title: &str) -> usize {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let accepted: Vec<_> = self.publishers.into_iter().flat_map(Publisher::end).collect();
        let mut missed = 0;
        for listener in self.listeners {
            let received = listener.received(&self.nodes[0]).await;
            missed += check_deliveries(title, &accepted, &received).1;
        }
        for node in &self.nodes {
            assert!(node.metric("carillon_bus_losses_total", "") >= 1.0);
            assert_eq!(node.metric("carillon_bus_ready", ""), 1.0);
        }
        for (node, before) in self.nodes.iter().zip(self.memory) {
            let after = node.resident_bytes();
            println!("{title}: memory {:.1} MB before, {:.1} MB after", before as f64 / 1e6, after as f64 / 1e6);
            assert!(after < before + GROWTH_BYTES, "{title}: {before} bytes before, {after} after");
        }
        missed
    }
}

/// Emits on each node for a client of the other. Both deliveries must come soon after `since`.
async fn deliver_within(nodes: &[Node], since: Instant) {
    for (from, to) in [(0, 1), (1, 0)] {
        nodes.iter().for_each(await_ready);
        let mut client = Client::of(&nodes[to]).await;
        client.subscribe(entry("probe")).await;
        let token = nodes[from].tokens().api;
        let body = json!({"name": "probe", "eventData": from}).to_string();
        assert_eq!(emit(&nodes[from], &token, &body).status, 200);
        assert_eq!(client.next_notification().await.1, json!(from));
    }
    println!("delivered {:?} after Redis returned", since.elapsed());
    assert!(since.elapsed() < RECOVERY_TIMEOUT, "{:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_emit_is_lost_silently_and_no_node_spins_while_redis_is_killed() {
    let Some(mut load) = Load::start().await else { return };
    let killed_at = Instant::now();
    load.redis.kill();
    load.await_ready(false);
    assert!(killed_at.elapsed() < Duration::from_secs(1), "{:?}", killed_at.elapsed());

    let refused = emit(&load.nodes[0], &load.nodes[0].tokens().api, r#"{"name":"a","eventData":1}"#);
    assert_eq!((refused.refusal(503).as_str(), refused.header("retry-after")), ("BUS_UNAVAILABLE", Some("1")));
    let mut client = Client::of(&load.nodes[0]).await;
    let (valid, invalid) = client.register(json!([entry("new")])).await;
    assert!(valid.is_empty(), "{valid:?}");
    assert_eq!(invalid[0]["error"]["code"], "TEMPORARILY_UNAVAILABLE");

    let before: Vec<Duration> = load.nodes.iter().map(Node::processor_time).collect();
    let since = Instant::now();
    tokio::time::sleep(KILLED_TIME.saturating_sub(killed_at.elapsed())).await;
    for (node, before) in load.nodes.iter().zip(before) {
        let share = (node.processor_time() - before).as_secs_f64() / since.elapsed().as_secs_f64();
        println!("processor time while Redis is down: {:.1} %, with 20 refused calls a second", share * 100.0);
        assert!(share < 0.1, "{share}");
    }
    load.redis.start_again();
    let back_at = Instant::now();
    load.await_ready(true);
    deliver_within(&load.nodes, back_at).await;
    client.subscribe(entry("new")).await;
    load.check("killed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_redis_is_detected_and_used_again_when_it_continues() {
    let Some(load) = Load::start().await else { return };
    load.redis.signal(Signal::STOP);
    let stopped_at = Instant::now();
    load.await_ready(false);
    println!("a stopped Redis was detected after {:?}", stopped_at.elapsed());
    assert!(stopped_at.elapsed() < Duration::from_secs(10));
    tokio::time::sleep(STOPPED_TIME.saturating_sub(stopped_at.elapsed())).await;
    assert!(load.nodes.iter().all(|node| !is_ready(node)));
    load.redis.signal(Signal::CONT);
    let back_at = Instant::now();
    load.await_ready(true);
    deliver_within(&load.nodes, back_at).await;
    load.check("stopped").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_redis_is_detected_without_any_emit() {
    let Some(redis) = RedisServer::own() else { return };
    let nodes = nodes(&redis, 1, &[]);
    redis.signal(Signal::STOP);
    let stopped_at = Instant::now();
    eventually("a node that is not ready", || !is_ready(&nodes[0]));
    assert!(stopped_at.elapsed() < Duration::from_secs(10), "{:?}", stopped_at.elapsed());
    redis.signal(Signal::CONT);
    await_ready(&nodes[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_subscriber_connections_are_reopened_and_cause_a_gap() {
    let Some(load) = Load::start().await else { return };
    for _ in 0..CUTS {
        assert_eq!(load.redis.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]), ":2");
        let killed_at = Instant::now();
        load.await_ready(false);
        assert!(killed_at.elapsed() < Duration::from_secs(1), "{:?}", killed_at.elapsed());
        load.await_ready(true);
    }
    deliver_within(&load.nodes, Instant::now()).await;
    load.check("subscribers killed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_publisher_connections_lose_no_emit() {
    let Some(load) = Load::start().await else { return };
    for _ in 0..3 {
        load.redis.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        load.await_ready(true);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(load.check("publishers killed").await, 0, "subscriber connections were never lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_emit_is_lost_silently_when_redis_disconnects_slow_subscribers() {
    // Redis limits the bytes beyond the first 16 KiB of a client's output buffer. Each burst is longer than that.
    let Some(load) = Load::of(300, Duration::from_millis(300)).await else { return };
    load.redis.ask(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 1kb 1kb 1"]);
    tokio::time::sleep(Duration::from_secs(3)).await;
    load.redis.ask(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 32mb 8mb 60"]);
    let back_at = Instant::now();
    load.await_ready(true);
    deliver_within(&load.nodes, back_at).await;
    load.check("cut off").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_before_redis_becomes_ready_when_redis_starts() {
    let Some(mut redis) = RedisServer::own() else { return };
    redis.kill();
    let url = redis.url();
    let node = Node::start(&[("BUS__KIND", "redis"), ("BUS__REDIS__URL", &url)]);
    assert!(!is_ready(&node));
    let waiting = format!("not ready: waiting for Redis at {}", redis.address());
    eventually("the line that names Redis", || node.output().contains(&waiting));
    assert!(!node.output().contains("Carillon is ready"), "{}", node.output());
    let refused = emit(&node, &node.tokens().api, r#"{"name":"a","eventData":1}"#);
    assert_eq!(error_code(&refused.json()), "BUS_UNAVAILABLE");
    redis.start_again();
    await_ready(&node);
    eventually("the block of a ready node", || node.output().contains("Carillon is ready"));
    assert!(!node.output().contains("open-sesame"), "a password in the log");
}

#[test]
fn a_redis_outage_is_logged_as_one_warning_with_the_address_and_one_line_at_its_end() {
    let Some(mut redis) = RedisServer::own() else { return };
    redis.kill();
    let url = redis.url();
    let node = Node::start(&[("BUS__KIND", "redis"), ("BUS__REDIS__URL", &url)]);
    let address = format!(" address={}", redis.address());
    let count_lines =
        |message: &str| node.output().lines().filter(|line| line.contains(message) && line.contains(&address)).count();
    let warning = "Redis cannot be reached";
    eventually("a warning", || count_lines(warning) == 1);
    // Both connections have tried several times by now.
    eventually("the line that names Redis", || node.output().matches("waiting for Redis").count() == 1);
    redis.start_again();
    await_ready(&node);
    eventually("both connections", || count_lines("connected to Redis") == 2);
    assert_eq!(count_lines(warning), 1, "{}", node.output());
    redis.kill();
    eventually("both losses", || count_lines("the connection to Redis was lost") == 2);
    eventually("a warning of the second outage", || count_lines(warning) == 2);
    assert!(!node.output().contains("open-sesame"), "a password in the log");
}
