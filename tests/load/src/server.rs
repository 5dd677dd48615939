//! The server under load: found by its process ids, or started by the load tool and stopped with the run.

use crate::options::Common;
use crate::sampling::process;
use rustix::process::{Pid, Signal, kill_process};
use std::net::{SocketAddrV4, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Timeout for a server that is started here: to listen, and to stop.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for a connection to a server that already runs.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Why the server can't be used.
#[derive(Debug, Error)]
pub enum ServerError {
    #[error("the server can't be started: {0}")]
    Start(std::io::Error),
    #[error("no server listens on {0}: start the server, name its address with --target, or start it with --start")]
    NotListening(SocketAddrV4),
    #[error("the server ended before it listened: {0}")]
    Ended(std::process::ExitStatus),
    #[error("the server did not stop within a minute after SIGTERM")]
    DoesNotStop,
}

/// The processes under load.
#[derive(Debug)]
pub struct Server {
    commands: Vec<String>,
    targets: Vec<SocketAddrV4>,
    children: Vec<Child>,
    pids: Vec<u32>,
}

impl Server {
    /// Starts the server if there is a command for it, and waits until every target listens.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn open(common: &Common) -> Result<Server, ServerError> {
        let mut server = Server {
            commands: common.start.clone(),
            targets: common.target.clone(),
            children: Vec::new(),
            pids: common.server_pid.clone(),
        };
        server.start()?;
        Ok(server)
    }

    /// Whether the load tool started the server and can restart it.
    pub fn is_started_here(&self) -> bool {
        !self.commands.is_empty()
    }

    /// CPU seconds so far, or `None` if no process is known.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.sample(process::cpu_seconds)
    }

    /// Resident bytes, or `None` if no process is known.
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
        let until = Instant::now() + if self.is_started_here() { START_TIMEOUT } else { CONNECT_TIMEOUT };
        for target in self.targets.clone() {
            while TcpStream::connect_timeout(&target.into(), POLL_INTERVAL).is_err() {
                self.check_alive()?;
                if Instant::now() > until {
                    return Err(ServerError::NotListening(target));
                }
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(())
    }

    /// Stops the processes that were started here, and waits for their end.
    ///
    /// # Errors
    /// [`ServerError`].
    pub fn stop(&mut self) -> Result<(), ServerError> {
        for child in &self.children {
            if let Some(pid) = Pid::from_raw(child.id() as i32) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        let until = Instant::now() + START_TIMEOUT;
        for mut child in self.children.drain(..) {
            while child.try_wait().map_err(ServerError::Start)?.is_none() {
                if Instant::now() > until {
                    return Err(ServerError::DoesNotStop);
                }
                std::thread::sleep(POLL_INTERVAL);
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
        let pids: Vec<u32> = self.pids.iter().copied().chain(self.children.iter().map(Child::id)).collect();
        (!pids.is_empty()).then(|| read(&pids))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
