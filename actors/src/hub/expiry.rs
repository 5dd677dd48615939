//! When sessions end in time: one heap a worker instead of a timer a session.
//!
//! Invariant: a live session has an entry that is due no later than its end. An entry of a session that was refreshed
//! is put back when it comes up; those of sessions that are gone are swept out when they are the majority.

use crate::ids::SessionRef;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Stale entries that are never worth a sweep.
const STALE_MINIMUM: usize = 1024;

/// See the module.
#[derive(Default)]
pub struct ExpiryQueue {
    heap: BinaryHeap<Reverse<(u64, SessionRef)>>,
}

impl ExpiryQueue {
    /// Notes the end of a session, in Unix seconds.
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

    /// Sweeps the entries of sessions that are gone, when they may be the majority.
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
    fn entries_come_up_in_the_order_of_their_ends() {
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
    fn sessions_that_come_and_go_leave_a_bounded_queue() {
        let mut queue = ExpiryQueue::default();
        for slot in 0..100_000 {
            queue.insert(u64::MAX, session(slot));
            queue.sweep(1, |live| live.slot == slot);
        }
        assert!(queue.len() <= STALE_MINIMUM + 3, "{} entries for one session", queue.len());
    }
}
