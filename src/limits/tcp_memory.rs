//! TCP's memory (`net.ipv4.tcp_mem`): how much memory all sockets of the machine may use for unsent and unread data.
//!
//! Above the highest threshold the kernel drops packets of every socket. Its default is a tenth of the memory, chosen
//! without knowing the number of clients. So the node raises it by two pages for each client, up to a share of the
//! memory, and restores the old value at an orderly stop.

use std::fmt;

use super::machine::TCP_MEMORY;
use super::system_files::number;
use super::{Machine, SystemFiles};

/// Pages for each client: one in each direction. A page holds a small message with the kernel's overhead.
pub const PAGES_PER_CLIENT: u64 = 2;

/// The three thresholds of `tcp_mem`, in pages. TCP uses memory freely below `low`, saves memory above `pressure`, and
/// never uses more than `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpMemory {
    pub low: u64,
    pub pressure: u64,
    pub high: u64,
}

/// The size of a memory page in bytes. The kernel counts TCP's memory in pages.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

impl TcpMemory {
    /// Reads the thresholds. `None` if the machine does not show them, as in a container with its own network.
    pub(super) fn read(files: &SystemFiles) -> Option<TcpMemory> {
        let text = files.text(TCP_MEMORY)?;
        let mut thresholds = text.split_whitespace().map(number);
        let mut next = || thresholds.next().flatten();
        Some(TcpMemory { low: next()?, pressure: next()?, high: next()? })
    }

    /// The kernel's default for this much memory: a sixteenth of it for `pressure`.
    pub fn default_for(memory: u64) -> TcpMemory {
        let pressure = memory / page_bytes() / 16;
        let low = pressure / 4 * 3;
        TcpMemory { low, pressure, high: low * 2 }
    }

    /// The thresholds with room for this many more clients. `high` is raised up to `max_pages` and never lowered.
    pub fn raised_for(self, clients: u64, max_pages: u64) -> TcpMemory {
        let pages = clients.saturating_mul(PAGES_PER_CLIENT).min(max_pages.saturating_sub(self.high));
        TcpMemory { low: self.low + pages, pressure: self.pressure + pages, high: self.high + pages }
    }

    /// The maximum number of pages that `limits.tcp_memory_percent` allows on a machine with this much memory.
    pub fn max_pages(memory: u64, percent: u8) -> u64 {
        memory / page_bytes() / 100 * u64::from(percent)
    }
}

impl Machine {
    /// The thresholds for this many clients, if TCP has less than two pages for each and may have more.
    pub fn missing_tcp_memory(&self, clients: u64, percent: u8) -> Option<TcpMemory> {
        let (now, memory) = self.tcp_memory.zip(self.memory)?;
        let wanted = now.raised_for(clients, TcpMemory::max_pages(memory, percent));
        let is_short = now.high < clients.saturating_mul(PAGES_PER_CLIENT);
        (is_short && wanted != now).then_some(wanted)
    }
}

impl fmt::Display for TcpMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} {}", self.low, self.pressure, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::system_files::tests::Folder;

    /// The pages of the machine. One percent of them is 41,943.
    const PAGES: u64 = 1 << 22;

    fn machine(tcp_mem: &str) -> Folder {
        let meminfo = format!("MemTotal: {} kB\n", PAGES * page_bytes() / 1_024);
        Folder::with(&[("proc/meminfo", meminfo.as_str()), (TCP_MEMORY, tcp_mem)])
    }

    #[test]
    fn missing_tcp_memory_is_computed_beforehand() {
        let machine = Machine::read(machine("30000 40000 60000").files());
        assert_eq!(machine.missing_tcp_memory(30_000, 25), None);
        let wanted = machine.missing_tcp_memory(30_001, 25).expect("more than there is");
        assert_eq!(wanted.to_string(), "90002 100002 120002");
        assert_eq!(machine.missing_tcp_memory(10_000_000, 25).expect("the share").high, 25 * 41_943);
        assert_eq!(machine.missing_tcp_memory(10_000_000, 1), None);
        assert_eq!(machine.missing_tcp_memory(10_000_000, 0), None);
        assert_eq!(Machine::default().missing_tcp_memory(10_000_000, 25), None);
    }

    #[test]
    fn the_default_equals_that_of_the_kernel() {
        // Seen on a machine with 24 GiB. The kernel's computation leaves out the memory that it uses itself.
        let chosen = TcpMemory::default_for(383_866 * 16 * page_bytes());
        assert_eq!(chosen.pressure, 383_866);
        assert!(chosen.high.abs_diff(575_796) <= 6 && chosen.low.abs_diff(287_898) <= 3, "{chosen}");
    }

    #[test]
    fn no_number_overflows() {
        let most = TcpMemory { low: 0, pressure: 0, high: u64::MAX };
        assert_eq!(most.raised_for(u64::MAX, u64::MAX), most);
        let raised = TcpMemory { low: 1, pressure: 2, high: 3 }.raised_for(u64::MAX, u64::MAX - 3);
        assert_eq!(raised.high, u64::MAX - 3);
    }
}
