//! What the operating system allows a node: open files, memory, tracked connections.
//!
//! Asked once, at the start, so that the operator hears which limit ends first before the clients do. It must never know
//! what a session is made of, only what one costs. Where `/proc` is absent, what it would tell stays unknown.

use std::fmt;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Of the open files, one in so many is kept for HTTP: emits have to come in while sessions fill the node.
const HTTP_SHARE: u64 = 16;

/// The most open files that are kept for HTTP: keep-alive connections of backends, not of people.
const HTTP_SHARE_AT_MOST: u64 = 4_096;

/// Open files of the node's own: standard streams, listener, the catalogue's database with its journal, and for each worker
/// thread its polls, wake-ups and signal pipes (about seven).
const OWN_FILES: u64 = 128;

/// What an idle session with two tokens, one subscription and its own condition may cost in this process, in bytes: the
/// budget of the design, which `docs/benchmarks.md` holds against the measurement.
const PROCESS_BYTES_PER_CLIENT: u64 = 700;

/// What the kernel keeps for one idle TCP socket with empty buffers, in bytes: socket, file, directory entry, epoll entry.
/// Published measurements of idle WebSockets on Linux give 4.4 KB.
const KERNEL_BYTES_PER_CLIENT: u64 = 4_400;

/// The limit of open files of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// The soft limit that the process was started with.
    pub soft_before: u64,
    /// The limit in force.
    pub limit: u64,
}

/// How the open files are shared out between sessions and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionBudget {
    /// The most sessions that the node takes.
    pub sessions: u64,
    /// Open files that are kept for HTTP connections.
    pub kept_for_http: u64,
    /// What decided the number of sessions: [`Limit::Setting`] or [`Limit::OpenFiles`].
    pub decided_by: Limit,
}

/// What can end the growth of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `limits.sessions`.
    Setting,
    /// Open files of the process (`ulimit -n`).
    OpenFiles,
    /// Memory of the machine or the container.
    Memory,
    /// Connections that the firewall tracks (`nf_conntrack_max`).
    TrackedConnections,
}

/// What the machine can give; `None` where it doesn't say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Memory that can be taken without swapping, in bytes.
    pub available_memory: Option<u64>,
    /// Connections that the firewall tracks at the most.
    pub tracked_connections: Option<u64>,
}

/// The limit that ends first, and at how many clients. Its text is one line for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstLimit {
    pub limit: Limit,
    pub clients: u64,
}

/// Raises the soft limit of open files to the hard one. Where that is refused, the limit stays as it was.
pub fn raise_open_files() -> OpenFiles {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => getrlimit(Resource::Nofile),
        Err(_) => before,
    };
    // No limit at all is possible where the system has another one behind (macOS).
    let count = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    OpenFiles { soft_before: count(before.current), limit: count(now.current) }
}

impl SessionBudget {
    /// Shares out the open files. `setting` is `limits.sessions`: 0 takes what the files allow, more than they allow is cut.
    pub fn from(open_files: u64, setting: usize) -> Self {
        let kept_for_http = (open_files / HTTP_SHARE).min(HTTP_SHARE_AT_MOST);
        let possible = open_files.saturating_sub(kept_for_http + OWN_FILES);
        let wanted = setting as u64;
        let (sessions, decided_by) = match wanted {
            1.. if wanted <= possible => (wanted, Limit::Setting),
            _ => (possible, Limit::OpenFiles),
        };
        Self { sessions, kept_for_http, decided_by }
    }

    /// Which limit ends first on this machine, and at how many clients.
    pub fn first_limit(&self, machine: &Machine) -> FirstLimit {
        let budget = FirstLimit { limit: self.decided_by, clients: self.sessions };
        let memory = machine.available_memory.map(|bytes| FirstLimit {
            limit: Limit::Memory,
            clients: bytes / (PROCESS_BYTES_PER_CLIENT + KERNEL_BYTES_PER_CLIENT),
        });
        let tracked = machine
            .tracked_connections
            .map(|connections| FirstLimit { limit: Limit::TrackedConnections, clients: connections });
        [memory, tracked].into_iter().flatten().fold(budget, |first, other| match other.clients < first.clients {
            true => other,
            false => first,
        })
    }
}

impl Machine {
    /// Asks this machine.
    pub fn read() -> Self {
        let read = |path: &str| std::fs::read_to_string(Path::new(path)).ok();
        let of_machine = read("/proc/meminfo").as_deref().and_then(available_memory);
        let of_container = read("/sys/fs/cgroup/memory.max")
            .zip(read("/sys/fs/cgroup/memory.current"))
            .and_then(|(most, used)| container_memory(&most, &used));
        Self {
            available_memory: of_machine.into_iter().chain(of_container).min(),
            tracked_connections: read("/proc/sys/net/netfilter/nf_conntrack_max").and_then(|text| number(&text)),
        }
    }
}

/// `MemAvailable` out of `/proc/meminfo`, in bytes.
fn available_memory(meminfo: &str) -> Option<u64> {
    let kibibytes = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    number(kibibytes.trim_end_matches("kB"))?.checked_mul(1_024)
}

/// What is left to a container (cgroup v2), in bytes; none where it has no limit, which reads `max`.
fn container_memory(most: &str, used: &str) -> Option<u64> {
    Some(number(most)?.saturating_sub(number(used)?))
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

impl fmt::Display for FirstLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, remedy) = match self.limit {
            Limit::Setting => ("the setting limits.sessions ends", "raise it, or set 0 for what open files allow"),
            Limit::OpenFiles => ("open files end", "raise the hard limit: ulimit -Hn, LimitNOFILE= or --ulimit nofile"),
            Limit::Memory => ("memory ends", "give the machine or the container more"),
            Limit::TrackedConnections => ("tracked connections end", "raise net.netfilter.nf_conntrack_max"),
        };
        write!(formatter, "{what} first, at {} clients ({remedy})", self.clients)
    }
}

#[cfg(test)]
mod tests;
