//! Starts a real node on a free port, and runs the load tool as a user does.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The deadline of waits: far longer than a busy machine needs.
const DEADLINE: Duration = Duration::from_secs(60);

/// The file that a node writes its address to.
const ADDRESS_FILE: &str = "node.address";

/// A node. Dropping it ends the process.
pub struct Node {
    process: Child,
    folder: Option<TempDir>,
    address: String,
}

/// The node under test: CARILLON_LOAD_NODE, or the binary beside the load tool, where the workspace build puts it.
fn program() -> PathBuf {
    let beside = PathBuf::from(env!("CARGO_BIN_EXE_carillon-load")).with_file_name("carillon");
    std::env::var_os("CARILLON_LOAD_NODE").map_or(beside, PathBuf::from)
}

impl Node {
    /// Starts a node on a fresh data folder.
    pub fn start() -> Node {
        Node::start_on(tempfile::tempdir().expect("a folder"))
    }

    /// Starts a second node with a copy of the catalogue, so that it accepts the same tokens.
    pub fn start_like(&self) -> Node {
        let folder = tempfile::tempdir().expect("a folder");
        for file in std::fs::read_dir(self.folder()).expect("a folder").map(|file| file.expect("a file")) {
            if file.file_name() != ADDRESS_FILE {
                std::fs::copy(file.path(), folder.path().join(file.file_name())).expect("a copy");
            }
        }
        Node::start_on(folder)
    }

    fn start_on(folder: TempDir) -> Node {
        let process = Command::new(program())
            .env("CARILLON__HTTP__BIND", "127.0.0.1:0")
            .env("CARILLON__DATA__DIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the node can be started: cargo build");
        let mut address = String::new();
        eventually("a node that listens", || {
            address = std::fs::read_to_string(folder.path().join(ADDRESS_FILE)).unwrap_or_default();
            !address.is_empty()
        });
        Node { process, folder: Some(folder), address: address.trim().to_owned() }
    }

    pub fn address(&self) -> String {
        self.address.clone()
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    fn folder(&self) -> &str {
        self.folder.as_ref().and_then(|folder| folder.path().to_str()).expect("a folder named in text")
    }

    /// The command that starts a node on the same address and folder.
    pub fn start_command(&self) -> String {
        let (address, folder) = (&self.address, self.folder());
        format!("env CARILLON__HTTP__BIND={address} CARILLON__DATA__DIR={folder} {} 2>/dev/null", program().display())
    }

    /// Ends the node and keeps its data.
    pub fn into_folder(mut self) -> TempDir {
        self.folder.take().expect("a node has its folder until its end")
    }

    /// A value of `/metrics`, by its name with all labels.
    pub fn metric(&self, name: &str) -> u64 {
        let mut stream = TcpStream::connect(&self.address).expect("the node listens");
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).expect("the node reads");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("the node answers");
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("{name} is missing in {page}"))
    }

    /// Asserts the value of a metric. Waits while the node still has sessions.
    pub fn expect(&self, name: &str, value: u64) {
        let end = Instant::now() + DEADLINE;
        while self.metric(name) != value && Instant::now() < end && self.metric("carillon_sessions") > 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.metric(name), value, "{name}");
    }

    /// Waits until a metric has this value.
    pub fn await_value(&self, name: &str, value: u64) {
        eventually(name, || self.metric(name) == value);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until `check` holds.
pub fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !check() {
        assert!(Instant::now() < end, "in {DEADLINE:?} never saw: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts the tool with only these options.
pub fn command(options: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_carillon-load"))
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool can be started")
}

/// Starts the tool against a node.
pub fn start(node: &Node, options: &[&str]) -> Child {
    let (address, pid) = (node.address(), node.pid().to_string());
    let common = ["--target", &address, "--data", node.folder(), "--server-pid", &pid, "--json", "-"];
    command(&[options, &common].concat())
}

/// Waits for the successful end of the tool. Returns its result.
pub fn finish(child: Child) -> Value {
    let output = child.wait_with_output().expect("an end");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {words}"))
}

/// Its result after Ctrl+C.
pub fn interrupt(child: Child) -> Value {
    super::send_interrupt(child.id());
    finish(child)
}

/// Runs the tool against a node. Returns its result.
pub fn load(node: &Node, options: &[&str]) -> Value {
    finish(start(node, options))
}

/// A count of the whole run.
pub fn count(result: &Value, name: &str) -> u64 {
    result["total"]["counters"][name].as_u64().unwrap_or(0)
}
