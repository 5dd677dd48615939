//! The counts of the load tool are exactly those of the node. Runs each command against the real program, at small
//! size.

mod support;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use support::{Node, count, eventually, load};

/// Asserts that every client was served and no event was lost.
fn assert_nothing_was_lost(result: &Value) {
    for name in ["refused", "failed", "lost", "duplicates", "rejected", "unanswered", "other_runs", "gaps"] {
        assert_eq!(count(result, name), 0, "{name} in {result:#}");
    }
}

/// Asserts that the tool received as many notifications as the node delivered, of as many events as it accepted.
fn assert_received_as_the_node_delivered(node: &Node, result: &Value, received: u64) {
    assert_nothing_was_lost(result);
    assert_eq!(count(result, "received"), received, "{result:#}");
    node.expect("carillon_notifications_total", received);
    node.expect("carillon_emits_total{outcome=\"accepted\"}", count(result, "accepted"));
    assert_eq!(count(result, "accepted"), count(result, "emitted"), "{result:#}");
}

#[test]
fn churn_counts_the_same_connects_and_closes_as_the_node() {
    let node = Node::start();
    let result = load(&node, &["churn", "-c", "20", "-d", "1", "--warm-up", "0.2", "--processes", "2"]);
    assert_nothing_was_lost(&result);
    let left = count(&result, "left");
    assert!(left >= 20, "{result:#}");
    node.expect("carillon_upgrades_total{outcome=\"accepted\"}", left);
    node.expect("carillon_closes_total{code=\"1000\"}", left);
    node.expect("carillon_sessions", 0);
    let measured = &result["measured"]["counters"];
    assert!(measured["left"].as_u64().is_some_and(|measured| measured > 0 && measured <= left), "{result:#}");
    // Everything that was counted in the measured time was timed in it, and nothing else.
    for (counter, timing) in [("connected", "tcp_us"), ("registered", "registered_us"), ("left", "cycle_us")] {
        assert_eq!(result[timing]["count"], measured[counter], "{counter} in {result:#}");
    }
}

#[test]
fn one_client_receives_each_event() {
    let node = Node::start();
    let result = load(&node, &["listen", "-c", "50", "-d", "1", "--warm-up", "0.2"]);
    assert_received_as_the_node_delivered(&node, &result, count(&result, "accepted"));
    assert_eq!(result["missing"], 0.0, "{result:#}");
    assert!(result["server_cpu_seconds"].as_f64() > Some(0.0), "{result:#}");
}

#[test]
fn each_client_of_an_audience_receives_a_broadcast_in_batches() {
    let node = Node::start();
    let options = ["listen", "-c", "60", "-k", "20", "--batch", "5", "-d", "1", "--warm-up", "0.2", "--processes", "2"];
    let result = load(&node, &options);
    assert_received_as_the_node_delivered(&node, &result, 20 * count(&result, "accepted"));
    assert_eq!(count(&result, "expected"), count(&result, "received"), "{result:#}");
    assert_eq!(count(&result, "accepted"), 5 * count(&result, "publishes"), "{result:#}");
}

#[test]
fn events_are_emitted_at_the_given_rate() {
    let node = Node::start();
    let result =
        load(&node, &["listen", "-c", "30", "-k", "30", "--plain", "-R", "100", "-d", "1", "--warm-up", "0.2"]);
    assert_received_as_the_node_delivered(&node, &result, 30 * count(&result, "accepted"));
    // On a busy machine events are emitted late, but all are emitted: the schedule does not wait for answers.
    let emitted = count(&result, "emitted");
    assert!((90..=400).contains(&emitted), "{result:#}");
}

#[test]
fn listeners_receive_the_events_of_another_process() {
    let node = Node::start();
    let listen = support::start(&node, &["listen", "-c", "20", "--no-emit", "--run", "7", "-d", "60"]);
    node.await_value("carillon_subscriptions", 20);
    let emitted = load(&node, &["emit", "-c", "20", "--run", "7", "-d", "1", "--warm-up", "0.1"]);
    let accepted = count(&emitted, "accepted");
    assert!(accepted > 0, "{emitted:#}");
    node.expect("carillon_emits_total{outcome=\"accepted\"}", accepted);
    node.expect("carillon_notifications_total", accepted);
    let listened = support::interrupt(listen);
    assert_nothing_was_lost(&listened);
    assert_eq!(count(&listened, "received"), accepted, "{listened:#}");
}

