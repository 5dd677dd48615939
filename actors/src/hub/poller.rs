//! Polls the sockets of one worker: an edge-triggered poll whose own descriptor is watched by tokio.
//!
//! A socket is registered once, for reading and writing. Nothing is re-armed, and an idle socket costs nothing here.

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::task::{Context, Poll as Progress};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Events taken from the kernel at once.
const EVENTS: usize = 512;

/// mio's `Poll`, as `AsyncFd` needs it.
struct Descriptor(Poll);

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// The readiness of one socket.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    pub slot: u32,
    pub is_readable: bool,
    pub is_writable: bool,
    /// The peer closed its side, or the connection broke. The next read returns it.
    pub is_read_closed: bool,
}

/// The poll of one worker.
pub struct Poller {
    descriptor: AsyncFd<Descriptor>,
    events: Events,
}

impl Poller {
    /// A poller, on the tokio runtime of the calling thread.
    pub fn new() -> io::Result<Poller> {
        // SAFETY: the descriptor is mio's own epoll, owned by the `Poll` that moves into the `AsyncFd`: it stays open
        // and the same until that is dropped, and `as_raw_fd` always returns it.
        let descriptor =
            unsafe { AsyncFd::register_with_interest(Descriptor(Poll::new()?), tokio::io::Interest::READABLE)? };
        Ok(Poller { descriptor, events: Events::with_capacity(EVENTS) })
    }

    /// Watches a socket under its slot until the socket is dropped.
    pub fn watch(&self, socket: &mut TcpStream, slot: u32) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.descriptor.get_ref().0.registry().register(socket, Token(slot as usize), interest)
    }

    /// Appends the sockets that became ready to `out`. `Pending`: none did, and the task is woken when one does.
    /// `Ready`: there may be more.
    pub fn poll(&mut self, task: &mut Context<'_>, out: &mut Vec<Readiness>) -> Progress<io::Result<()>> {
        let mut guard = match self.descriptor.poll_read_ready_mut(task) {
            Progress::Ready(guard) => guard?,
            Progress::Pending => return Progress::Pending,
        };
        match guard.get_inner_mut().0.poll(&mut self.events, Some(Duration::ZERO)) {
            // No event was taken, so the readiness stays.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Progress::Ready(Ok(())),
            Err(error) => return Progress::Ready(Err(error)),
            Ok(()) => {}
        }
        out.extend(self.events.iter().map(|event| Readiness {
            slot: u32::try_from(event.token().0).expect("tokens are made of u32 slots"),
            is_readable: event.is_readable() || event.is_read_closed() || event.is_error(),
            is_writable: event.is_writable(),
            is_read_closed: event.is_read_closed() || event.is_error(),
        }));
        if out.len() < EVENTS {
            guard.clear_ready();
        }
        Progress::Ready(Ok(()))
    }
}
