//! SIGHUP, and refused starts, whose messages name the setting.

use crate::support::process::{command, refused_start};
use crate::support::{Node, eventually, request};
use rustix::process::Signal;
use std::path::Path;

/// A node with a settings file that contains `text`, and the path of the file.
fn node_with_file(text: &str) -> (Node, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("settings.toml");
    std::fs::write(&file, text).expect("a file");
    let mut program = command(directory.path(), &[]);
    program.env("CARILLON_CONFIG", &file);
    (Node::launch(directory, program), file)
}

fn upgrade_status(node: &Node, origin: &str) -> u16 {
    let tokens = node.tokens();
    let mut headers = tokens.headers().to_vec();
    headers.push(("Origin", origin));
    let bytes = crate::support::raw::upgrade_request("/ws", &headers);
    crate::support::raw::answer_to(node, &bytes).status
}

#[test]
fn sighup_changes_what_can_change_and_names_what_needs_a_restart() {
    let (node, file) = node_with_file("");
    assert_eq!(upgrade_status(&node, "https://other.example"), 101);
    let text = "[http]\nallowed_origins = ['https://app.example']\nbacklog = 77\n[session]\nping_seconds = 7\n";
    std::fs::write(&file, text).expect("written");
    node.signal(Signal::HUP);
    eventually("the keys that need a restart", || {
        node.log().contains("needs a restart: http.backlog, session.ping_seconds")
    });
    assert!(node.log().contains("changed: http.allowed_origins"), "{}", node.log());
    assert_eq!(upgrade_status(&node, "https://other.example"), 403);
    assert_eq!(upgrade_status(&node, "https://app.example"), 101);
}

#[test]
fn sighup_changes_the_log_level() {
    let (node, file) = node_with_file("[log]\nlevel = 'error'\n");
    assert_eq!(node.log(), "");
    std::fs::write(&file, "[log]\nlevel = 'info'\nformat = 'json'\n").expect("written");
    node.signal(Signal::HUP);
    eventually("a line at info", || node.log().contains("changed: log.format, log.level"));
    for line in node.log().lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    }
}

#[test]
fn sighup_with_a_bad_file_changes_nothing_and_the_node_serves_on() {
    let (node, file) = node_with_file("[http]\nallowed_origins = ['https://app.example']\n");
    std::fs::write(&file, "[http]\nallowed_origins = []\nbnid = 1\n[session]\nping_seconds = 0\n").expect("written");
    node.signal(Signal::HUP);
    eventually("each problem", || ["http.bnid", "session.ping_seconds"].iter().all(|key| node.log().contains(key)));
    assert_eq!(upgrade_status(&node, "https://other.example"), 403);
    assert_eq!(request(node.address(), "GET", "/readyz", &[], b"").status, 200);
}

#[test]
fn a_port_in_use_names_http_bind() {
    let node = Node::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let address = node.address().to_string();
    let text = refused_start(command(directory.path(), &[("HTTP__BIND", &address)]));
    assert!(text.contains("http.bind") && text.contains(&address), "{text}");
}

#[test]
fn a_data_folder_that_can_not_be_created_names_data_dir() {
    let text = refused_start(command(Path::new("/proc/carillon"), &[]));
    assert!(text.contains("data.dir") && text.contains("/proc/carillon"), "{text}");
}

#[test]
fn a_variable_with_single_underscores_refuses_the_start_and_each_problem_has_its_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut program = command(directory.path(), &[("SESSION__PING_SECONDS", "0"), ("BUS__KIND", "nats")]);
    program.env("CARILLON_HTTP_BIND", "127.0.0.1:0");
    let text = refused_start(program);
    assert!(text.contains("CARILLON_HTTP_BIND") && text.contains("CARILLON__HTTP__BIND"), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
    for key in ["session.ping_seconds: ", "bus.kind: "] {
        assert!(text.lines().any(|line| line.starts_with(&format!("carillon: {key}"))), "{text}");
    }
}
