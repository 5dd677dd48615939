//! A Redis for tests: the shared server at `CARILLON_TEST_REDIS_URL`, or a server of the test on a free port that it
//! can kill, stop and start again.
//!
//! On the shared server, each test has its own prefix. Tests that kill a server, change its settings or count its
//! commands need their own. If there is a shared server, they are skipped with a message.

use super::DEADLINE;
use super::redis_url::RedisUrl;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const SERVER: &str = "CARILLON_TEST_REDIS_URL";

/// The password of the default user. Every test server has one, so that the tests cover authentication.
const PASSWORD: &str = "open-sesame";

/// A running Redis, and the prefix of the test.
pub struct RedisServer {
    url: String,
    prefix: String,
    own: Option<OwnServer>,
}

/// A `redis-server` of the test, with a password. Dropping it kills the process.
struct OwnServer {
    child: Child,
    directory: TempDir,
    port: u16,
}

impl RedisServer {
    /// The shared server, or else a server of the test.
    pub fn start() -> RedisServer {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let Ok(url) = std::env::var(SERVER) else { return RedisServer::start_own() };
        let prefix = format!("carillon-{}-{}:", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let server = RedisServer { url, prefix, own: None };
        server.await_answer();
        server
    }

    /// A server of the test. `None`, with a message, if there is a shared server.
    pub fn own() -> Option<RedisServer> {
        if std::env::var_os(SERVER).is_some() {
            eprintln!("not run: it needs a Redis of its own, and {SERVER} names another");
            return None;
        }
        Some(RedisServer::start_own())
    }

    fn start_own() -> RedisServer {
        let directory = tempfile::tempdir().expect("a directory for Redis");
        let port = free_port();
        let child = spawn(&directory, port);
        let url = format!("redis://default:{PASSWORD}@127.0.0.1:{port}/3");
        let server =
            RedisServer { url, prefix: "carillon:".to_owned(), own: Some(OwnServer { child, directory, port }) };
        server.await_answer();
        server
    }

    /// The address with user, password and database.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The address without user and password, as logs show it.
    pub fn address(&self) -> String {
        let url = RedisUrl::read(&self.url);
        format!("{}/{}", url.host, url.database)
    }

    /// The prefix of all channels and keys of the test.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The number of subscribers of a channel, whose name is given without the prefix.
    pub fn subscribers(&self, channel: &str) -> u64 {
        let answer = self.ask(&["PUBSUB", "NUMSUB", &format!("{}{channel}", self.prefix)]);
        answer.rsplit(':').next().and_then(|count| count.parse().ok()).expect("a number")
    }

    /// Kills the server (SIGKILL).
    pub fn kill(&mut self) {
        let own = self.own.as_mut().expect("a server of our own");
        own.child.kill().expect("Redis still runs");
        own.child.wait().expect("a child of ours");
    }

    /// Starts the server again on the same port, without data.
    pub fn start_again(&mut self) {
        let own = self.own.as_mut().expect("a server of our own");
        own.child = spawn(&own.directory, own.port);
        self.await_answer();
    }

    /// Sends the server a signal.
    pub fn signal(&self, signal: Signal) {
        let own = self.own.as_ref().expect("a server of our own");
        kill_process(Pid::from_child(&own.child), signal).expect("Redis still runs");
    }

    /// Sends a command. Returns the reply, or its lines if it is not a string.
    pub fn ask(&self, words: &[&str]) -> String {
        self.try_ask(words).expect("Redis answers")
    }

    fn try_ask(&self, words: &[&str]) -> std::io::Result<String> {
        let url = RedisUrl::read(&self.url);
        let stream = TcpStream::connect(url.host)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let mut reader = BufReader::new(stream);
        if let Some((user, password)) = url.login {
            write_command(reader.get_mut(), &["AUTH", user, password])?;
            read_answer(&mut reader)?;
        }
        write_command(reader.get_mut(), &["SELECT", url.database])?;
        read_answer(&mut reader)?;
        write_command(reader.get_mut(), words)?;
        read_answer(&mut reader)
    }

    fn await_answer(&self) {
        super::eventually("an answer of Redis", || self.try_ask(&["PING"]).is_ok_and(|answer| answer == "+PONG"));
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(directory: &TempDir, port: u16) -> Child {
    let port = port.to_string();
    Command::new("redis-server")
        .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(["--requirepass", PASSWORD, "--logfile", "redis.log"])
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server is installed (tests/run installs it)")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

fn write_command(stream: &mut TcpStream, words: &[&str]) -> std::io::Result<()> {
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        text.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    stream.write_all(text.as_bytes())
}

fn read_answer(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let line = line.trim_end().to_owned();
    let length = |text: &str| text.parse::<usize>().unwrap_or(0);
    if let Some(bytes) = line.strip_prefix('$') {
        let mut text = vec![0; length(bytes) + 2];
        reader.read_exact(&mut text)?;
        text.truncate(length(bytes));
        return Ok(String::from_utf8_lossy(&text).into_owned());
    }
    if let Some(items) = line.strip_prefix('*') {
        let items: std::io::Result<Vec<String>> = (0..length(items)).map(|_| read_answer(reader)).collect();
        return Ok(items?.join("\n"));
    }
    Ok(line)
}
