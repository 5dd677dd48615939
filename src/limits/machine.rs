//! The resources of the machine, as the kernel reports them.

use super::system_files::number;
use super::{SystemFiles, TcpMemory};

/// The maximum number of connections that the firewall tracks.
pub(super) const TRACKED_CONNECTIONS_LIMIT: &str = "proc/sys/net/netfilter/nf_conntrack_max";
/// The longest listen backlog of a socket.
const MAX_BACKLOG: &str = "proc/sys/net/core/somaxconn";
/// TCP's memory: three thresholds, in pages.
pub(super) const TCP_MEMORY: &str = "proc/sys/net/ipv4/tcp_mem";

/// The resources of the machine. `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Memory of the machine or of the container, in bytes.
    pub memory: Option<u64>,
    /// Memory that is available without swapping, in bytes.
    pub available_memory: Option<u64>,
    /// The maximum number of connections that the firewall tracks.
    pub tracked_connections: Option<u64>,
    /// The longest listen backlog.
    pub max_backlog: Option<u64>,
    /// Memory that TCP may use. A container with its own network does not see it.
    pub tcp_memory: Option<TcpMemory>,
}

impl Machine {
    /// Reads the resources.
    pub fn read(files: &SystemFiles) -> Self {
        let meminfo = files.text("proc/meminfo").unwrap_or_default();
        let container = files.text("sys/fs/cgroup/memory.max");
        let left_to_container = container
            .as_deref()
            .zip(files.text("sys/fs/cgroup/memory.current").as_deref())
            .and_then(|(most, used)| container_memory(most, used));
        let of_container = container.as_deref().and_then(number);
        Self {
            memory: of_meminfo(&meminfo, "MemTotal:").into_iter().chain(of_container).min(),
            available_memory: of_meminfo(&meminfo, "MemAvailable:").into_iter().chain(left_to_container).min(),
            tracked_connections: files.number(TRACKED_CONNECTIONS_LIMIT),
            max_backlog: files.number(MAX_BACKLOG),
            tcp_memory: TcpMemory::read(files),
        }
    }
}

/// A value of `/proc/meminfo`, in bytes.
fn of_meminfo(meminfo: &str, name: &str) -> Option<u64> {
    let kibibytes = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    number(kibibytes.trim_end_matches("kB"))?.checked_mul(1_024)
}

/// Available memory of a container (cgroup v2), in bytes. `None` if it has no limit, which reads `max`.
fn container_memory(most: &str, used: &str) -> Option<u64> {
    Some(number(most)?.saturating_sub(number(used)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::system_files::tests::Folder;

    #[test]
    fn memory_tracked_connections_backlog_and_tcp_memory_are_read() {
        let folder = Folder::with(&[
            ("proc/meminfo", "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\nBuffers: 3 kB\n"),
            ("proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
            ("proc/sys/net/core/somaxconn", "4096\n"),
            ("proc/sys/net/ipv4/tcp_mem", "287898\t383866\t575796\n"),
        ]);
        let machine = Machine::read(folder.files());
        assert_eq!(machine.memory, Some(16_000_000 * 1_024));
        assert_eq!(machine.available_memory, Some(2_048 * 1_024));
        assert_eq!((machine.tracked_connections, machine.max_backlog), (Some(262_144), Some(4_096)));
        assert_eq!(machine.tcp_memory, Some(TcpMemory { low: 287_898, pressure: 383_866, high: 575_796 }));
    }

    #[test]
    fn missing_files_are_unknown_values_and_not_zero() {
        assert_eq!(Machine::read(Folder::with(&[]).files()), Machine::default());
    }

    #[test]
    fn malformed_texts_are_unknown_values() {
        for odd in ["", "MemAvailable:", "MemAvailable: many kB", "MemAvailable: 18446744073709551615 kB"] {
            assert_eq!(of_meminfo(odd, "MemAvailable:"), None, "{odd}");
        }
    }

    #[test]
    fn a_container_has_its_own_limit_and_available_memory() {
        let meminfo = ("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 16000000 kB\n");
        let (most, used) = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current");
        let machine = |limit| Machine::read(Folder::with(&[meminfo, (most, limit), (used, "400\n")]).files());
        assert_eq!((machine("1000\n").memory, machine("1000\n").available_memory), (Some(1_000), Some(600)));
        assert_eq!(machine("300\n").available_memory, Some(0));
        assert_eq!(machine("max\n").memory, Some(16_000_000 * 1_024));
    }
}
