//! `carillon health`: asks the node of this data folder whether it is alive or ready. For health checks in images
//! without a shell.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::Failure;
use super::output::{Answer, Format};
use crate::settings::Loaded;

/// The longest wait for each step: connecting, sending, receiving.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A status line is shorter than this, in bytes.
const STATUS_LINE_BYTES: u64 = 256;

#[derive(Debug, Args)]
pub(super) struct HealthCommand {
    /// Asks /readyz instead of /healthz: also fails if the node should not get new clients.
    #[arg(long)]
    ready: bool,
    #[command(flatten)]
    format: Format,
}

/// Why a node is not healthy.
#[derive(Debug, thiserror::Error)]
pub(super) enum HealthFailure {
    #[error("no node runs with this data.dir: cannot read {file}: {source}")]
    NoAddress { file: String, source: io::Error },
    #[error("{file} holds no address")]
    InvalidAddress { file: String },
    #[error("the node at {address} does not answer: {source}")]
    NoAnswer { address: SocketAddr, source: io::Error },
    #[error("the node at {address} answered {path} with: {status_line}")]
    Unhealthy { address: SocketAddr, path: &'static str, status_line: String },
}

impl HealthCommand {
    pub(super) fn run(&self, file: Option<&Path>) -> Result<(), Failure> {
        let settings = Loaded::from_process(file)?.settings;
        let path = if self.ready { "/readyz" } else { "/healthz" };
        let address = node_address(&settings.data.dir.join(crate::node::ADDRESS_FILE))?;
        let status_line = ask(address, path).map_err(|source| HealthFailure::NoAnswer { address, source })?;
        if status_line.split(' ').nth(1) != Some("200") {
            return Err(HealthFailure::Unhealthy { address, path, status_line }.into());
        }
        Answer::new("ok\n", json!({"address": address.to_string(), "path": path, "healthy": true})).print(self.format)
    }
}

/// The address in the file, which this machine can connect to: a node that listens on all addresses is asked on
/// loopback.
fn node_address(path: &Path) -> Result<SocketAddr, HealthFailure> {
    let file = path.display().to_string();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(source) => return Err(HealthFailure::NoAddress { file, source }),
    };
    let Ok(mut address) = text.trim().parse::<SocketAddr>() else {
        return Err(HealthFailure::InvalidAddress { file });
    };
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    Ok(address)
}

/// The status line of the answer to `GET path`, without characters that a terminal would interpret.
fn ask(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(STATUS_LINE_BYTES).read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    Ok(text.lines().next().unwrap_or_default().replace(|character: char| character.is_control(), ""))
}
