//! A MongoDB for tests: the shared server at `CARILLON_TEST_MONGODB_URI`, or a server of the test that it can kill.
//!
//! The server of a test is nx-27017, which speaks the wire protocol of MongoDB. `CARILLON_TEST_NX_27017` is the path of
//! the program (`tests/run` installs it). Without these variables, the tests that need them are skipped with a message.

use super::process::{command, program, wait};
use super::{DEADLINE, Node, Tokens};
use carillon::catalogue::MongoCatalogue;
use mongodb::bson::{Document, doc};
use rustix::process::{Pid, Signal, kill_process};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SERVER: &str = "CARILLON_TEST_MONGODB_URI";
const OWN_SERVER: &str = "CARILLON_TEST_NX_27017";

/// A database for one test.
pub struct Database {
    uri: String,
    name: String,
}

impl Database {
    /// Creates a database on the server at this address.
    pub fn on(uri: String) -> Database {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a date of this age");
        let name = format!("carillon_{}_{number}_{}", std::process::id(), since.as_millis());
        Database { uri, name }
    }

    /// Creates a database on the shared server. `None`, with a message, if there is none.
    pub fn shared() -> Option<Database> {
        let uri = std::env::var(SERVER).ok();
        if uri.is_none() {
            eprintln!("not run: {SERVER} names no MongoDB");
        }
        uri.map(Database::on)
    }

    /// The settings of a node on this database, with further settings of the test.
    pub fn settings<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let ours = [
            ("CATALOGUE__KIND", "mongodb"),
            ("CATALOGUE__MONGODB__URI", self.uri.as_str()),
            ("CATALOGUE__MONGODB__DATABASE", self.name.as_str()),
        ];
        [&ours[..], more].concat()
    }

    /// Starts a node on this database.
    pub fn start_node(&self, more: &[(&str, &str)]) -> Node {
        Node::start(&self.settings(more))
    }

    /// Runs a command of the program on this database.
    pub fn run(&self, words: &[&str]) -> Output {
        let nowhere = tempfile::tempdir().expect("a folder that stays empty");
        let settings = self.settings(&[]);
        command(nowhere.path(), &settings).args(words).output().expect("the program runs")
    }

    /// Both tokens of a project, signed by the command line.
    pub fn tokens(&self, project: &str) -> Tokens {
        Tokens {
            api: self.token(&["api", "--project", project, "--name", "tests", "--scope", "connect,emit"]),
            user: self.token(&["user", "--project", project, "--sub", "u1"]),
        }
    }

    /// A token, signed by `carillon token` with these arguments.
    pub fn token(&self, words: &[&str]) -> String {
        let output = self.run(&[&["token"][..], words].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a text").trim().to_owned()
    }

    /// The catalogue of the program, for operations without a command.
    pub async fn catalogue(&self) -> MongoCatalogue {
        MongoCatalogue::connect(&self.uri.as_str().into(), &self.name).await.expect("a sound address")
    }

    /// The number of documents in a collection.
    pub async fn count(&self, collection: &str) -> u64 {
        let database = self.database().await;
        database.collection::<Document>(collection).count_documents(doc! {}).await.expect("a number")
    }

    /// Removes the database from the shared server.
    pub async fn remove(self) {
        self.database().await.drop().await.expect("dropped");
    }

    async fn database(&self) -> mongodb::Database {
        mongodb::Client::with_uri_str(&self.uri).await.expect("a client").database(&self.name)
    }
}

/// A server of the test. Dropping it kills the process.
pub struct Server {
    program: PathBuf,
    address: SocketAddr,
    directory: TempDir,
    process: Option<Child>,
}

impl Server {
    /// A server that is not started yet. `None`, with a message, if there is no program for it.
    pub fn new() -> Option<Server> {
        let Some(program) = std::env::var_os(OWN_SERVER) else {
            eprintln!("not run: {OWN_SERVER} names no nx-27017");
            return None;
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let directory = tempfile::tempdir().expect("a folder for its data");
        Some(Server { program: program.into(), address, directory, process: None })
    }

    /// A started server.
    pub fn started() -> Option<Server> {
        let mut server = Server::new()?;
        server.start();
        Some(server)
    }

    /// Starts the server, with the same data and port each time, and waits until it listens.
    pub fn start(&mut self) {
        let file = |name: &str| self.directory.path().join(name);
        let child = Command::new(&self.program)
            .args(["--host", "127.0.0.1", "--port", &self.address.port().to_string(), "--data-dir"])
            .arg(file("data"))
            .arg("--log-file")
            .arg(file("log"))
            .arg("--pid-file")
            .arg(file("pid"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = self.process.insert(child.expect("nx-27017 starts"));
        let end = Instant::now() + DEADLINE;
        while TcpStream::connect(self.address).is_err() {
            assert!(child.try_wait().expect("a child of ours").is_none(), "nx-27017 has ended");
            assert!(Instant::now() < end, "nx-27017 does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Creates a database on this server.
    pub fn database(&self) -> Database {
        Database::on(format!("mongodb://{}", self.address))
    }

    /// Kills the server (SIGKILL).
    pub fn kill(&mut self) {
        if let Some(mut child) = self.process.take() {
            child.kill().expect("it still runs");
            wait(&mut child);
        }
    }

    /// Sends the server a signal.
    pub fn signal(&self, signal: Signal) {
        let child = self.process.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), signal).expect("it still runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a command of the program without waiting for it.
pub fn spawn(database: &Database, words: &[&str]) -> Child {
    let mut child = Command::new(program());
    for (name, value) in database.settings(&[]) {
        child.env(format!("CARILLON__{name}"), value);
    }
    child.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    child.spawn().expect("the program starts")
}
