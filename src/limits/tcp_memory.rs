//! TCP's memory (`net.ipv4.tcp_mem`): how much memory all sockets of the machine may use for unsent and unread data.
//!
//! Above the highest threshold the kernel drops packets of every socket. Its default is a tenth of the memory, chosen
//! without knowing the number of clients. So the node raises it by two pages for each client, up to a share of the
//! memory, and restores the old value at an orderly stop.

use std::fmt;
use std::io;

use super::machine::TCP_MEMORY;
use super::system_files::number;
use super::{Machine, SystemFiles};

/// Pages for each client: one in each direction. A page holds a small message with the kernel's overhead.
pub const PAGES_PER_CLIENT: u64 = 2;

/// The value is raised in steps of this many clients. Fewer clients make no difference to the default.
const STEP_CLIENTS: u64 = 1_000;

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

/// The result of adapting TCP's memory to the number of clients.
#[derive(Debug)]
pub enum Growth {
    /// There are no more clients than before, or too few more.
    Unchanged,
    Raised(TcpMemory),
    /// The allowed share of the memory is reached: TCP has less than two pages for each client.
    ShareReached(TcpMemory),
    /// The system refused the write, although the file seemed writable.
    Refused(io::Error),
}

/// Raises TCP's memory as the number of clients grows.
#[derive(Debug)]
pub struct TcpMemoryManager {
    files: SystemFiles,
    max_pages: u64,
    /// The number of clients that TCP's memory was raised for, in whole steps.
    clients: u64,
    original: TcpMemory,
    written: Option<TcpMemory>,
}

impl TcpMemoryManager {
    /// `None` if the machine does not show its TCP memory, or this process may not raise it, or `percent` is 0.
    pub fn new(files: SystemFiles, machine: &Machine, percent: u8) -> Option<TcpMemoryManager> {
        let (original, memory) = machine.tcp_memory.zip(machine.memory)?;
        let may_write = percent > 0 && files.is_writable(TCP_MEMORY);
        let max_pages = TcpMemory::max_pages(memory, percent);
        may_write.then_some(TcpMemoryManager { files, max_pages, clients: 0, original, written: None })
    }

    /// Makes room for this many clients, if there were never as many. Other processes may write too, so the current
    /// value is raised by the new clients only. This way several nodes on one machine add up.
    pub fn grow(&mut self, clients: u64) -> Growth {
        let clients = clients / STEP_CLIENTS * STEP_CLIENTS;
        let added = clients.saturating_sub(self.clients);
        let Some(now) = TcpMemory::read(&self.files).filter(|_| added > 0) else { return Growth::Unchanged };
        self.clients = clients;
        let raised = now.raised_for(added, self.max_pages);
        if raised != now {
            if let Err(error) = self.files.write(TCP_MEMORY, &raised.to_string()) {
                return Growth::Refused(error);
            }
            self.written = Some(raised);
        }
        let is_enough = raised.high - now.high == added * PAGES_PER_CLIENT;
        if is_enough { Growth::Raised(raised) } else { Growth::ShareReached(raised) }
    }

    /// Restores the original value, unless another process has written since.
    pub fn restore(self) -> io::Result<()> {
        match self.written {
            Some(written) if TcpMemory::read(&self.files) == Some(written) => {
                self.files.write(TCP_MEMORY, &self.original.to_string())
            }
            _ => Ok(()),
        }
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

    fn manager(folder: &Folder, percent: u8) -> Option<TcpMemoryManager> {
        TcpMemoryManager::new(folder.files().clone(), &Machine::read(folder.files()), percent)
    }

    fn written(folder: &Folder) -> String {
        TcpMemory::read(folder.files()).expect("three marks").to_string()
    }

    #[test]
    fn each_threshold_is_raised_by_two_pages_per_client_in_steps_of_a_thousand() {
        let folder = machine("100 200 300\n");
        let mut manager = manager(&folder, 25).expect("a writable file");
        assert!(matches!(manager.grow(999), Growth::Unchanged));
        assert_eq!(written(&folder), "100 200 300");
        assert!(matches!(manager.grow(2_999), Growth::Raised(_)));
        assert_eq!(written(&folder), "4100 4200 4300");
        assert!(matches!(manager.grow(2_000), Growth::Unchanged));
        assert!(matches!(manager.grow(0), Growth::Unchanged));
        assert!(matches!(manager.grow(3_000), Growth::Raised(_)));
        assert_eq!(written(&folder), "6100 6200 6300");
    }

    #[test]
    fn the_highest_threshold_never_exceeds_the_share_of_the_memory() {
        let folder = machine("100 200 300\n");
        let mut manager = manager(&folder, 1).expect("a writable file");
        assert!(matches!(manager.grow(1_000_000), Growth::ShareReached(_)));
        assert_eq!(written(&folder), "41743 41843 41943");
        assert!(matches!(manager.grow(2_000_000), Growth::ShareReached(_)));
        assert_eq!(written(&folder), "41743 41843 41943");
    }

    #[test]
    fn a_higher_value_of_the_operator_is_never_lowered() {
        let folder = machine("70000 80000 90000\n");
        let mut manager = manager(&folder, 1).expect("a writable file");
        assert!(matches!(manager.grow(5_000), Growth::ShareReached(_)));
        assert_eq!(written(&folder), "70000 80000 90000");
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
    fn two_nodes_on_one_machine_add_up() {
        let folder = machine("100 200 300\n");
        let mut nodes = [manager(&folder, 25), manager(&folder, 25)].map(|manager| manager.expect("a writable file"));
        for node in &mut nodes {
            node.grow(1_000);
        }
        assert_eq!(written(&folder), "4100 4200 4300");
    }

    #[test]
    fn restoring_keeps_a_value_that_another_process_wrote() {
        let folder = machine("100 200 300\n");
        let mut first = manager(&folder, 25).expect("a writable file");
        first.grow(1_000);
        first.restore().expect("written");
        assert_eq!(written(&folder), "100 200 300");
        let mut second = manager(&folder, 25).expect("a writable file");
        second.grow(1_000);
        folder.put(TCP_MEMORY, "1 2 9000");
        second.restore().expect("left alone");
        assert_eq!(written(&folder), "1 2 9000");
    }

    #[test]
    fn there_is_no_manager_for_an_unknown_value_or_zero_percent() {
        assert!(manager(&Folder::with(&[]), 25).is_none());
        assert!(manager(&machine("a b c"), 25).is_none());
        assert!(manager(&machine("1 2 3"), 0).is_none());
    }

    /// Replaces the file with one that the kernel makes read-only for everyone.
    #[cfg(target_os = "linux")]
    fn make_read_only(folder: &Folder) {
        let path = folder.path().join(TCP_MEMORY);
        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/proc/sys/fs/dentry-state", path).expect("a link");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_read_only_file_has_no_manager_and_a_failed_write_is_reported() {
        let folder = machine("100 200 300\n");
        let mut opened = manager(&folder, 25).expect("a writable file");
        make_read_only(&folder);
        assert!(manager(&folder, 25).is_none());
        assert!(matches!(opened.grow(1_000), Growth::Refused(_)));
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
