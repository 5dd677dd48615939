//! `carillon health`, which the image's health check runs.

use crate::support::process::command;
use crate::support::{Node, eventually};
use rustix::process::Signal;
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

fn health(directory: &Path, words: &[&str]) -> Output {
    command(directory, &[]).arg("health").args(words).output().unwrap()
}

fn error_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn health_finds_a_node_that_listens_on_every_address() {
    let node = Node::start(&[("HTTP__BIND", "0.0.0.0:0")]);
    for words in [&[][..], &["--ready"]] {
        let output = health(node.directory(), words);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"ok\n"[..]), "{output:?}");
    }
    let json: serde_json::Value = serde_json::from_slice(&health(node.directory(), &["--json"]).stdout).unwrap();
    assert_eq!(json["address"], format!("127.0.0.1:{}", node.address().port()));
}

#[test]
fn a_stopping_node_is_alive_and_not_ready() {
    let node = Node::start(&[("SHUTDOWN__NOTICE_SECONDS", "600")]);
    node.signal(Signal::TERM);
    eventually("the node is not ready", || health(node.directory(), &["--ready"]).status.code() == Some(1));
    let refused = error_of(&health(node.directory(), &["--ready"]));
    assert!(refused.contains("answered /readyz with: HTTP/1.1 503"), "{refused}");
    assert_eq!(health(node.directory(), &[]).status.code(), Some(0));
}

#[test]
fn health_names_the_cause_if_there_is_no_node() {
    let folder = tempfile::tempdir().unwrap();
    assert!(error_of(&health(folder.path(), &[])).starts_with("carillon: no node runs with this data.dir: "));
    let file = folder.path().join("node.address");
    std::fs::write(&file, "nonsense\n").unwrap();
    assert!(error_of(&health(folder.path(), &[])).ends_with("node.address holds no address\n"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(&file, silent.local_addr().unwrap().to_string()).unwrap();
    assert!(error_of(&health(folder.path(), &[])).contains("does not answer: "));
}
