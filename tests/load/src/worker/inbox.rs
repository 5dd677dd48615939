//! Orders, read line by line from standard input without waiting for them.

use crate::orders::{Order, WorkerSpec};
use crate::worker::WorkerError;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use std::io::{Stdin, stdin};

/// Bytes of one read.
const PIECE: usize = 16 << 10;

/// The orders' end of a pipe.
pub struct Inbox {
    stdin: Stdin,
    buffer: Vec<u8>,
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdin.as_fd()
    }
}

impl Inbox {
    /// Waits for the first line, which says what to be.
    ///
    /// # Errors
    /// [`WorkerError`], where there is none.
    pub fn open() -> Result<(WorkerSpec, Inbox), WorkerError> {
        let mut inbox = Inbox { stdin: stdin(), buffer: Vec::new() };
        while !inbox.buffer.contains(&b'\n') {
            if inbox.fill()? == 0 {
                return Err(Errno::PIPE.into());
            }
        }
        let line = inbox.line().unwrap_or_default();
        let spec = serde_json::from_slice(&line)?;
        rustix::io::ioctl_fionbio(&inbox, true)?;
        Ok((spec, inbox))
    }

    /// The orders that have come; none at their end.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn read(&mut self) -> Result<Option<Vec<Order>>, WorkerError> {
        match self.fill() {
            Ok(0) => return Ok(None),
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        self.whole().map(Some)
    }

    /// The orders that have come whole, without another look for more.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn whole(&mut self) -> Result<Vec<Order>, WorkerError> {
        let mut orders = Vec::new();
        while let Some(line) = self.line() {
            orders.push(serde_json::from_slice(&line)?);
        }
        Ok(orders)
    }

    fn fill(&mut self) -> Result<usize, Errno> {
        let mut piece = [0; PIECE];
        let read = rustix::io::read(&self.stdin, &mut piece)?;
        self.buffer.extend_from_slice(&piece[..read]);
        Ok(read)
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        Some(self.buffer.drain(..=end).collect())
    }
}
