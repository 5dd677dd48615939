//! Runs the real program in its own process: starts it on a free port, sends signals, and stops it.

use super::DEADLINE;
use super::process::{POLL_INTERVAL, command, program, wait};
use super::tokens::{Claims, Tokens};
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A running node. Dropping it kills the process, and prints its log if the test has failed.
pub struct Node {
    child: Child,
    directory: Option<TempDir>,
    address: SocketAddr,
}

impl Node {
    /// Starts a node on a fresh data directory and waits until it listens.
    ///
    /// `settings` are environment variables without the prefix `CARILLON__`, such as `("LIMITS__SESSIONS", "1")`.
    pub fn start(settings: &[(&str, &str)]) -> Node {
        let directory = tempfile::tempdir().expect("a directory for the node's data");
        Node::start_in(directory, settings)
    }

    /// Starts a node with a limit of open files.
    pub fn start_with_open_files(most: u32) -> Node {
        let directory = tempfile::tempdir().expect("a directory for the node's data");
        let node = command(directory.path(), &[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {most} && exec \"$0\""), &program()]).stdin(Stdio::null());
        shell.envs(node.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
        Node::launch(directory, shell)
    }

    /// Starts a node that sees these files (path, text) in place of the system's.
    pub fn start_with_system(files: &[(&str, &str)], settings: &[(&str, &str)]) -> Node {
        Node::launch_with_system(files, "true", settings)
    }

    /// The same, with read-only files.
    pub fn start_with_system_closed(files: &[(&str, &str)], settings: &[(&str, &str)]) -> Node {
        Node::launch_with_system(files, "mount -o remount,bind,ro \"$path\"", settings)
    }

