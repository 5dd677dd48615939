//! Limits of the operating system: the messages at the start, the memory of TCP, the listen backlog.
//!
//! The node runs in its own mount namespace and sees files of the test in place of the kernel's. The machine is
//! unchanged.

use crate::support::{Node, RawSocket, eventually};
use carillon::limits::raise_open_files;
use rustix::process::Signal;
use std::net::TcpStream;
use std::time::Duration;

const TCP_MEM: &str = "/proc/sys/net/ipv4/tcp_mem";
const MOST_TRACKED: &str = "/proc/sys/net/netfilter/nf_conntrack_max";
const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";

/// One more client than one increment of TCP memory covers.
const CLIENTS: usize = 1_001;

fn clients(node: &Node) -> Vec<RawSocket> {
    raise_open_files();
    let tokens = node.tokens();
    (0..CLIENTS).map(|_| RawSocket::upgrade(node, &tokens)).collect()
}

#[test]
fn tcp_memory_is_raised_by_two_pages_per_client_and_restored_at_the_stop() {
    let mut node = Node::start_with_system(&[(TCP_MEM, "100\t200\t300\n")], &[]);
    let tcp_mem = node.system_file(TCP_MEM);
    let read = || std::fs::read_to_string(&tcp_mem).expect("the file");
    assert_eq!(read(), "100\t200\t300\n");
    let sockets = clients(&node);
    eventually("room for a thousand clients", || read() == "2100 2200 2300");
    assert_eq!(node.metric("carillon_tcp_memory_limit_bytes", ""), 2_300.0 * rustix::param::page_size() as f64);
    assert_eq!(node.limit_count("tcp_memory_percent"), 0.0);
    drop(sockets);
    eventually("no session", || node.metric("carillon_sessions", "") == 0.0);
    assert_eq!(read(), "2100 2200 2300");
    node.signal(Signal::TERM);
    assert!(node.wait().success());
    assert_eq!(read(), "100 200 300");
}

#[test]
fn tcp_memory_over_its_share_is_not_raised_and_the_limit_is_counted() {
    // More pages than a hundredth of the memory of any machine.
    let node = Node::start_with_system(&[(TCP_MEM, "1 2 1000000000000")], &[("LIMITS__TCP_MEMORY_PERCENT", "1")]);
    let _sockets = clients(&node);
    eventually("the limit counted", || node.limit_count("tcp_memory_percent") == 1.0);
    assert!(node.output().contains("net.ipv4.tcp_mem stays at 1 2 1000000000000"));
    let text = std::fs::read_to_string(node.system_file(TCP_MEM)).expect("the file");
    assert_eq!(text, "1 2 1000000000000");
}

#[test]
fn tcp_memory_that_can_not_be_raised_is_logged_at_the_start_with_the_command() {
    let node = Node::start_with_system_closed(&[(TCP_MEM, "100 200 300")], &[("LIMITS__SESSIONS", "200")]);
    let message = "net.ipv4.tcp_mem is enough for 150 of 200 clients, and this process cannot raise it: ";
    let command = r#"sysctl -w net.ipv4.tcp_mem="500 600 700""#;
    assert!(node.output().contains(&format!("{message}{command}")), "{}", node.output());
    let silent = Node::start_with_system_closed(&[(TCP_MEM, "100 200 300")], &[("LIMITS__SESSIONS", "150")]);
    assert!(!silent.output().contains("tcp_mem"), "{}", silent.output());
    let left = [("LIMITS__SESSIONS", "200"), ("LIMITS__TCP_MEMORY_PERCENT", "0")];
    let left_alone = Node::start_with_system_closed(&[(TCP_MEM, "100 200 300")], &left);
    assert!(!left_alone.output().contains("tcp_mem"), "{}", left_alone.output());
}

#[test]
fn a_connection_tracking_table_below_the_session_limit_is_warned_of_at_the_start() {
    let node = Node::start_with_system(&[(MOST_TRACKED, "77\n")], &[]);
    let line = node.output().lines().find(|line| line.contains("tracked connections")).map(str::to_owned);
    let line = line.expect("a line that says so");
    assert!(
        line.contains("WARN")
            && line.contains("tracked connections, at 77 clients (raise net.netfilter.nf_conntrack_max)"),
        "{line}"
    );
    assert_eq!(node.metric("carillon_tracked_connections_limit", ""), 77.0);
    assert!(node.metric("carillon_sessions_limit", "") > 77.0);
}

#[test]
fn a_backlog_that_the_system_limits_is_logged_at_the_start() {
    let node = Node::start_with_system(&[(SOMAXCONN, "128\n")], &[]);
    let message = "http.backlog is 4096, the system allows 128: sysctl -w net.core.somaxconn=4096";
    assert!(node.output().contains(message), "{}", node.output());
}

#[test]
fn the_accept_queue_holds_as_many_connections_as_the_backlog_setting() {
    let mut node = Node::start(&[("HTTP__BACKLOG", "8")]);
    node.signal(Signal::STOP);
    let connect = || TcpStream::connect_timeout(&node.address(), Duration::from_millis(300));
    // The kernel accepts one more connection than the backlog says.
    let waiting: Vec<_> = (0..9).map(|_| connect().expect("space in the backlog")).collect();
    assert!(connect().is_err(), "a tenth waits too");
    node.signal(Signal::CONT);
    eventually("room again", || connect().is_ok());
    drop(waiting);
    node.signal(Signal::TERM);
    assert!(node.wait().success());
}
