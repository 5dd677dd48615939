//! What the load tool counts is what the node counts, to the message: the real program, each command, small.

mod support;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use support::{Node, count, eventually, load};

/// A run that lost nobody: every client that was dialled was served.
fn assert_nobody_is_missing(result: &Value) {
    for name in ["refused", "failed", "lost", "twice", "rejected", "unanswered", "strays", "gaps"] {
        assert_eq!(count(result, name), 0, "{name} in {result:#}");
    }
}

/// As many notifications as the node has handed over, of as many events as it has accepted.
fn assert_told_as_the_node_says(node: &Node, result: &Value, told: u64) {
    assert_nobody_is_missing(result);
    assert_eq!(count(result, "told"), told, "{result:#}");
    node.expect("carillon_notifications_total", told);
    node.expect("carillon_emits_total{outcome=\"accepted\"}", count(result, "accepted"));
    assert_eq!(count(result, "accepted"), count(result, "emitted"), "{result:#}");
}

#[test]
fn every_client_of_a_churn_is_one_that_the_node_saw_come_and_leave() {
    let node = Node::start();
    let result = load(&node, &["churn", "-c", "20", "-d", "1", "--warm-up", "0.2", "--processes", "2"]);
    assert_nobody_is_missing(&result);
    let left = count(&result, "left");
    assert!(left >= 20, "{result:#}");
    node.expect("carillon_upgrades_total{outcome=\"accepted\"}", left);
    node.expect("carillon_closes_total{code=\"1000\"}", left);
    node.expect("carillon_sessions", 0);
    let measured = &result["measured"]["counters"];
    assert!(measured["left"].as_u64().is_some_and(|measured| measured > 0 && measured <= left), "{result:#}");
    // Each that was counted in the measured time was timed in it, and no other.
    for (counter, timing) in [("connected", "tcp_us"), ("registered", "registered_us"), ("left", "cycle_us")] {
        assert_eq!(result[timing]["count"], measured[counter], "{counter} in {result:#}");
    }
}

#[test]
fn one_person_is_told_of_each_event() {
    let node = Node::start();
    let result = load(&node, &["listen", "-c", "50", "-d", "1", "--warm-up", "0.2"]);
    assert_told_as_the_node_says(&node, &result, count(&result, "accepted"));
    assert_eq!(result["missing"], 0.0, "{result:#}");
    assert!(result["server_cpu_seconds"].as_f64() > Some(0.0), "{result:#}");
}

#[test]
fn a_broadcast_in_batches_is_told_to_each_of_its_audience() {
    let node = Node::start();
    let options = ["listen", "-c", "60", "-k", "20", "--batch", "5", "-d", "1", "--warm-up", "0.2", "--processes", "2"];
    let result = load(&node, &options);
    assert_told_as_the_node_says(&node, &result, 20 * count(&result, "accepted"));
    assert_eq!(count(&result, "expected"), count(&result, "told"), "{result:#}");
    assert_eq!(count(&result, "accepted"), 5 * count(&result, "publishes"), "{result:#}");
}

#[test]
fn a_pace_is_kept() {
    let node = Node::start();
    let result =
        load(&node, &["listen", "-c", "30", "-k", "30", "--plain", "-R", "100", "-d", "1", "--warm-up", "0.2"]);
    assert_told_as_the_node_says(&node, &result, 30 * count(&result, "accepted"));
    // What comes late on a busy machine comes nevertheless: the pace is that of the plan, not of the answers.
    let emitted = count(&result, "emitted");
    assert!((90..=400).contains(&emitted), "{result:#}");
}

#[test]
fn listeners_hear_what_another_process_emits() {
    let node = Node::start();
    let listen = support::start(&node, &["listen", "-c", "20", "--no-emit", "--run", "7", "-d", "60"]);
    node.await_value("carillon_subscriptions", 20);
    let emitted = load(&node, &["emit", "-c", "20", "--run", "7", "-d", "1", "--warm-up", "0.1"]);
    let accepted = count(&emitted, "accepted");
    assert!(accepted > 0, "{emitted:#}");
    node.expect("carillon_emits_total{outcome=\"accepted\"}", accepted);
    node.expect("carillon_notifications_total", accepted);
    let heard = support::interrupt(listen);
    assert_nobody_is_missing(&heard);
    assert_eq!(count(&heard, "told"), accepted, "{heard:#}");
}

#[test]
fn clients_may_be_at_another_node_than_the_events() {
    let clients = Node::start();
    let events = clients.start_like();
    let target = events.address();
    let options = ["listen", "-c", "20", "--emit-target", &target, "-d", "0.5", "--warm-up", "0", "--patience", "0.1"];
    let result = load(&clients, &options);
    assert_nobody_is_missing(&result);
    events.expect("carillon_emits_total{outcome=\"accepted\"}", count(&result, "accepted"));
    clients.expect("carillon_upgrades_total{outcome=\"accepted\"}", 20);
    // The two share no bus.
    assert!(count(&result, "accepted") > 0 && count(&result, "told") == 0, "{result:#}");
    clients.expect("carillon_emits_total{outcome=\"accepted\"}", 0);
    events.expect("carillon_upgrades_total{outcome=\"accepted\"}", 0);
}

