//! The times when sessions expire: one heap per worker instead of one timer per session.
//!
//! Invariant: a live session has an entry that is due no later than its end. If a session was refreshed, its entry is
//! inserted again when it is due. Entries of removed sessions are swept when they are the majority.

use crate::ids::SessionRef;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of stale entries that is too small for a sweep.
const STALE_MINIMUM: usize = 1024;

/// A queue of sessions, ordered by time.
#[derive(Default)]
pub struct ExpiryQueue {
    heap: BinaryHeap<Reverse<(u64, SessionRef)>>,
}

impl ExpiryQueue {
    /// Adds the time when a session expires, in seconds of the clock that the caller uses.
    pub fn insert(&mut self, at: u64, session: SessionRef) {
        self.heap.push(Reverse((at, session)));
    }

    /// The next entry that is due at `now`, if any.
    pub fn pop_due(&mut self, now: u64) -> Option<SessionRef> {
        let Reverse((at, _)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, session))| session)
    }

    /// Sweeps the entries of removed sessions, if they may be the majority.
    pub fn sweep(&mut self, live: usize, mut is_live: impl FnMut(SessionRef) -> bool) {
        if self.heap.len() > live * 2 + STALE_MINIMUM {
            self.heap.retain(|Reverse((_, session))| is_live(*session));
            self.heap.shrink_to_fit();
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(slot: u32) -> SessionRef {
        SessionRef { worker: 0, slot, generation: slot }
    }

    #[test]
    fn entries_are_due_in_the_order_of_their_times() {
        let mut queue = ExpiryQueue::default();
        queue.insert(30, session(3));
        queue.insert(10, session(1));
        queue.insert(20, session(2));
        assert_eq!(queue.pop_due(9), None);
        assert_eq!(queue.pop_due(20), Some(session(1)));
        assert_eq!(queue.pop_due(20), Some(session(2)));
        assert_eq!(queue.pop_due(20), None);
    }

    #[test]
    fn short_sessions_leave_a_bounded_queue() {
        let mut queue = ExpiryQueue::default();
        for slot in 0..100_000 {
            queue.insert(u64::MAX, session(slot));
            queue.sweep(1, |live| live.slot == slot);
        }
        assert!(queue.len() <= STALE_MINIMUM + 3, "{} entries for one session", queue.len());
    }
}
