//! The server under load: found by its process ids, or started here and ended with the run.

use crate::options::Common;
use crate::sampling::process;
use rustix::process::{Pid, Signal, kill_process};
use std::net::{SocketAddrV4, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a server that is started here may take to listen, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one that runs already may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// Why there is no server.
#[derive(Debug, Error)]
pub enum ServerError {
    #[error("the server can't be started: {0}")]
    Start(std::io::Error),
    #[error("nobody listens on {0}: start the server, or name it with --target, or let it be started with --start")]
    Deaf(SocketAddrV4),
    #[error("the server ended before it listened: {0}")]
    Ended(std::process::ExitStatus),
    #[error("the server does not end within a minute of being asked to")]
    Endless,
}

/// The processes under load.
#[derive(Debug)]
pub struct Server {
    commands: Vec<String>,
    targets: Vec<SocketAddrV4>,
    children: Vec<Child>,
    given: Vec<u32>,
}

impl Server {
    /// Starts what is to be started, and waits until every target listens.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn open(common: &Common) -> Result<Server, ServerError> {
        let mut server = Server {
            commands: common.start.clone(),
            targets: common.target.clone(),
            children: Vec::new(),
            given: common.server_pid.clone(),
        };
        server.start()?;
        Ok(server)
    }

    /// Whether it can be stopped and started again here.
    pub fn is_ours(&self) -> bool {
        !self.commands.is_empty()
    }

    /// CPU seconds so far; none where no process is known.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.sample(process::cpu_seconds)
    }

    /// Resident bytes; none where no process is known.
    pub fn resident_bytes(&self) -> Option<u64> {
        self.sample(process::resident_bytes)
    }

    /// Starts the commands, and waits until every target listens.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn start(&mut self) -> Result<(), ServerError> {
        for command in &self.commands {
            let child = Command::new("sh")
                .args(["-c", &format!("exec {command}")])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .map_err(ServerError::Start)?;
            self.children.push(child);
        }
        let until = Instant::now() + if self.is_ours() { PATIENCE } else { ANSWER_WITHIN };
        for target in self.targets.clone() {
            while TcpStream::connect_timeout(&target.into(), PAUSE).is_err() {
                self.check_alive()?;
                if Instant::now() > until {
                    return Err(ServerError::Deaf(target));
                }
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Asks what was started here to end, and waits for it.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn stop(&mut self) -> Result<(), ServerError> {
        for child in &self.children {
            if let Some(pid) = Pid::from_raw(child.id() as i32) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        let until = Instant::now() + PATIENCE;
        for mut child in self.children.drain(..) {
            while child.try_wait().map_err(ServerError::Start)?.is_none() {
                if Instant::now() > until {
                    return Err(ServerError::Endless);
                }
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    fn check_alive(&mut self) -> Result<(), ServerError> {
        for child in &mut self.children {
            if let Some(status) = child.try_wait().map_err(ServerError::Start)? {
                return Err(ServerError::Ended(status));
            }
        }
        Ok(())
    }

    fn sample<T>(&self, read: impl Fn(&[u32]) -> T) -> Option<T> {
        let pids: Vec<u32> = self.given.iter().copied().chain(self.children.iter().map(Child::id)).collect();
        (!pids.is_empty()).then(|| read(&pids))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
