//! The memory of the kernel for sockets: its slabs and the pages of socket buffers, from `/proc`.
//!
//! Both ends of each connection are on this machine. The cost of one end is measured beforehand, with connections of
//! the load tool to itself, so that its own share can be subtracted.

use super::process::kibibytes;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};

/// Connections for measuring one end: few enough for 20,000 open files, enough to exceed the noise of other slabs.
const PAIRS: usize = 4000;
const PAGE: u64 = 4096;

/// Memory of the kernel, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// All slabs, of sockets and everything else.
    pub slab: u64,
    /// Pages of TCP buffers.
    pub tcp: u64,
}

impl Kernel {
    /// Reads the current values.
    pub fn now() -> Kernel {
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let sockets = fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
        Kernel { slab: kibibytes(&memory, "Slab:").unwrap_or(0) * 1024, tcp: tcp_pages(&sockets).unwrap_or(0) * PAGE }
    }

    pub fn bytes(self) -> u64 {
        self.slab + self.tcp
    }
}

/// Memory available to programs, in bytes.
pub fn available_bytes() -> u64 {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    kibibytes(&memory, "MemAvailable:").unwrap_or(u64::MAX >> 10) * 1024
}

/// Kernel memory of one end of an idle connection that is registered with an epoll, in bytes.
///
/// # Errors
/// If a system call fails.
pub fn bytes_of_one_end() -> io::Result<u64> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let before = Kernel::now();
    let mut ends = Vec::with_capacity(2 * PAIRS);
    for _ in 0..PAIRS {
        ends.push(TcpStream::connect(address)?);
        ends.push(listener.accept()?.0);
    }
    for end in &ends {
        rustix::net::sockopt::set_socket_linger(end, Some(std::time::Duration::ZERO))?;
        epoll::add(&poll, end, EventData::new_u64(0), EventFlags::IN | EventFlags::ET)?;
    }
    let after = Kernel::now();
    Ok(after.bytes().saturating_sub(before.bytes()) / (2 * PAIRS as u64))
}

fn tcp_pages(sockets: &str) -> Option<u64> {
    let line = sockets.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    line.split_whitespace().skip_while(|word| *word != "mem").nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_tcp_are_found_in_its_line() {
        let text = "sockets: used 42\nTCP: inuse 3 orphan 0 tw 6 alloc 3 mem 308\nUDP: inuse 0 mem 7\n";
        assert_eq!(tcp_pages(text), Some(308));
        assert!(Kernel::now().slab > 0 && available_bytes() > 0);
    }
}
