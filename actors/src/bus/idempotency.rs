//! The idempotency keys of the local bus: the keys used within the window, each with its emit.
//!
//! A key is stored as a fingerprint of (project, text), never as text. Keys are grouped into slices of time, each an
//! eighth of the window. A slice expires as a whole. So no key needs its own time, and the memory of a slice is freed
//! at once. A key is remembered for at least the window, and at most for an eighth of it longer.
//!
//! Invariant: `held` counts, for each project, its keys in `under_way` and in all slices.

use super::{BusError, EmitId};
use crate::counters::Limit;
use crate::fingerprint::{Fingerprint, Fingerprints};
use futures::future::{LocalBoxFuture, Shared};
use hashbrown::HashTable;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The window is this many slices long. More slices waste less memory after the window and cost one lookup each.
const SLICES: u32 = 8;

/// A publish under way. Later emits with the same key wait for it.
pub(super) type Publishing = Shared<LocalBoxFuture<'static, Result<EmitId, BusError>>>;

/// The bounds of the keys.
#[derive(Clone, Copy, Debug)]
pub struct IdempotencySettings {
    /// The number of this node, with which its emit ids begin.
    pub node: u64,
    /// Keys of all projects together (`limits.idempotency_keys`).
    pub keys: usize,
    /// Keys of one project (`limits.idempotency_keys_per_project`).
    pub keys_per_project: usize,
    /// How long a key is remembered, at least.
    pub window: Duration,
}

/// The state of a key.
pub(super) enum Seen {
    Never,
    UnderWay(Publishing),
    Published(EmitId),
    /// The key is new, and this limit leaves no room for it.
    Full(Limit),
}

struct UnderWay {
    project: Arc<str>,
    publishing: Publishing,
}

/// A key whose emit was published. 24 bytes: the node's part of the emit id is the same for all.
struct Entry {
    name: Fingerprint,
    emit_number: u64,
}

/// The keys of one span of time.
struct Slice {
    started_at: Instant,
    entries: HashTable<Entry>,
    by_project: HashMap<Arc<str>, usize>,
}

/// The idempotency keys of a node.
pub(super) struct IdempotencyKeys {
    settings: IdempotencySettings,
    fingerprints: Fingerprints,
    under_way: HashMap<Fingerprint, UnderWay>,
    /// Oldest first; new keys go to the last one.
    slices: VecDeque<Slice>,
    held: HashMap<Arc<str>, usize>,
}

impl IdempotencyKeys {
    /// No keys yet, with these bounds.
    pub fn new(settings: IdempotencySettings) -> IdempotencyKeys {
        IdempotencyKeys {
            settings,
            fingerprints: Fingerprints::default(),
            under_way: HashMap::new(),
            slices: VecDeque::new(),
            held: HashMap::new(),
        }
    }

    /// The name under which a project's key is stored.
    pub fn name(&self, project: &str, key: &str) -> Fingerprint {
        self.fingerprints.of(|hasher| (project, key).hash(hasher))
    }

    /// The state of a key of this project.
    pub fn look_up(&mut self, name: Fingerprint, project: &str, now: Instant) -> Seen {
        self.forget_expired(now);
        if let Some(under_way) = self.under_way.get(&name) {
            return Seen::UnderWay(under_way.publishing.clone());
        }
        if let Some(entry) = self.slices.iter().rev().find_map(|slice| slice.find(name)) {
            return Seen::Published(EmitId::new(self.settings.node, entry.emit_number));
        }
        if self.count() >= self.settings.keys {
            return Seen::Full(Limit::IdempotencyKeys);
        }
        if self.held.get(project).is_some_and(|held| *held >= self.settings.keys_per_project) {
            return Seen::Full(Limit::IdempotencyKeysPerProject);
        }
        Seen::Never
    }

    /// Remembers a new key while its emit is published.
    pub fn insert(&mut self, name: Fingerprint, project: Arc<str>, publishing: Publishing) {
        *self.held.entry(project.clone()).or_default() += 1;
        self.under_way.insert(name, UnderWay { project, publishing });
    }

    /// Records the result of a publish. A key whose emit failed is removed, so the caller can try again.
    pub fn settle(&mut self, name: Fingerprint, result: &Result<EmitId, BusError>, now: Instant) {
        let Some(UnderWay { project, .. }) = self.under_way.remove(&name) else { return };
        match result {
            Ok(id) => self.current_slice(now).insert(Entry { name, emit_number: id.number() }, project),
            Err(_) => release(&mut self.held, &project, 1),
        }
    }

    /// Drops the slices whose keys are all older than the window.
    pub fn forget_expired(&mut self, now: Instant) {
        let lifetime = self.settings.window + self.span();
        let is_expired = |slice: &Slice| now.saturating_duration_since(slice.started_at) >= lifetime;
        while let Some(slice) = self.slices.pop_front_if(|slice| is_expired(slice)) {
            for (project, count) in slice.by_project {
                release(&mut self.held, &project, count);
            }
            self.under_way.shrink_to_fit();
        }
    }

    /// The time that one slice covers.
    pub fn span(&self) -> Duration {
        self.settings.window / SLICES
    }

    fn count(&self) -> usize {
        self.under_way.len() + self.slices.iter().map(|slice| slice.entries.len()).sum::<usize>()
    }

    fn current_slice(&mut self, now: Instant) -> &mut Slice {
        let span = self.span();
        let is_current = |slice: &Slice| now.saturating_duration_since(slice.started_at) < span;
        if !self.slices.back().is_some_and(is_current) {
            self.slices.push_back(Slice::new(now));
        }
        self.slices.back_mut().expect("pushed above where it was missing")
    }
}

