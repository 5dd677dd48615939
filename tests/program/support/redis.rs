//! A Redis of a test's own: started on a free port, killed, stopped for a while, started again.

use super::DEADLINE;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The password of the default user of every Redis here: what needs none is tested along the way by nobody.
const PASSWORD: &str = "open-sesame";

/// A running `redis-server`, with a password. Killed when dropped.
pub struct RedisServer {
    child: Child,
    directory: TempDir,
    port: u16,
}

impl RedisServer {
    /// Starts one on a free port and waits until it answers.
    pub fn start() -> RedisServer {
        let directory = tempfile::tempdir().expect("a directory for Redis");
        let port = free_port();
        let child = spawn(&directory, port);
        let server = RedisServer { child, directory, port };
        server.await_answer();
        server
    }

    /// Its address with user, password and a database.
    pub fn url(&self) -> String {
        format!("redis://default:{PASSWORD}@127.0.0.1:{}/3", self.port)
    }

    /// Ends it the hard way.
    pub fn kill(&mut self) {
        self.child.kill().expect("Redis still runs");
        self.child.wait().expect("a child of ours");
    }

    /// Starts it again, empty, on the same port.
    pub fn start_again(&mut self) {
        self.child = spawn(&self.directory, self.port);
        self.await_answer();
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("Redis still runs");
    }

    /// Asks it something; an answer that is not a text is given as its lines.
    pub fn ask(&self, words: &[&str]) -> String {
        self.try_ask(words).expect("Redis answers")
    }

    fn try_ask(&self, words: &[&str]) -> std::io::Result<String> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let mut reader = BufReader::new(stream);
        write_command(reader.get_mut(), &["AUTH", PASSWORD])?;
        read_answer(&mut reader)?;
        write_command(reader.get_mut(), words)?;
        read_answer(&mut reader)
    }

    fn await_answer(&self) {
        super::eventually("an answer of Redis", || self.try_ask(&["PING"]).is_ok_and(|answer| answer == "+PONG"));
    }
}

impl Drop for RedisServer {
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
