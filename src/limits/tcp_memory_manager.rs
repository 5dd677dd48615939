//! Raises TCP's memory as the number of clients grows.

use std::io;

use super::machine::TCP_MEMORY;
use super::tcp_memory::PAGES_PER_CLIENT;
use super::{Machine, SystemFiles, TcpMemory};

/// The value is raised in steps of this many clients. Fewer clients make no difference to the default.
const STEP_CLIENTS: u64 = 1_000;

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
    use crate::limits::tcp_memory::page_bytes;

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
}
