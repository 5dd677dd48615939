//! Which idempotency keys were seen of late, and what became of their emits.
//!
//! Invariant: every key in `entries` is in `order` with the moment that it was seen, oldest first. A key whose publish
//! failed leaves `entries` at once and `order` in its time, when a later one of the same name is told from it by the
//! moment. Retries of emits that fail leave one entry each in `order`, bounded by what one window's calls can bring. A key is a fingerprint of (project, text), 16 bytes.

use super::{BusError, EmitId};
use crate::fingerprint::{Fingerprint, Fingerprints};
use futures::future::{LocalBoxFuture, Shared};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// A publish under way, which emits with the same key wait for.
pub(super) type Publishing = Shared<LocalBoxFuture<'static, Result<EmitId, BusError>>>;

struct Entry {
    seen_at: Instant,
    fate: Fate,
}

enum Fate {
    UnderWay(Publishing),
    Told(EmitId),
}

/// What is known of a key.
pub(super) enum Seen {
    Never,
    UnderWay(Publishing),
    Told(EmitId),
    /// Unknown, and there is no room to remember it.
    Full,
}

/// See the module.
pub(super) struct IdempotencyKeys {
    fingerprints: Fingerprints,
    capacity: usize,
    window: Duration,
    entries: HashMap<Fingerprint, Entry>,
    order: VecDeque<(Instant, Fingerprint)>,
}

impl IdempotencyKeys {
    /// Remembers at most `capacity` keys, each for `window`.
    pub fn new(capacity: usize, window: Duration) -> IdempotencyKeys {
        let (entries, order) = (HashMap::new(), VecDeque::new());
        IdempotencyKeys { fingerprints: Fingerprints::default(), capacity, window, entries, order }
    }

    /// The name under which a project's key is remembered.
    pub fn name(&self, project: &str, key: &str) -> Fingerprint {
        self.fingerprints.of(|hasher| (project, key).hash(hasher))
    }

    /// What is known of a key.
    pub fn look_up(&mut self, name: Fingerprint, now: Instant) -> Seen {
        self.forget_old(now);
        match self.entries.get(&name).map(|entry| &entry.fate) {
            Some(Fate::Told(id)) => Seen::Told(*id),
            Some(Fate::UnderWay(publishing)) => Seen::UnderWay(publishing.clone()),
            None if self.entries.len() >= self.capacity => Seen::Full,
            None => Seen::Never,
        }
    }

    /// Remembers a key that was never seen.
    pub fn insert(&mut self, name: Fingerprint, publishing: Publishing, now: Instant) {
        self.entries.insert(name, Entry { seen_at: now, fate: Fate::UnderWay(publishing) });
        self.order.push_back((now, name));
    }

    /// Notes what became of an emit: one that failed was never seen, so that the caller can try again.
    pub fn settle(&mut self, name: Fingerprint, result: &Result<EmitId, BusError>) {
        match result {
            Ok(id) => {
                if let Some(entry) = self.entries.get_mut(&name) {
                    entry.fate = Fate::Told(*id);
                }
            }
            Err(_) => {
                self.entries.remove(&name);
            }
        }
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((seen_at, name)) = self.order.front().copied() {
            if now.saturating_duration_since(seen_at) < self.window {
                return;
            }
            self.order.pop_front();
            let Some(entry) = self.entries.get_mut(&name).filter(|entry| entry.seen_at == seen_at) else { continue };
            if matches!(entry.fate, Fate::UnderWay(_)) {
                // Whoever asks again must still find it: it stays until it has a fate.
                entry.seen_at = now;
                self.order.push_back((now, name));
            } else {
                self.entries.remove(&name);
            }
        }
        self.entries.shrink_to(0);
        self.order.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use futures::future::ready;

    const WINDOW: Duration = Duration::from_secs(300);
    const ID: EmitId = EmitId::new(1, 1);

    fn publishing() -> Publishing {
        let publishing: LocalBoxFuture<'static, _> = Box::pin(ready(Ok(ID)));
        publishing.shared()
    }

    #[test]
    fn a_key_is_remembered_for_its_window_and_no_longer() {
        let (mut keys, start) = (IdempotencyKeys::new(1, WINDOW), Instant::now());
        let name = keys.name("demo", "a");
        assert!(matches!(keys.look_up(name, start), Seen::Never));
        keys.insert(name, publishing(), start);
        assert!(matches!(keys.look_up(name, start), Seen::UnderWay(_)));
        keys.settle(name, &Ok(ID));
        let other = keys.name("other", "a");
        assert!(matches!(keys.look_up(other, start), Seen::Full));
        assert!(matches!(keys.look_up(name, start + WINDOW - Duration::from_millis(1)), Seen::Told(ID)));
        assert!(matches!(keys.look_up(name, start + WINDOW), Seen::Never));
        assert!(keys.entries.is_empty() && keys.order.is_empty());
    }

    #[test]
    fn a_key_whose_publish_is_under_way_outlives_its_window() {
        let (mut keys, start) = (IdempotencyKeys::new(9, WINDOW), Instant::now());
        let name = keys.name("demo", "a");
        keys.insert(name, publishing(), start);
        assert!(matches!(keys.look_up(name, start + WINDOW), Seen::UnderWay(_)));
    }

    #[test]
    fn a_retry_after_a_failure_keeps_its_own_window() {
        let (mut keys, start) = (IdempotencyKeys::new(9, WINDOW), Instant::now());
        let name = keys.name("demo", "a");
        keys.insert(name, publishing(), start);
        keys.settle(name, &Err(BusError::Unavailable));
        let retried = start + Duration::from_secs(10);
        assert!(matches!(keys.look_up(name, retried), Seen::Never));
        keys.insert(name, publishing(), retried);
        keys.settle(name, &Ok(ID));
        assert!(matches!(keys.look_up(name, start + WINDOW), Seen::Told(ID)));
    }
}