    /// Uses a mount namespace and a user namespace, so that the test needs no root.
    fn launch_with_system(files: &[(&str, &str)], then: &str, settings: &[(&str, &str)]) -> Node {
        let directory = tempfile::tempdir().expect("a directory for the node's data");
        let mut script = "set -e; program=$0; ".to_owned();
        for (path, text) in files {
            let ours = system_file(directory.path(), path);
            fs::write(&ours, text).expect("a file");
            script += &format!("path={path}; mount --bind {} \"$path\"; {then}; ", ours.display());
        }
        script += "exec \"$program\"";
        let node = command(directory.path(), settings);
        let mut shell = Command::new("unshare");
        shell.args(["--mount", "--map-root-user", "sh", "-c", &script, &program()]).stdin(Stdio::null());
        shell.envs(node.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
        Node::launch(directory, shell)
    }

    /// The file that the node sees in place of the system's file.
    pub fn system_file(&self, path: &str) -> PathBuf {
        system_file(self.directory(), path)
    }

    /// Starts a node on the data directory of another one.
    pub fn start_in(directory: TempDir, settings: &[(&str, &str)]) -> Node {
        // The address that a killed node left would be mistaken for the new one.
        let _ = fs::remove_file(directory.path().join("node.address"));
        let program = command(directory.path(), settings);
        Node::launch(directory, program)
    }

    /// Starts a command made by [`command`], and waits until the node listens.
    pub fn launch(directory: TempDir, program: Command) -> Node {
        let stdout = File::create(directory.path().join("stdout")).expect("a file for stdout");
        Node::launch_with_stdout(directory, program, stdout.into())
    }

    /// The same with another standard output, which [`Node::output`] does not show.
    pub fn launch_with_stdout(directory: TempDir, mut program: Command, stdout: Stdio) -> Node {
        let mut child = program
            .stdout(stdout)
            .stderr(File::create(directory.path().join("stderr")).expect("a file for stderr"))
            .spawn()
            .expect("the program starts");
        let address = address_of(&mut child, directory.path());
        Node { child, directory: Some(directory), address }
    }

    /// Where the node listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The node's data directory.
    pub fn directory(&self) -> &Path {
        self.directory.as_ref().expect("present until it is returned").path()
    }

    /// The node's log so far: what it has written to standard error.
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory().join("stderr")).expect("the log")
    }

    /// What the node has written to standard error and standard output so far.
    pub fn output(&self) -> String {
        ["stderr", "stdout"].map(|name| fs::read_to_string(self.directory().join(name)).unwrap_or_default()).concat()
    }

    /// An API token with both scopes and the token of user `u1`, good for an hour.
    pub fn tokens(&self) -> Tokens {
        Tokens { api: self.token(Claims::api("connect emit")), user: self.token(Claims::user("u1")) }
    }

    /// Signs `claims` with the project's key.
    pub fn token(&self, claims: Claims) -> String {
        claims.sign(self.directory())
    }

    /// A value of `/metrics`: the sum over the lines of the metric `name` that contain `label`.
    pub fn metric(&self, name: &str, label: &str) -> f64 {
        let text = super::request(self.address, "GET", "/metrics", &[], b"").text();
        text.lines()
            .filter(|line| !line.starts_with('#') && line.contains(label))
            .filter_map(|line| line.rsplit_once(' '))
            .filter(|(series, _)| series.split('{').next() == Some(name))
            .filter_map(|(_, value)| value.parse::<f64>().ok())
            .sum()
    }

    /// How often the node has reached the limit of this name.
    pub fn limit_count(&self, limit: &str) -> f64 {
        self.metric("carillon_limits_total", &format!(r#"limit="{limit}""#))
    }

    /// Bytes in the kernel's send queue for the connection of `client`, as `/proc/net/tcp` shows them (proc(5)). `None`
    /// if the node's end of that connection no longer exists.
    pub fn kernel_send_queue(&self, client: SocketAddr) -> Option<usize> {
        let ends_with_port = |field: &str, port: u16| field.ends_with(&format!(":{port:04X}"));
        let table = fs::read_to_string("/proc/net/tcp").expect("the kernel's table of connections");
        let connection = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).find(|fields| {
            ends_with_port(fields[1], self.address.port()) && ends_with_port(fields[2], client.port())
        })?;
        let (send_queue, _) = connection[4].split_once(':').expect("two queues");
        Some(usize::from_str_radix(send_queue, 16).expect("a number"))
    }

    /// The processor time that the node has used so far.
    pub fn processor_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("the node still runs");
        // After the name, which ends with the last bracket, fields 12 and 13 are the ticks in user and system mode.
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        let ticks: u64 = fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
    }

    /// Runs a command of the program with the settings of the node.
    pub fn run(&self, settings: &[(&str, &str)], words: &[&str]) -> Output {
        command(self.directory(), settings).args(words).output().expect("the program runs")
    }

    /// The resident set of the node, in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.child.id())).expect("the node still runs");
        let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number");
        pages * rustix::param::page_size() as u64
    }

    /// Sends the node a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the node still runs");
    }

    /// Waits until the node exits.
    pub fn wait(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }

    /// Returns the data directory of a node that has exited.
    pub fn leave(mut self) -> TempDir {
        self.directory.take().expect("present until it is returned")
    }

    /// Kills the node (SIGKILL). Returns its data directory.
    pub fn kill(mut self) -> TempDir {
        self.child.kill().expect("the node still runs");
        self.wait();
        self.leave()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let (true, Some(directory)) = (std::thread::panicking(), &self.directory) {
            let log = fs::read_to_string(directory.path().join("stderr")).unwrap_or_default();
            eprintln!("--- the node's log\n{log}---");
        }
    }
}

fn system_file(directory: &Path, path: &str) -> PathBuf {
    directory.join(path.replace('/', "_"))
}

/// Waits for the address file, which the node writes once it listens.
fn address_of(child: &mut Child, directory: &Path) -> SocketAddr {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Ok(text) = fs::read_to_string(directory.join("node.address")) {
            return text.trim().parse().expect("an address and a port");
        }
        if child.try_wait().expect("a child of ours").is_some() || Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            let log = fs::read_to_string(directory.join("stderr")).unwrap_or_default();
            panic!("the node does not listen\n{log}");
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
