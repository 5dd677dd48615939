//! The numbers of the system that `/metrics` shows. Each page reads a few small files.

use super::machine::TRACKED_CONNECTIONS_LIMIT;
use super::system_files::number;
use super::tcp_memory::page_bytes;
use super::{SystemFiles, TcpMemory};

/// A number of the system. A value that the system does not provide is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// The maximum number of sessions of the node.
    SessionLimit,
    /// Memory that TCP uses for all sockets of the machine (or of the container), in bytes.
    TcpMemoryBytes,
    /// Memory that TCP may use, in bytes.
    TcpMemoryLimitBytes,
    /// Connections that the firewall tracks.
    TrackedConnections,
    /// The maximum number of connections that the firewall tracks.
    TrackedConnectionsLimit,
}

/// Reads the gauges.
#[derive(Debug)]
pub struct SystemGauges {
    files: SystemFiles,
    session_limit: u64,
}

impl SystemGauges {
    /// The gauges of a node with this limit on sessions.
    pub fn new(files: SystemFiles, session_limit: u64) -> SystemGauges {
        SystemGauges { files, session_limit }
    }

    /// Every gauge with a known value.
    pub fn read(&self) -> impl Iterator<Item = (Gauge, u64)> {
        let files = &self.files;
        let pages = |pages: u64| pages.saturating_mul(page_bytes());
        [
            (Gauge::SessionLimit, Some(self.session_limit)),
            (Gauge::TcpMemoryBytes, files.text("proc/net/sockstat").as_deref().and_then(tcp_pages).map(pages)),
            (Gauge::TcpMemoryLimitBytes, TcpMemory::read(files).map(|memory| pages(memory.high))),
            (Gauge::TrackedConnections, files.number("proc/sys/net/netfilter/nf_conntrack_count")),
            (Gauge::TrackedConnectionsLimit, files.number(TRACKED_CONNECTIONS_LIMIT)),
        ]
        .into_iter()
        .filter_map(|(gauge, value)| Some((gauge, value?)))
    }
}

/// The pages of the line `TCP: inuse 2 orphan 0 tw 2 alloc 2 mem 147` of `/proc/net/sockstat`.
fn tcp_pages(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find(|line| line.starts_with("TCP:"))?;
    number(line.split_whitespace().skip_while(|word| *word != "mem").nth(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::system_files::tests::Folder;

    #[test]
    fn gauges_are_in_bytes_and_counts() {
        let folder = Folder::with(&[
            ("proc/net/sockstat", "sockets: used 14\nTCP: inuse 2 orphan 0 tw 2 alloc 2 mem 147\nUDP: inuse 0 mem 3\n"),
            ("proc/sys/net/ipv4/tcp_mem", "1\t2\t3\n"),
            ("proc/sys/net/netfilter/nf_conntrack_count", "17\n"),
            ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
        ]);
        let read: Vec<_> = SystemGauges::new(folder.files().clone(), 18_622).read().collect();
        let expected = [
            (Gauge::SessionLimit, 18_622),
            (Gauge::TcpMemoryBytes, 147 * page_bytes()),
            (Gauge::TcpMemoryLimitBytes, 3 * page_bytes()),
            (Gauge::TrackedConnections, 17),
            (Gauge::TrackedConnectionsLimit, 262_144),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn unknown_gauges_are_left_out() {
        for odd in ["", "TCP:", "TCP: mem", "TCP: inuse 1 mem x", "UDP: mem 3"] {
            let folder = Folder::with(&[("proc/net/sockstat", odd)]);
            let read: Vec<_> = SystemGauges::new(folder.files().clone(), 1).read().collect();
            assert_eq!(read, [(Gauge::SessionLimit, 1)], "{odd}");
        }
    }
}
