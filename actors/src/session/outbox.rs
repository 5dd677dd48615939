//! What a session could not write yet: frames in order, bounded in bytes by the session.

use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

/// The most that one `writev` takes together; the kernel's own bound (IOV_MAX) is 1,024.
const SLICES_A_WRITE: usize = 64;

/// Frames that are written as one.
struct Queued {
    frames: Bytes,
    notifications: u32,
}

/// Frames that wait. Lives on the heap only while something waits, and is taken from the hub's spares.
#[derive(Default)]
pub struct Outbox {
    queue: VecDeque<Queued>,
    bytes: usize,
    /// Whether the first is written in part: then it must be finished before anything else is said.
    is_torn: bool,
}

/// What a flush achieved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    pub bytes: usize,
    /// Notifications that were written whole.
    pub notifications: u64,
}

impl Outbox {
    /// Queues whole frames, so many of them notifications. They are counted, dropped or kept as one.
    pub fn push(&mut self, frames: Bytes, notifications: u32) {
        self.bytes += frames.len();
        self.queue.push_back(Queued { frames, notifications });
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether it is worth keeping for another session: a long queue leaves long lists behind.
    pub fn is_small(&self) -> bool {
        self.queue.capacity() <= SLICES_A_WRITE
    }

    /// Drops everything but a frame that is half out; returns the bytes dropped.
    pub fn discard(&mut self) -> usize {
        let before = self.bytes;
        self.queue.truncate(usize::from(self.is_torn));
        self.bytes = self.queue.iter().map(|queued| queued.frames.len()).sum();
        before - self.bytes
    }

    /// Writes until nothing waits or the socket takes no more. An error means that the connection is gone; `flushed` says
    /// what went out before it too.
    pub fn flush(&mut self, mut socket: impl Write, flushed: &mut Flushed) -> io::Result<()> {
        while let Some(first) = self.queue.front() {
            let result = if self.queue.len() == 1 {
                socket.write(&first.frames)
            } else {
                let mut slices = [IoSlice::new(&[]); SLICES_A_WRITE];
                let mut count = 0;
                for (slice, queued) in slices.iter_mut().zip(&self.queue) {
                    *slice = IoSlice::new(&queued.frames);
                    count += 1;
                }
                socket.write_vectored(&slices[..count])
            };
            match result {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.advance(written, flushed),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut written: usize, flushed: &mut Flushed) {
        self.bytes -= written;
        flushed.bytes += written;
        while let Some(first) = self.queue.front_mut() {
            if written < first.frames.len() {
                first.frames.advance(written);
                self.is_torn |= written > 0;
                return;
            }
            written -= first.frames.len();
            flushed.notifications += u64::from(first.notifications);
            self.queue.pop_front();
            self.is_torn = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `room` bytes, then blocks or breaks.
    struct Narrow {
        taken: Vec<u8>,
        room: usize,
        is_broken: bool,
    }

    impl Write for &mut Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 && self.is_broken {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if self.room == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = bytes.len().min(self.room);
            self.taken.extend_from_slice(&bytes[..count]);
            self.room -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn frames_go_out_in_order_across_blocked_writes() {
        let mut outbox = Outbox::default();
        outbox.push(Bytes::from_static(b"abc"), 1);
        outbox.push(Bytes::from_static(b"de"), 0);
        outbox.push(Bytes::from_static(b"f"), 1);
        let mut socket = Narrow { taken: Vec::new(), room: 2, is_broken: false };
        let mut flushed = Flushed::default();
        outbox.flush(&mut socket, &mut flushed).expect("open");
        assert_eq!(flushed, Flushed { bytes: 2, notifications: 0 });
        socket.room = 100;
        outbox.flush(&mut socket, &mut flushed).expect("open");
        assert_eq!(flushed, Flushed { bytes: 6, notifications: 2 });
        assert_eq!(socket.taken, b"abcdef");
        assert!(outbox.is_empty());
        assert_eq!(outbox.bytes(), 0);
    }

    #[test]
    fn what_went_out_before_the_connection_broke_is_counted() {
        let mut outbox = Outbox::default();
        outbox.push(Bytes::from_static(b"abc"), 1);
        outbox.push(Bytes::from_static(b"de"), 1);
        let mut socket = Narrow { taken: Vec::new(), room: 4, is_broken: true };
        let mut flushed = Flushed::default();
        assert!(outbox.flush(&mut socket, &mut flushed).is_err());
        assert_eq!(flushed, Flushed { bytes: 4, notifications: 1 });
        assert_eq!(outbox.bytes(), 1);
    }

    #[test]
    fn a_frame_that_is_half_out_survives_a_discard() {
        let mut outbox = Outbox::default();
        outbox.push(Bytes::from_static(b"abc"), 1);
        outbox.push(Bytes::from_static(b"de"), 1);
        let mut socket = Narrow { taken: Vec::new(), room: 1, is_broken: false };
        outbox.flush(&mut socket, &mut Flushed::default()).expect("open");
        assert_eq!(outbox.discard(), 2);
        assert_eq!(outbox.bytes(), 2);
        outbox.flush(&mut socket, &mut Flushed::default()).expect("open");
        assert_eq!(outbox.discard(), 0);
    }
}
