//! The unsent frames of a session, in order. The outbox counts their memory. Event data that several frames of an emit
//! share is counted once.

use crate::protocol::frame::OutgoingFrame;
use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

/// Maximum number of slices in one `writev`. The kernel's bound (IOV_MAX) is 1,024.
const SLICES_PER_WRITE: usize = 64;

/// A part of a frame, or several whole frames.
struct Piece {
    bytes: Bytes,
    /// Notifications that are complete once this piece is written.
    notifications: u32,
    ends_frame: bool,
    is_shared: bool,
}

/// Event data that a run of queued pieces shares.
struct SharedRun {
    data: Bytes,
    pieces: usize,
}

/// The memory that the frames of one publication added.
#[derive(Clone, Copy)]
struct PublicationBytes {
    publication: u64,
    bytes: usize,
}

/// The unsent frames of a session. It is allocated only while there are some, and the hub keeps spare ones.
#[derive(Default)]
pub struct Outbox {
    queue: VecDeque<Piece>,
    wire_bytes: usize,
    /// The memory of the pieces that share nothing, and of their entries in the queue.
    own_bytes: usize,
    shared: VecDeque<SharedRun>,
    shared_bytes: usize,
    /// The publication whose frames came last.
    latest: Option<PublicationBytes>,
    /// The publication that was allowed to exceed the session's bound.
    burst: Option<PublicationBytes>,
    /// When the outbox began to fill, or the socket last accepted bytes, by the hub's clock.
    progress_at: u32,
    /// Whether the socket accepted no more at the last attempt.
    is_blocked: bool,
    /// Whether a frame is partly written. It must be finished before anything else is written.
    has_partial_frame: bool,
}

/// Result of a flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    pub bytes: usize,
    /// Notifications that were completely written.
    pub notifications: u64,
}

/// Bytes that leave an outbox without being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Released {
    pub wire_bytes: usize,
    /// Bytes of the burst, which the node no longer counts.
    pub burst_bytes: usize,
}

impl Outbox {
    /// Queues whole frames of a publication, or other whole frames.
    pub fn push(&mut self, frame: OutgoingFrame, notifications: u32, publication: Option<u64>) {
        let before = self.memory();
        match frame.shared {
            None => self.push_piece(frame.head, notifications, true),
            Some(shared) => {
                self.push_piece(frame.head, 0, false);
                self.push_shared(shared.data);
                self.push_piece(Bytes::from_static(shared.end), notifications, true);
            }
        }
        if let Some(publication) = publication {
            let added = self.memory() - before;
            let earlier = self.latest.filter(|latest| latest.publication == publication);
            let bytes = earlier.map_or(0, |latest| latest.bytes) + added;
            self.latest = Some(PublicationBytes { publication, bytes });
        }
    }

    fn push_piece(&mut self, bytes: Bytes, notifications: u32, ends_frame: bool) {
        self.wire_bytes += bytes.len();
        self.own_bytes += bytes.len() + size_of::<Piece>();
        self.queue.push_back(Piece { bytes, notifications, ends_frame, is_shared: false });
    }

    fn push_shared(&mut self, data: Bytes) {
        self.wire_bytes += data.len();
        match self.shared.back_mut().filter(|run| run.data.as_ptr() == data.as_ptr()) {
            Some(run) => run.pieces += 1,
            None => {
                self.shared_bytes += data.len();
                self.shared.push_back(SharedRun { data: data.clone(), pieces: 1 });
            }
        }
        self.own_bytes += size_of::<Piece>();
        self.queue.push_back(Piece { bytes: data, notifications: 0, ends_frame: false, is_shared: true });
    }

    /// Unwritten bytes.
    pub fn wire_bytes(&self) -> usize {
        self.wire_bytes
    }

    /// Bytes of memory that the unwritten frames hold.
    pub fn memory(&self) -> usize {
        self.own_bytes + self.shared_bytes
    }

    /// The memory without the publication that may exceed the bound.
    pub fn memory_without_burst(&self) -> usize {
        self.memory() - self.burst.map_or(0, |burst| burst.bytes.min(self.memory()))
    }

    /// Lets the publication exceed the bound, unless an earlier one does already. Returns the bytes by which the burst
    /// grew.
    pub fn extend_burst(&mut self, publication: u64) -> Option<usize> {
        let latest = self.latest.filter(|latest| latest.publication == publication)?;
        let before = match self.burst {
            Some(burst) if burst.publication != publication => return None,
            burst => burst.map_or(0, |burst| burst.bytes),
        };
        let bytes = latest.bytes.min(self.memory()).max(before);
        self.burst = Some(PublicationBytes { publication, bytes });
        Some(bytes - before)
    }