impl Slice {
    fn new(started_at: Instant) -> Slice {
        Slice { started_at, entries: HashTable::new(), by_project: HashMap::new() }
    }

    fn find(&self, name: Fingerprint) -> Option<&Entry> {
        self.entries.find(name.hash(), |entry| entry.name == name)
    }

    fn insert(&mut self, entry: Entry, project: Arc<str>) {
        self.entries.insert_unique(entry.name.hash(), entry, |entry| entry.name.hash());
        *self.by_project.entry(project).or_default() += 1;
    }
}

/// Subtracts `count` keys from the count of a project.
fn release(held: &mut HashMap<Arc<str>, usize>, project: &str, count: usize) {
    if let Some(left) = held.get_mut(project) {
        *left = left.saturating_sub(count);
        if *left == 0 {
            held.remove(project);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use futures::future::ready;

    const WINDOW: Duration = Duration::from_secs(800);
    const SPAN: Duration = Duration::from_secs(100);

    fn keys(keys: usize, keys_per_project: usize) -> IdempotencyKeys {
        IdempotencyKeys::new(IdempotencySettings { node: 7, keys, keys_per_project, window: WINDOW })
    }

    fn id(number: u64) -> EmitId {
        EmitId::new(7, number)
    }

    fn publishing() -> Publishing {
        let publishing: LocalBoxFuture<'static, _> = Box::pin(ready(Ok(id(1))));
        publishing.shared()
    }

    /// Looks up a key. If it is new and there is room, publishes under it.
    fn publish(keys: &mut IdempotencyKeys, project: &str, key: &str, now: Instant) -> Seen {
        let name = keys.name(project, key);
        let seen = keys.look_up(name, project, now);
        if matches!(seen, Seen::Never) {
            keys.insert(name, project.into(), publishing());
            keys.settle(name, &Ok(id(1)), now);
        }
        seen
    }

    #[test]
    fn a_key_is_remembered_for_its_window_and_at_most_an_eighth_longer() {
        let (mut keys, start) = (keys(9, 9), Instant::now());
        publish(&mut keys, "demo", "first of the slice", start);
        let late = start + SPAN - Duration::from_millis(1);
        publish(&mut keys, "demo", "last of the slice", late);
        let end = late + WINDOW;
        assert!(matches!(publish(&mut keys, "demo", "last of the slice", end), Seen::Published(of) if of == id(1)));
        assert!(matches!(publish(&mut keys, "demo", "first of the slice", start + WINDOW + SPAN), Seen::Never));
    }

    #[test]
    fn a_key_stays_under_way_until_its_publish_ends() {
        let (mut keys, start) = (keys(1, 1), Instant::now());
        let name = keys.name("demo", "a");
        keys.insert(name, "demo".into(), publishing());
        for now in [start, start + WINDOW * 2] {
            assert!(matches!(keys.look_up(name, "demo", now), Seen::UnderWay(_)));
        }
        let other = keys.name("demo", "b");
        assert!(matches!(keys.look_up(other, "demo", start), Seen::Full(Limit::IdempotencyKeys)));
    }

    #[test]
    fn a_failed_publish_frees_its_key_and_its_room() {
        let (mut keys, start) = (keys(1, 1), Instant::now());
        let name = keys.name("demo", "a");
        keys.insert(name, "demo".into(), publishing());
        keys.settle(name, &Err(BusError::Unavailable), start);
        assert!(matches!(publish(&mut keys, "demo", "a", start), Seen::Never));
        assert!(matches!(publish(&mut keys, "demo", "a", start), Seen::Published(_)));
    }

    #[test]
    fn a_project_that_used_up_its_keys_does_not_take_those_of_others() {
        let (mut keys, start) = (keys(5, 2), Instant::now());
        for key in ["a", "b"] {
            assert!(matches!(publish(&mut keys, "one", key, start), Seen::Never));
        }
        assert!(matches!(publish(&mut keys, "one", "c", start), Seen::Full(Limit::IdempotencyKeysPerProject)));
        assert!(matches!(publish(&mut keys, "one", "a", start), Seen::Published(_)));
        for project in ["two", "three"] {
            assert!(matches!(publish(&mut keys, project, "a", start), Seen::Never));
        }
        publish(&mut keys, "three", "b", start);
        assert!(matches!(publish(&mut keys, "three", "c", start), Seen::Full(Limit::IdempotencyKeys)));
        assert!(matches!(publish(&mut keys, "one", "c", start + WINDOW + SPAN), Seen::Never));
    }

    #[test]
    fn a_key_takes_at_most_60_bytes_and_its_memory_is_freed_after_the_window() {
        let (mut keys, start) = (keys(1_000_000, 1_000_000), Instant::now());
        let bytes =
            |keys: &IdempotencyKeys| -> usize { keys.slices.iter().map(|slice| slice.entries.allocation_size()).sum() };
        for (count, number) in (1..=120_000_usize).map(|count| (count, count.to_string())) {
            publish(&mut keys, "demo", &number, start + SPAN * (count / 40_000) as u32);
            if count % 1_000 == 0 {
                assert!(bytes(&keys) <= count * 60, "{count} keys take {} bytes", bytes(&keys));
            }
        }
        keys.forget_expired(start + WINDOW + SPAN * 5);
        assert!(keys.slices.is_empty() && keys.held.is_empty() && keys.count() == 0);
    }
}
