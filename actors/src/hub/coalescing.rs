//! Joins consecutive frames for the same sessions into one. A session then queues and writes them as one, which makes
//! fast broadcasts cheap. This file handles bytes only.

use super::messages::TargetedFrame;
use crate::ids::SessionRef;
use crate::protocol::frame::OutgoingFrame;
use crate::session::Deliver;
use bytes::BytesMut;

/// Maximum bytes that are coalesced. More would save nothing, and the joined frame stays in memory until it is written.
const COALESCED_BYTES: usize = 64 * 1024;

/// Frames in order, and the sessions that receive them.
pub struct CoalescedFrames {
    sessions: Vec<SessionRef>,
    first: OutgoingFrame,
    publication: u64,
    /// All frames, once there are two.
    all: BytesMut,
    notifications: u32,
}

impl CoalescedFrames {
    /// Starts with one frame.
    pub fn new(publication: u64, frame: TargetedFrame) -> CoalescedFrames {
        let TargetedFrame { frame: first, sessions, notifications } = frame;
        CoalescedFrames { sessions, first, publication, all: BytesMut::new(), notifications }
    }

    /// Appends a frame if it is for the same sessions and there is room. Returns whether it did.
    pub fn add(&mut self, publication: u64, other: &TargetedFrame) -> bool {
        let TargetedFrame { frame, sessions, notifications } = other;
        let is_large = frame.shared.is_some() || self.first.shared.is_some();
        if is_large || self.bytes() + frame.head.len() > COALESCED_BYTES || self.sessions != *sessions {
            return false;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first.head);
        }
        self.all.extend_from_slice(&frame.head);
        self.notifications += notifications;
        self.publication = publication;
        true
    }

    fn bytes(&self) -> usize {
        self.first.head.len().max(self.all.len())
    }

    /// The frames as one delivery, and the sessions that receive it.
    pub fn finish(self) -> (Deliver, Vec<SessionRef>) {
        let frames = if self.all.is_empty() { self.first } else { self.all.freeze().into() };
        (Deliver { frames, notifications: self.notifications, publication: self.publication }, self.sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn session(slot: u32) -> SessionRef {
        SessionRef { worker: 0, slot, generation: 1 }
    }

    fn frame(bytes: &[u8], sessions: &[SessionRef]) -> TargetedFrame {
        let frame = Bytes::copy_from_slice(bytes).into();
        TargetedFrame { frame, sessions: sessions.to_vec(), notifications: 1 }
    }

    #[test]
    fn frames_for_the_same_sessions_become_one_in_their_order() {
        let both = [session(1), session(2)];
        let mut coalesced = CoalescedFrames::new(1, frame(b"a", &both));
        assert!(coalesced.add(1, &TargetedFrame { notifications: 0, ..frame(b"bc", &both) }));
        assert!(coalesced.add(2, &frame(b"d", &both)));
        let (deliver, sessions) = coalesced.finish();
        assert_eq!((&deliver.frames.head[..], deliver.notifications, deliver.publication), (&b"abcd"[..], 2, 2));
        assert_eq!(sessions, both);
    }

    #[test]
    fn a_frame_for_other_sessions_is_not_coalesced() {
        let mut coalesced = CoalescedFrames::new(1, frame(b"a", &[session(1), session(2)]));
        assert!(!coalesced.add(1, &frame(b"b", &[session(1)])));
        let reused_slot = SessionRef { generation: 2, ..session(2) };
        assert!(!coalesced.add(1, &frame(b"b", &[session(1), reused_slot])));
        assert_eq!(coalesced.finish().0.frames.head, b"a"[..]);
    }

    #[test]
    fn coalesced_frames_are_bounded() {
        let half = vec![0; COALESCED_BYTES / 2];
        let one = [session(1)];
        let mut coalesced = CoalescedFrames::new(1, frame(&half, &one));
        assert!(coalesced.add(1, &frame(&half, &one)));
        assert!(!coalesced.add(1, &frame(b"a", &one)));
        let mut large = CoalescedFrames::new(1, frame(&vec![0; COALESCED_BYTES * 2], &one));
        assert!(!large.add(1, &frame(b"a", &one)));
        assert_eq!(large.finish().0.frames.head.len(), COALESCED_BYTES * 2);
    }
}