    /// Ends the burst once the memory is back within `bound`. Returns the bytes of the burst that are written by now.
    pub fn shrink_burst(&mut self, bound: usize) -> usize {
        let (memory, Some(burst)) = (self.memory(), &mut self.burst) else { return 0 };
        let left = if memory <= bound { 0 } else { burst.bytes.min(memory) };
        let shrunk = burst.bytes - left;
        burst.bytes = left;
        if left == 0 {
            self.burst = None;
        }
        shrunk
    }

    /// Whether there are no unsent frames.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the socket accepted no more at the last attempt.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// When the socket last accepted bytes, by the hub's clock.
    pub fn progress_at(&self) -> u32 {
        self.progress_at
    }

    /// Records that the socket accepted bytes, or that the outbox begins to fill.
    pub fn note_progress(&mut self, now: u32) {
        self.progress_at = now;
    }

    /// Prepares an empty outbox for another session. Returns whether it is worth keeping: after a long queue its
    /// buffers are large.
    pub fn recycle(&mut self) -> bool {
        (self.latest, self.is_blocked) = (None, false);
        self.queue.capacity() <= SLICES_PER_WRITE && self.shared.capacity() <= SLICES_PER_WRITE
    }

    /// Drops everything.
    pub fn release(&mut self) -> Released {
        self.has_partial_frame = false;
        self.discard()
    }

    /// Drops everything except the rest of a partly written frame.
    pub fn discard(&mut self) -> Released {
        let before = self.wire_bytes;
        let is_end = |piece: &Piece| piece.ends_frame;
        let kept = if self.has_partial_frame { self.queue.iter().position(is_end).map_or(0, |end| end + 1) } else { 0 };
        let pieces: Vec<Piece> = self.queue.drain(..).take(kept).collect();
        (self.wire_bytes, self.own_bytes, self.shared_bytes) = (0, 0, 0);
        self.shared.clear();
        for piece in pieces {
            if piece.is_shared {
                self.push_shared(piece.bytes);
            } else {
                self.push_piece(piece.bytes, piece.notifications, piece.ends_frame);
            }
        }
        let burst_bytes = self.burst.take().map_or(0, |burst| burst.bytes);
        Released { wire_bytes: before - self.wire_bytes, burst_bytes }
    }