#[test]
fn clients_can_be_connected_to_another_node_than_the_emitter() {
    let clients = Node::start();
    let events = clients.start_like();
    let target = events.address();
    let options = ["listen", "-c", "20", "--emit-target", &target, "-d", "0.5", "--warm-up", "0", "--timeout", "0.1"];
    let result = load(&clients, &options);
    assert_nothing_was_lost(&result);
    events.expect("carillon_emits_total{outcome=\"accepted\"}", count(&result, "accepted"));
    clients.expect("carillon_upgrades_total{outcome=\"accepted\"}", 20);
    // The two nodes share no bus.
    assert!(count(&result, "accepted") > 0 && count(&result, "received") == 0, "{result:#}");
    clients.expect("carillon_emits_total{outcome=\"accepted\"}", 0);
    events.expect("carillon_upgrades_total{outcome=\"accepted\"}", 0);
}

#[test]
fn fill_connects_each_level_and_measures_it() {
    let node = Node::start();
    let result = load(&node, &["fill", "-c", "300", "--step", "200", "--hold", "0.1", "--free-floor", "1"]);
    assert_nothing_was_lost(&result);
    node.expect("carillon_upgrades_total{outcome=\"accepted\"}", 300);
    node.expect("carillon_closes_total{code=\"1000\"}", 300);
    let levels: Vec<_> = result["levels"].as_array().expect("levels").iter().map(|level| &level["clients"]).collect();
    assert_eq!(levels, [200, 300], "{result:#}");
    assert!(result["own_end_bytes"].as_f64() > Some(1000.0), "{result:#}");
}

#[test]
fn clients_reconnect_after_a_restart_and_receive_events() {
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
    assert!(count(&result, "received") >= 20 && count(&result, "duplicates") == 0, "{result:#}");
    assert!(result["away_us"]["p50"].as_f64() > Some(1e6), "{result:#}");
}

#[test]
fn an_interrupted_run_reports_its_measurement() {
    let node = Node::start();
    let churn = support::start(&node, &["churn", "-c", "5", "-d", "600", "--warm-up", "0"]);
    eventually("clients", || node.metric("carillon_upgrades_total{outcome=\"accepted\"}") > 10);
    let result = support::interrupt(churn);
    assert_nothing_was_lost(&result);
    node.expect("carillon_upgrades_total{outcome=\"accepted\"}", count(&result, "left"));
}

#[test]
fn a_run_whose_clients_are_refused_fails_with_their_number() {
    let node = Node::start();
    let options = ["listen", "--target", &node.address(), "-c", "3", "--api-token", "none", "--user-token", "none"];
    let mut child = support::command(&options);
    let mut words = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut words).expect("text");
    assert!(!child.wait().expect("an end").success());
    assert!(words.contains("0 of 3 clients") && words.contains("3 were refused"), "{words}");
}

#[test]
fn an_event_that_crosses_the_close_of_an_idle_connection_is_emitted_on_the_next_one() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = listener.local_addr().expect("an address").to_string();
    let server = std::thread::spawn(move || {
        let timeout = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        // The first connection of the tool only checks that a server listens.
        let mut connections = listener.incoming().map(|stream| stream.expect("a connection"));
        let first =
            connections.find_map(|mut stream| Some(read_request(&mut stream, timeout)).filter(|one| !one.is_empty()));
        let mut stream = connections.next().expect("another connection");
        let accepted = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let second = read_request(&mut stream, accepted);
        let others =
            std::iter::from_fn(|| Some(read_request(&mut stream, accepted)).filter(|request| !request.is_empty()));
        (first, second, others.count() as u64)
    });
    let options =
        ["emit", "--target", &target, "--api-token", "a", "--user-token", "u", "--connections", "1", "-c", "1"];
    let pace = ["-R", "50", "-d", "0.5", "--warm-up", "0", "--json", "-"];
    let result = support::finish(support::command(&[&options[..], &pace[..]].concat()));
    assert_nothing_was_lost(&result);
    let (first, second, others) = server.join().expect("an end");
    assert_eq!(first, Some(second));
    assert_eq!((count(&result, "accepted"), count(&result, "emitted")), (1 + others, 1 + others), "{result:#}");
}

/// Reads a request, which arrives in one read here, and answers it. Returns an empty text at the end of the connection.
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
