//! The log of a node: its format, its level, and the lines that an operator acts on.

use crate::support::client::{Client, entry};
use crate::support::http::disconnect_user;
use crate::support::process::{command, refused_start};
use crate::support::{Node, emit, eventually};
use serde_json::{Value, json};

/// The lines of a log, each of which must be a JSON object.
fn json_lines(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))).collect()
}

#[tokio::test]
async fn each_line_of_a_json_log_is_one_object_with_time_level_target_message_and_fields() {
    let node = Node::start(&[("LOG__FORMAT", "json"), ("LOG__LEVEL", "debug")]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    client.subscribe(entry("orders")).await;
    emit(&node, &tokens.api, r#"{"name":"orders","eventData":{"secret-data":1}}"#);
    client.next_notification().await;
    assert_eq!(disconnect_user(&node, "u1\n\"x\"").status, 200);
    eventually("the line of the disconnect", || node.log().contains("disconnected all sessions"));
    let lines = json_lines(&node.log());
    for line in &lines {
        for member in ["time", "level", "target", "message"] {
            assert!(line[member].is_string(), "{line} has no {member}");
        }
        let time = line["time"].as_str().unwrap_or_default();
        assert!(time.len() == "2026-01-02T03:04:05.678Z".len() && time.ends_with('Z'), "{line}");
    }
    let listens = lines.iter().find(|line| line["address"] == node.address().to_string());
    assert_eq!(listens.expect("the line of the start")["level"], "info");
    assert!(!node.log().contains("secret-data") && !node.log().contains(&tokens.api));
}

#[test]
fn the_log_line_of_a_disconnect_names_project_user_and_calling_application() {
    let node = Node::start(&[("LOG__FORMAT", "json")]);
    assert_eq!(disconnect_user(&node, "u7").status, 200);
    let lines = json_lines(&node.log());
    let line = lines.iter().find(|line| line["user"] == "u7").expect("a line that names the user");
    assert_eq!((&line["project"], &line["level"]), (&json!("demo"), &json!("info")));
    assert!(line["by"].as_str().is_some_and(|by| !by.is_empty()), "{line}");
}

#[test]
fn a_text_log_has_the_fields_after_the_message() {
    let node = Node::start(&[]);
    assert_eq!(disconnect_user(&node, "u 7").status, 200);
    let log = node.log();
    let line = log.lines().find(|line| line.contains("disconnected all sessions of a user on this node"));
    let line = line.unwrap_or_else(|| panic!("no such line in {log}"));
    assert!(line.contains(" INFO ") && line.contains(r#" project=demo user="u 7" by="#), "{line}");
}

#[test]
fn log_level_decides_what_is_logged_and_rust_log_wins_over_it() {
    let quiet = Node::start(&[("LOG__LEVEL", "error")]);
    assert_eq!(quiet.log(), "");
    let directory = tempfile::tempdir().expect("a directory");
    let mut program = command(directory.path(), &[("LOG__LEVEL", "error")]);
    program.env("RUST_LOG", "info");
    let node = Node::launch(directory, program);
    assert!(node.log().contains("the node listens on"), "{}", node.log());
}

#[tokio::test]
async fn a_limit_that_is_reached_often_is_logged_once_with_its_name() {
    let node = Node::start(&[("LOG__FORMAT", "json"), ("LIMITS__SESSIONS_PER_USER", "1")]);
    let tokens = node.tokens();
    let _first = Client::connect(&node, &tokens).await;
    for _ in 0..5 {
        assert!(Client::try_open(&node, "/ws", &tokens.headers()).await.is_err(), "a second session of the user");
    }
    let lines = || json_lines(&node.log()).into_iter().filter(|line| line["limit"] == "sessions_per_user").count();
    eventually("a line that names the limit", || lines() > 0);
    assert_eq!(lines(), 1);
}

#[test]
fn a_refused_start_is_a_json_line_too() {
    let node = Node::start(&[]);
    let lines = json_lines(&refused_start(command(node.directory(), &[("LOG__FORMAT", "json")])));
    let line = lines.last().expect("a line");
    assert_eq!(line["level"], "error");
    let cause = line["cause"].as_str().unwrap_or_default();
    assert!(cause.contains(node.directory().to_str().expect("a path of UTF-8")), "{line}");
}