    /// Writes until the outbox is empty or the socket accepts no more. An error means that the connection is broken.
    /// `flushed` also counts what was written before the error.
    pub fn flush(&mut self, mut socket: impl Write, flushed: &mut Flushed) -> io::Result<()> {
        self.is_blocked = false;
        while let Some(first) = self.queue.front() {
            let result = if self.queue.len() == 1 {
                socket.write(&first.bytes)
            } else {
                let mut slices = [IoSlice::new(&[]); SLICES_PER_WRITE];
                let mut count = 0;
                for (slice, piece) in slices.iter_mut().zip(&self.queue) {
                    *slice = IoSlice::new(&piece.bytes);
                    count += 1;
                }
                socket.write_vectored(&slices[..count])
            };
            match result {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.advance(written, flushed),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_blocked = true;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut written: usize, flushed: &mut Flushed) {
        self.wire_bytes -= written;
        flushed.bytes += written;
        while let Some(first) = self.queue.front_mut() {
            if written < first.bytes.len() {
                first.bytes.advance(written);
                self.own_bytes -= if first.is_shared { 0 } else { written };
                self.has_partial_frame |= written > 0;
                return;
            }
            let Piece { bytes, notifications, ends_frame, is_shared } =
                self.queue.pop_front().expect("`front_mut` returned it");
            written -= bytes.len();
            self.own_bytes -= size_of::<Piece>() + if is_shared { 0 } else { bytes.len() };
            if is_shared {
                self.release_shared();
            }
            flushed.notifications += u64::from(notifications);
            self.has_partial_frame = !ends_frame;
        }
    }

    /// Counts that one piece of the first shared data is written.
    fn release_shared(&mut self) {
        let Some(run) = self.shared.front_mut() else { return };
        run.pieces -= 1;
        if run.pieces == 0 {
            self.shared_bytes -= run.data.len();
            self.shared.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::SharedData;

    /// Accepts `room` bytes, then blocks or breaks.
    struct LimitedSocket {
        written: Vec<u8>,
        room: usize,
        is_broken: bool,
    }

    impl Write for &mut LimitedSocket {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 && self.is_broken {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if self.room == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = bytes.len().min(self.room);
            self.written.extend_from_slice(&bytes[..count]);
            self.room -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn frames_are_written_in_order_across_blocked_writes() {
        let mut outbox = Outbox::default();
        outbox.push(Bytes::from_static(b"abc").into(), 1, None);
        outbox.push(Bytes::from_static(b"de").into(), 0, None);
        outbox.push(Bytes::from_static(b"f").into(), 1, None);
        let mut socket = LimitedSocket { written: Vec::new(), room: 2, is_broken: false };
        let mut flushed = Flushed::default();
        outbox.flush(&mut socket, &mut flushed).expect("open");
        assert_eq!(flushed, Flushed { bytes: 2, notifications: 0 });
        socket.room = 100;
        outbox.flush(&mut socket, &mut flushed).expect("open");
        assert_eq!(flushed, Flushed { bytes: 6, notifications: 2 });
        assert_eq!(socket.written, b"abcdef");
        assert!(outbox.is_empty());
        assert_eq!(outbox.wire_bytes(), 0);
    }

    #[test]
    fn bytes_that_were_written_before_the_connection_broke_are_counted() {
        let mut outbox = Outbox::default();
        outbox.push(Bytes::from_static(b"abc").into(), 1, None);
        outbox.push(Bytes::from_static(b"de").into(), 1, None);
        let mut socket = LimitedSocket { written: Vec::new(), room: 4, is_broken: true };
        let mut flushed = Flushed::default();
        assert!(outbox.flush(&mut socket, &mut flushed).is_err());
        assert_eq!(flushed, Flushed { bytes: 4, notifications: 1 });
        assert_eq!(outbox.wire_bytes(), 1);
    }

    #[test]
    fn a_partly_written_frame_survives_a_discard() {
        let mut outbox = Outbox::default();
        outbox.push(Bytes::from_static(b"abc").into(), 1, None);
        outbox.push(Bytes::from_static(b"de").into(), 1, None);
        let mut socket = LimitedSocket { written: Vec::new(), room: 1, is_broken: false };
        outbox.flush(&mut socket, &mut Flushed::default()).expect("open");
        assert_eq!(outbox.discard().wire_bytes, 2);
        assert_eq!(outbox.wire_bytes(), 2);
        outbox.flush(&mut socket, &mut Flushed::default()).expect("open");
        assert_eq!(outbox.discard().wire_bytes, 0);
    }

    fn sharing(head: &'static [u8], data: &Bytes) -> OutgoingFrame {
        let shared = SharedData { data: data.clone(), end: b"}" };
        OutgoingFrame { head: Bytes::from_static(head), shared: Some(shared) }
    }

    #[test]
    fn shared_data_is_counted_once_until_its_last_frame_is_written() {
        let (data, other) = (Bytes::from(vec![b'x'; 1_000]), Bytes::from(vec![b'y'; 1_000]));
        let entries = 3 * size_of::<Piece>();
        let mut outbox = Outbox::default();
        outbox.push(sharing(b"a", &data), 1, Some(1));
        outbox.push(sharing(b"b", &data), 1, Some(1));
        outbox.push(sharing(b"c", &other), 1, Some(2));
        assert_eq!((outbox.wire_bytes(), outbox.memory()), (3_006, 2_006 + 3 * entries));
        let mut socket = LimitedSocket { written: Vec::new(), room: 1_500, is_broken: false };
        let mut flushed = Flushed::default();
        outbox.flush(&mut socket, &mut flushed).expect("open");
        assert_eq!((flushed.notifications, outbox.shared_bytes), (1, 2_000));
        socket.room = 600;
        outbox.flush(&mut socket, &mut flushed).expect("open");
        assert_eq!((flushed.notifications, outbox.shared_bytes), (2, 1_000));
        // The third frame is partly written, so its rest survives.
        assert_eq!(outbox.discard(), Released::default());
        socket.room = 10_000;
        outbox.flush(&mut socket, &mut flushed).expect("open");
        assert_eq!((outbox.wire_bytes(), outbox.memory(), flushed.notifications), (0, 0, 3));
        let expected = [b"a", &data[..], b"}b", &data, b"}c", &other, b"}"].concat();
        assert!(socket.written == expected);
    }

    #[test]
    fn one_publication_may_exceed_the_bound_until_it_is_written() {
        let frame = || OutgoingFrame::from(Bytes::from(vec![0; 100]));
        let mut outbox = Outbox::default();
        for _ in 0..5 {
            outbox.push(frame(), 1, Some(1));
        }
        let memory = outbox.memory();
        assert_eq!(outbox.extend_burst(1), Some(memory));
        assert_eq!(outbox.memory_without_burst(), 0);
        outbox.push(frame(), 1, Some(2));
        assert_eq!(outbox.extend_burst(2), None, "the first publication is not written yet");
        assert_eq!(outbox.memory_without_burst(), memory / 5);
        let mut socket = LimitedSocket { written: Vec::new(), room: 550, is_broken: false };
        outbox.flush(&mut socket, &mut Flushed::default()).expect("open");
        assert_eq!(outbox.shrink_burst(200), memory);
        assert_eq!(outbox.release(), Released { wire_bytes: 50, burst_bytes: 0 });
    }
}
