//! Frames that go to the same sessions one after the other, made one: a session then queues and writes them as one, which
//! is what makes a broadcast that comes faster than it can be told cheap. Knows bytes only.

use crate::ids::SessionRef;
use bytes::{Bytes, BytesMut};

/// The most bytes that are coalesced. Larger ones save nothing more, and what is coalesced is held until it is written whole.
const COALESCED_BYTES: usize = 64 * 1024;

/// Frames in order, and who is told them.
pub struct CoalescedFrames {
    sessions: Vec<SessionRef>,
    first: Bytes,
    /// All of them, once there are two.
    all: BytesMut,
    notifications: u32,
}

impl CoalescedFrames {
    /// One frame, which holds so many notifications.
    pub fn new(frame: Bytes, sessions: Vec<SessionRef>, notifications: u32) -> CoalescedFrames {
        CoalescedFrames { sessions, first: frame, all: BytesMut::new(), notifications }
    }

    /// Adds a frame behind the others, if it is for the same sessions and there is room; answers whether it did.
    pub fn add(&mut self, frame: &Bytes, sessions: &[SessionRef], notifications: u32) -> bool {
        if self.bytes() + frame.len() > COALESCED_BYTES || self.sessions != sessions {
            return false;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(frame);
        self.notifications += notifications;
        true
    }

    fn bytes(&self) -> usize {
        self.first.len().max(self.all.len())
    }

    /// The frames as one, who is told them, and how many notifications they hold.
    pub fn finish(self) -> (Bytes, Vec<SessionRef>, u32) {
        let frames = if self.all.is_empty() { self.first } else { self.all.freeze() };
        (frames, self.sessions, self.notifications)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(slot: u32) -> SessionRef {
        SessionRef { worker: 0, slot, generation: 1 }
    }

    #[test]
    fn frames_for_the_same_sessions_become_one_in_their_order() {
        let mut coalesced = CoalescedFrames::new(Bytes::from_static(b"a"), vec![session(1), session(2)], 1);
        assert!(coalesced.add(&Bytes::from_static(b"bc"), &[session(1), session(2)], 0));
        assert!(coalesced.add(&Bytes::from_static(b"d"), &[session(1), session(2)], 1));
        let (frames, sessions, notifications) = coalesced.finish();
        assert_eq!((&frames[..], sessions.len(), notifications), (&b"abcd"[..], 2, 2));
    }

    #[test]
    fn a_frame_for_others_is_not_joined() {
        let mut coalesced = CoalescedFrames::new(Bytes::from_static(b"a"), vec![session(1), session(2)], 1);
        assert!(!coalesced.add(&Bytes::from_static(b"b"), &[session(1)], 1));
        let later_tenant = SessionRef { generation: 2, ..session(2) };
        assert!(!coalesced.add(&Bytes::from_static(b"b"), &[session(1), later_tenant], 1));
        assert_eq!(coalesced.finish().0, b"a"[..]);
    }

    #[test]
    fn what_is_joined_is_bounded() {
        let frame = Bytes::from(vec![0; COALESCED_BYTES / 2]);
        let mut coalesced = CoalescedFrames::new(frame.clone(), vec![session(1)], 1);
        assert!(coalesced.add(&frame, &[session(1)], 1));
        assert!(!coalesced.add(&Bytes::from_static(b"a"), &[session(1)], 1));
        let mut large = CoalescedFrames::new(Bytes::from(vec![0; COALESCED_BYTES * 2]), vec![session(1)], 1);
        assert!(!large.add(&Bytes::from_static(b"a"), &[session(1)], 1));
        assert_eq!(large.finish().0.len(), COALESCED_BYTES * 2);
    }
}
