//! Which idempotency keys were seen of late, and what became of their emits.
//!
//! Invariant: the keys in `order` are those in `entries` and nothing else, oldest first, but for keys whose publish
//! failed: those stay in `order` until their time and are skipped. A key is a fingerprint of (project, text), 16 bytes.

use super::{EmitError, EmitId};
use crate::fingerprint::{Fingerprint, Fingerprints};
use futures::future::{LocalBoxFuture, Shared};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// A publish under way, which emits with the same key wait for.
pub(super) type Publishing = Shared<LocalBoxFuture<'static, Result<EmitId, EmitError>>>;

enum Entry {
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
        match self.entries.get(&name) {
            Some(Entry::Told(id)) => Seen::Told(*id),
            Some(Entry::UnderWay(publishing)) => Seen::UnderWay(publishing.clone()),
            None if self.order.len() >= self.capacity => Seen::Full,
            None => Seen::Never,
        }
    }

    /// Remembers a key that was never seen.
    pub fn insert(&mut self, name: Fingerprint, publishing: Publishing, now: Instant) {
        self.entries.insert(name, Entry::UnderWay(publishing));
        self.order.push_back((now, name));
    }

    /// Notes what became of an emit: one that failed was never seen, so that the caller can try again.
    pub fn settle(&mut self, name: Fingerprint, result: &Result<EmitId, EmitError>) {
        match result {
            Ok(id) => {
                if let Some(entry) = self.entries.get_mut(&name) {
                    *entry = Entry::Told(*id);
                }
            }
            Err(_) => {
                self.entries.remove(&name);
            }
        }
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((seen_at, name)) = self.order.front() {
            if now.saturating_duration_since(*seen_at) < self.window {
                return;
            }
            self.entries.remove(name);
            self.order.pop_front();
        }
        self.entries.shrink_to(0);
        self.order.shrink_to(0);
    }
}
