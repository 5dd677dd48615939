//! What an emit on each channel must look up: one lookup per (channel, path, kind of term) in use, and one per range
//! bound.
//!
//! A channel is only the list of its lookups: a million channels with one subscription each take a million lookups and
//! no maps. Knows nothing of subscriptions.

use super::id_table::IdTable;
use super::ids::ChannelId;
use super::interner::Interner;
use super::ranges::{BoundKey, Extremes};
use super::terms::{Term, TermKind};
use crate::chunked_slab::{ChunkedSlab, NONE};
use crate::condition::document::Document;
use crate::condition::{CostBudget, Path};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The lookups of all channels.
#[derive(Default)]
pub(super) struct Lookups {
    lookups: ChunkedSlab<Lookup>,
    paths: Interner<Path>,
    /// The lookups by channel, kind and path.
    by_path: IdTable,
    /// The first lookup of each channel's list.
    channels: IdTable,
    /// The bounds of all ranges, in one tree: a range with a single bound needs no tree of its own.
    bounds: BTreeMap<Arc<BoundKey>, u32>,
    random: RandomState,
}

/// One lookup, or one bound of a range lookup.
///
/// Invariant: it exists as long as it has holders, which are groups of subscriptions or, for a range, its bounds.
pub(super) struct Lookup {
    pub(super) channel: ChannelId,
    pub(super) kind: TermKind,
    /// The interned path; `NONE` for [`TermKind::Always`] and for a bound.
    path: u32,
    holders: u32,
    /// Links of the channel's list. A bound is not on the list; the range that it belongs to is.
    next: u32,
    previous: u32,
    bound: Option<Arc<BoundKey>>,
}

impl Lookups {
    /// The lookup or bound that finds a term, if it is in use.
    pub(super) fn find(&self, channel: ChannelId, term: &Term<'_>) -> Option<u32> {
        let path = match path_of(term) {
            Some(path) => self.paths.find(path)?,
            None => NONE,
        };
        let lookup = self.find_interned(channel, term.kind(), path)?;
        match bound_key(lookup, term) {
            Some(key) => self.bounds.get(&key).copied(),
            None => Some(lookup),
        }
    }

    /// Adds a holder to the lookup or bound that finds a term.
    pub(super) fn acquire(&mut self, channel: ChannelId, term: &Term<'_>) -> u32 {
        let lookup = self.acquire_lookup(channel, term.kind(), path_of(term));
        match bound_key(lookup, term) {
            Some(key) => self.acquire_bound(channel, key),
            None => lookup,
        }
    }

    /// Removes a holder. The lookup is removed with its last holder.
    pub(super) fn release(&mut self, id: u32) {
        self.lookups[id].holders -= 1;
        if self.lookups[id].holders > 0 {
            return;
        }
        match self.lookups[id].bound.take() {
            Some(key) => {
                self.bounds.remove(&key);
                self.lookups.remove(id);
                self.release(key.lookup);
            }
            None => self.remove_lookup(id),
        }
    }

    /// The lookups that an emit on `channel` must run.
    pub(super) fn of_channel(&self, channel: ChannelId) -> impl Iterator<Item = (u32, &Lookup)> {
        let first = self.first_of(channel);
        std::iter::successors(first.map(|id| (id, &self.lookups[id])), |(_, lookup)| {
            (lookup.next != NONE).then(|| (lookup.next, &self.lookups[lookup.next]))
        })
    }

    /// The path of a lookup that has one.
    pub(super) fn path(&self, lookup: &Lookup) -> &Path {
        &self.paths[lookup.path]
    }

    pub(super) fn channel(&self, id: u32) -> ChannelId {
        self.lookups[id].channel
    }

    /// A lookup by its number.
    pub(super) fn get(&self, id: u32) -> &Lookup {
        &self.lookups[id]
    }

    /// For a bound, the range lookup that it belongs to; else the lookup itself.
    pub(super) fn lookup_of(&self, id: u32) -> u32 {
        self.lookups[id].bound.as_ref().map_or(id, |bound| bound.lookup)
    }