#[test]
fn a_level_is_filled_and_weighed() {
    let node = Node::start();
    let result = load(&node, &["fill", "-c", "300", "--step", "200", "--hold", "0.1", "--free-floor", "1"]);
    assert_nobody_is_missing(&result);
    node.expect("carillon_upgrades_total{outcome=\"accepted\"}", 300);
    node.expect("carillon_closes_total{code=\"1000\"}", 300);
    let levels: Vec<_> = result["levels"].as_array().expect("levels").iter().map(|level| &level["clients"]).collect();
    assert_eq!(levels, [200, 300], "{result:#}");
    assert!(result["own_end_bytes"].as_f64() > Some(1000.0), "{result:#}");
}

#[test]
fn clients_come_back_after_a_restart_and_are_told() {
    let node = Node::start();
    let start = node.start_command();
    let address = node.address();
    let folder = node.into_folder();
    let data = folder.path().to_str().expect("a path of text");
    let options = ["restart", "-c", "20", "--target", &address, "--data", data, "--start", &start, "--json", "-"];
    let result = support::finish(support::command(&options));
    assert_eq!(count(&result, "lost"), 20, "{result:#}");
    assert_eq!(count(&result, "returned"), 20, "{result:#}");
    assert_eq!(result["total"]["closes"]["1001"], 20, "{result:#}");
    assert!(count(&result, "told") >= 20 && count(&result, "twice") == 0, "{result:#}");
    assert!(result["away_us"]["p50"].as_f64() > Some(1e6), "{result:#}");
}

#[test]
fn an_interrupted_run_tells_what_it_measured() {
    let node = Node::start();
    let churn = support::start(&node, &["churn", "-c", "5", "-d", "600", "--warm-up", "0"]);
    eventually("clients", || node.metric("carillon_upgrades_total{outcome=\"accepted\"}") > 10);
    let result = support::interrupt(churn);
    assert_nobody_is_missing(&result);
    node.expect("carillon_upgrades_total{outcome=\"accepted\"}", count(&result, "left"));
}

#[test]
fn a_server_that_wants_no_client_is_named() {
    let node = Node::start();
    let options = ["listen", "--target", &node.address(), "-c", "3", "--api-token", "none", "--user-token", "none"];
    let mut child = support::command(&options);
    let mut words = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut words).expect("text");
    assert!(!child.wait().expect("an end").success());
    assert!(words.contains("0 of 3 clients") && words.contains("3 were refused"), "{words}");
}

#[test]
fn an_event_that_crossed_the_end_of_its_idle_connection_is_emitted_on_the_next() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = listener.local_addr().expect("an address").to_string();
    let server = std::thread::spawn(move || {
        let tired = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        // The tool tries first whether there is a server.
        let mut connections = listener.incoming().map(|stream| stream.expect("a connection"));
        let first =
            connections.find_map(|mut stream| Some(read_request(&mut stream, tired)).filter(|one| !one.is_empty()));
        let mut stream = connections.next().expect("another connection");
        let taken = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let second = read_request(&mut stream, taken);
        let others =
            std::iter::from_fn(|| Some(read_request(&mut stream, taken)).filter(|request| !request.is_empty()));
        (first, second, others.count() as u64)
    });
    let options =
        ["emit", "--target", &target, "--api-token", "a", "--user-token", "u", "--connections", "1", "-c", "1"];
    let pace = ["-R", "50", "-d", "0.5", "--warm-up", "0", "--json", "-"];
    let result = support::finish(support::command(&[&options[..], &pace[..]].concat()));
    assert_nobody_is_missing(&result);
    let (first, second, others) = server.join().expect("an end");
    assert_eq!(first, Some(second));
    assert_eq!((count(&result, "accepted"), count(&result, "emitted")), (1 + others, 1 + others), "{result:#}");
}

/// Reads a request, which comes in one piece here, and answers it; nothing at the end.
fn read_request(stream: &mut TcpStream, answer: &str) -> String {
    let mut request = vec![0; 16 * 1024];
    let length = stream.read(&mut request).unwrap_or(0);
    if length > 0 {
        stream.write_all(answer.as_bytes()).expect("the tool reads");
    }
    String::from_utf8_lossy(&request[..length]).into_owned()
}

/// Sends Ctrl+C, as a terminal does.
fn send_interrupt(pid: u32) {
    let pid = Pid::from_raw(pid as i32).expect("a process");
    kill_process(pid, Signal::INT).expect("it runs");
}
