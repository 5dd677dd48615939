//! Nonblocking sockets, and the clock.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::{Errno, Result};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::time::{ClockId, clock_gettime};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// Nanoseconds of the monotonic clock, which all processes of the machine share.
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Starts a connection and registers it under `key`, edge-triggered. Closing the socket resets the connection, so that
/// no TIME_WAIT remains.
///
/// # Errors
/// The error of the system, such as too many open files.
pub fn dial(epoll: BorrowedFd<'_>, key: u64, target: SocketAddrV4, source: Option<Ipv4Addr>) -> Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    if let Some(source) = source {
        rustix::net::bind(&socket, &SocketAddrV4::new(source, 0))?;
    }
    match rustix::net::connect(&socket, &target) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error),
    }
    epoll::add(epoll, &socket, EventData::new_u64(key), EventFlags::IN | EventFlags::OUT | EventFlags::ET)?;
    Ok(socket)
}

/// Whether a started connection is established.
///
/// # Errors
/// Why it is not.
pub fn connected(socket: &OwnedFd) -> Result<()> {
    sockopt::socket_error(socket)?
}

/// Reads the available bytes. `None` if there are none, 0 at the end of the connection.
///
/// # Errors
/// If the connection has ended.
pub fn receive(socket: &OwnedFd, into: &mut [u8]) -> Result<Option<usize>> {
    match rustix::net::recv(socket, into, RecvFlags::empty()) {
        Ok((read, _)) => Ok(Some(read)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes as many bytes as the system accepts, and returns their number.
///
/// # Errors
/// If the connection has ended.
pub fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize> {
    match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN) => Ok(0),
        other => other,
    }
}