    /// Calls `on_bound` once with the number of each bound of range `id` that the document matches. Calls it for none
    /// if `budget` is too small.
    pub(super) fn for_each_matching_bound(
        &self,
        id: u32,
        document: &Document<'_>,
        budget: &CostBudget,
        on_bound: &mut dyn FnMut(u32),
    ) {
        let mut extremes = Extremes::default();
        let path = self.path(&self.lookups[id]);
        document.for_each_candidate(path, budget, &mut |value| extremes.add(value));
        if !budget.is_exhausted() {
            extremes.for_each_matching(id, &self.bounds, on_bound);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let tables = self.by_path.capacity() + self.channels.capacity();
        self.lookups.len() + self.paths.len() + self.bounds.len() + tables == 0
    }

    fn acquire_lookup(&mut self, channel: ChannelId, kind: TermKind, path: Option<&Path>) -> u32 {
        let path = match path {
            Some(path) => self.paths.acquire(path, || path.clone()),
            None => NONE,
        };
        match self.find_interned(channel, kind, path) {
            Some(id) => {
                self.release_path(path);
                self.lookups[id].holders += 1;
                id
            }
            None => self.add_lookup(channel, kind, path),
        }
    }

    fn acquire_bound(&mut self, channel: ChannelId, key: BoundKey) -> u32 {
        if let Some(&id) = self.bounds.get(&key) {
            self.release(key.lookup);
            self.lookups[id].holders += 1;
            return id;
        }
        let key = Arc::new(key);
        let id = self.lookups.insert(Lookup {
            channel,
            kind: TermKind::Ranged,
            path: NONE,
            holders: 1,
            next: NONE,
            previous: NONE,
            bound: Some(Arc::clone(&key)),
        });
        self.bounds.insert(key, id);
        id
    }

    fn add_lookup(&mut self, channel: ChannelId, kind: TermKind, path: u32) -> u32 {
        let first = self.first_of(channel);
        let id = self.lookups.insert(Lookup {
            channel,
            kind,
            path,
            holders: 1,
            next: first.unwrap_or(NONE),
            previous: NONE,
            bound: None,
        });
        let hash = self.hash(channel, kind, path);
        let Lookups { lookups, by_path, channels, random, .. } = self;
        by_path.insert(hash, id, |id| hash_lookup(random, &lookups[id]));
        let hash = random.hash_one(channel);
        match first {
            Some(first) => {
                lookups[first].previous = id;
                channels.replace(hash, first, id);
            }
            None => channels.insert(hash, id, |id| random.hash_one(lookups[id].channel)),
        }
        id
    }

    fn remove_lookup(&mut self, id: u32) {
        let Lookup { channel, kind, path, next, previous, .. } = self.lookups[id];
        let hash = self.hash(channel, kind, path);
        let Lookups { lookups, by_path, channels, random, .. } = self;
        by_path.remove(hash, id, |id| hash_lookup(random, &lookups[id]));
        if next != NONE {
            lookups[next].previous = previous;
        }
        let hash = random.hash_one(channel);
        match (previous, next) {
            (NONE, NONE) => channels.remove(hash, id, |id| random.hash_one(lookups[id].channel)),
            (NONE, next) => channels.replace(hash, id, next),
            (previous, next) => lookups[previous].next = next,
        }
        lookups.remove(id);
        self.release_path(path);
    }

    fn find_interned(&self, channel: ChannelId, kind: TermKind, path: u32) -> Option<u32> {
        self.by_path.find(self.hash(channel, kind, path), |id| {
            let lookup = &self.lookups[id];
            (lookup.channel, lookup.kind, lookup.path) == (channel, kind, path)
        })
    }

    fn first_of(&self, channel: ChannelId) -> Option<u32> {
        let hash = self.random.hash_one(channel);
        self.channels.find(hash, |id| self.lookups[id].channel == channel)
    }

    fn release_path(&mut self, path: u32) {
        if path != NONE {
            self.paths.release(path);
        }
    }

    fn hash(&self, channel: ChannelId, kind: TermKind, path: u32) -> u64 {
        self.random.hash_one((channel, kind, path))
    }
}

fn hash_lookup(random: &RandomState, lookup: &Lookup) -> u64 {
    random.hash_one((lookup.channel, lookup.kind, lookup.path))
}

fn path_of<'c>(term: &Term<'c>) -> Option<&'c Path> {
    match *term {
        Term::Equal(path, _) | Term::Present(path) | Term::Ranged { path, .. } => Some(path),
        Term::Always => None,
    }
}

fn bound_key(lookup: u32, term: &Term<'_>) -> Option<BoundKey> {
    match *term {
        Term::Ranged { side, inclusive, bound, .. } => BoundKey::new(lookup, side, inclusive, bound),
        _ => None,
    }
}
