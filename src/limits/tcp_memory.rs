//! TCP's memory (`net.ipv4.tcp_mem`): what all sockets of the machine may take for what they have not sent or not been read.
//!
//! Past its last mark the kernel drops packets of every socket, whoever's they are. Its default is a tenth of the memory,
//! reckoned without knowing how many clients come. So it is raised as they come, by two pages each, and never past a share
//! of the memory; an orderly stop gives back what it took.

use std::fmt;
use std::io;

use super::machine::TCP_MEMORY;
use super::system_files::number;
use super::{Machine, SystemFiles};

/// Pages for each client: one in each direction, which is a small message that waits with all that the kernel hangs on it.
pub const PAGES_PER_CLIENT: u64 = 2;

/// Clients are followed in steps: fewer than one step's never make a difference to a default, and need no write.
const STEP_CLIENTS: u64 = 1_000;

/// The three marks, in pages: TCP is at ease up to the first, saves from the second on, and has no more than the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpMemory {
    pub low: u64,
    pub pressure: u64,
    pub high: u64,
}

/// Bytes of a page, in which the kernel counts here.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

impl TcpMemory {
    /// What the machine says; none where it doesn't (a container with a network of its own).
    pub(super) fn read(files: &SystemFiles) -> Option<TcpMemory> {
        let text = files.text(TCP_MEMORY)?;
        let mut marks = text.split_whitespace().map(number);
        let mut next = || marks.next().flatten();
        Some(TcpMemory { low: next()?, pressure: next()?, high: next()? })
    }

    /// The kernel's own choice for so much memory: a sixteenth under pressure.
    pub fn default_for(memory: u64) -> TcpMemory {
        let pressure = memory / page_bytes() / 16;
        let low = pressure / 4 * 3;
        TcpMemory { low, pressure, high: low * 2 }
    }

    /// With room for so many more clients, the last mark no further than `max_pages`; never lowered.
    pub fn raised_for(self, clients: u64, max_pages: u64) -> TcpMemory {
        let pages = clients.saturating_mul(PAGES_PER_CLIENT).min(max_pages.saturating_sub(self.high));
        TcpMemory { low: self.low + pages, pressure: self.pressure + pages, high: self.high + pages }
    }

    /// The most pages that `limits.tcp_memory_percent` allows on a machine with so much memory.
    pub fn max_pages(memory: u64, percent: u8) -> u64 {
        memory / page_bytes() / 100 * u64::from(percent)
    }
}

impl Machine {
    /// What TCP's memory should be for so many clients, where it has less than two pages for each and may have more.
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

/// What following the clients led to.
#[derive(Debug)]
pub enum Growth {
    /// Nobody came, or too few.
    Unchanged,
    Raised(TcpMemory),
    /// The share of the memory is used up: TCP has less than two pages for each client.
    ShareReached(TcpMemory),
    /// The system did not let us, although it looked as if it would.
    Refused(io::Error),
}

/// Raises TCP's memory as clients come.
#[derive(Debug)]
pub struct TcpMemoryManager {
    files: SystemFiles,
    max_pages: u64,
    /// Clients that there is room for, in whole steps.
    clients: u64,
    found: TcpMemory,
    written: Option<TcpMemory>,
}

impl TcpMemoryManager {
    /// None where the machine does not tell its TCP memory, or this process may not raise it, or `percent` is 0.
    pub fn new(files: SystemFiles, machine: &Machine, percent: u8) -> Option<TcpMemoryManager> {
        let (found, memory) = machine.tcp_memory.zip(machine.memory)?;
        let may_write = percent > 0 && files.is_writable(TCP_MEMORY);
        let max_pages = TcpMemory::max_pages(memory, percent);
        may_write.then_some(TcpMemoryManager { files, max_pages, clients: 0, found, written: None })
    }

    /// Makes room for so many clients, where there have never been as many. Others may have written since: what is there is
    /// raised by what came, so that several nodes on one machine add up.
    pub fn grow(&mut self, clients: u64) -> Growth {
        let clients = clients / STEP_CLIENTS * STEP_CLIENTS;
        let came = clients.saturating_sub(self.clients);
        let Some(now) = TcpMemory::read(&self.files).filter(|_| came > 0) else { return Growth::Unchanged };
        self.clients = clients;
        let raised = now.raised_for(came, self.max_pages);
        if raised != now {
            if let Err(error) = self.files.write(TCP_MEMORY, &raised.to_string()) {
                return Growth::Refused(error);
            }
            self.written = Some(raised);
        }
        let is_whole = raised.high - now.high == came * PAGES_PER_CLIENT;
        if is_whole { Growth::Raised(raised) } else { Growth::ShareReached(raised) }
    }

    /// Gives back what was taken, unless somebody else has written since.
    pub fn restore(self) -> io::Result<()> {
        match self.written {
            Some(written) if TcpMemory::read(&self.files) == Some(written) => {
                self.files.write(TCP_MEMORY, &self.found.to_string())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::system_files::tests::Folder;

    /// The pages of the machine, a hundredth of which is 41,943.
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
    fn each_mark_is_raised_by_two_pages_a_client_in_steps_of_a_thousand() {
        let folder = machine("100 200 300\n");
        let mut manager = manager(&folder, 25).expect("a machine that tells and lets");
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
    fn the_last_mark_never_passes_the_share_of_the_memory() {
        let folder = machine("100 200 300\n");
        let mut manager = manager(&folder, 1).expect("a machine that tells and lets");
        assert!(matches!(manager.grow(1_000_000), Growth::ShareReached(_)));
        assert_eq!(written(&folder), "41743 41843 41943");
        assert!(matches!(manager.grow(2_000_000), Growth::ShareReached(_)));
        assert_eq!(written(&folder), "41743 41843 41943");
    }

    #[test]
    fn what_the_operator_set_higher_is_never_lowered() {
        let folder = machine("70000 80000 90000\n");
        let mut manager = manager(&folder, 1).expect("a machine that tells and lets");
        assert!(matches!(manager.grow(5_000), Growth::ShareReached(_)));
        assert_eq!(written(&folder), "70000 80000 90000");
    }

    #[test]
    fn what_is_missing_is_known_beforehand() {
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
        let mut nodes = [manager(&folder, 25), manager(&folder, 25)].map(|manager| manager.expect("one that may"));
        for node in &mut nodes {
            node.grow(1_000);
        }
        assert_eq!(written(&folder), "4100 4200 4300");
    }

    #[test]
    fn an_orderly_stop_gives_back_what_nobody_else_has_changed() {
        let folder = machine("100 200 300\n");
        let mut first = manager(&folder, 25).expect("one that may");
        first.grow(1_000);
        first.restore().expect("written");
        assert_eq!(written(&folder), "100 200 300");
        let mut second = manager(&folder, 25).expect("one that may");
        second.grow(1_000);
        folder.put(TCP_MEMORY, "1 2 9000");
        second.restore().expect("left alone");
        assert_eq!(written(&folder), "1 2 9000");
    }

    #[test]
    fn nothing_is_kept_where_it_is_not_told_not_allowed_or_not_wanted() {
        assert!(manager(&Folder::with(&[]), 25).is_none());
        assert!(manager(&machine("a b c"), 25).is_none());
        assert!(manager(&machine("1 2 3"), 0).is_none());
    }

    /// A file of numbers that the kernel lets nobody write.
    #[cfg(target_os = "linux")]
    fn close(folder: &Folder) {
        let path = folder.path().join(TCP_MEMORY);
        std::fs::remove_file(&path).expect("removed");
        std::os::unix::fs::symlink("/proc/sys/fs/dentry-state", path).expect("a link");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_nobody_may_write_is_known_and_a_write_that_fails_is_said() {
        let folder = machine("100 200 300\n");
        let mut opened = manager(&folder, 25).expect("one that may");
        close(&folder);
        assert!(manager(&folder, 25).is_none());
        assert!(matches!(opened.grow(1_000), Growth::Refused(_)));
    }

    #[test]
    fn the_kernels_own_choice_is_known() {
        // Seen on a machine of 24 GiB, of which the kernel reckons with what it does not need itself.
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
