//! Where postings hang: each (channel, path, kind of look-up) in use is a place, and so is each bound of a range.
//!
//! A channel is nothing but the list of its places, so that a million channels with one subscription each cost a
//! million places and no maps. Never knows who subscribes.

use super::ChannelId;
use super::id_table::IdTable;
use super::interner::Interner;
use super::ranges::{BoundKey, Extremes};
use super::terms::{Class, Term};
use crate::chunked_slab::{ChunkedSlab, NONE};
use crate::condition::document::Document;
use crate::condition::{Effort, Path};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The places of all channels.
#[derive(Default)]
pub(super) struct Places {
    places: ChunkedSlab<Place>,
    paths: Interner<Path>,
    /// By channel, class and path.
    found: IdTable,
    /// The first place of each channel's list.
    channels: IdTable,
    /// The bounds of all ranges: one tree, so that a range with a single bound costs no tree of its own.
    bounds: BTreeMap<Arc<BoundKey>, u32>,
    random: RandomState,
}

/// One place. Invariant: it lives as long as it has holders: groups of subscriptions, or for a range its bounds.
pub(super) struct Place {
    pub(super) channel: ChannelId,
    pub(super) class: Class,
    /// Interned; `NONE` for [`Class::Always`] and for a bound.
    path: u32,
    holders: u32,
    /// The channel's list. A bound is not on it, only the range that it belongs to.
    next: u32,
    previous: u32,
    bound: Option<Arc<BoundKey>>,
}

impl Places {
    /// The place that a term's postings hang at, if it is in use.
    pub(super) fn find(&self, channel: ChannelId, term: &Term<'_>) -> Option<u32> {
        let path = match path_of(term) {
            Some(path) => self.paths.find(path)?,
            None => NONE,
        };
        let place = self.find_interned(channel, term.class(), path)?;
        match bound_key(place, term) {
            Some(key) => self.bounds.get(&key).copied(),
            None => Some(place),
        }
    }

    /// Adds a holder to the place that a term's postings hang at.
    pub(super) fn acquire(&mut self, channel: ChannelId, term: &Term<'_>) -> u32 {
        let place = self.acquire_listed(channel, term.class(), path_of(term));
        match bound_key(place, term) {
            Some(key) => self.acquire_bound(channel, key),
            None => place,
        }
    }

    /// Takes a holder away; with the last one the place goes.
    pub(super) fn release(&mut self, id: u32) {
        self.places[id].holders -= 1;
        if self.places[id].holders > 0 {
            return;
        }
        match self.places[id].bound.take() {
            Some(key) => {
                self.bounds.remove(&key);
                self.places.remove(id);
                self.release(key.place);
            }
            None => self.close_listed(id),
        }
    }

    /// The places that an emit on `channel` has to look at.
    pub(super) fn of_channel(&self, channel: ChannelId) -> impl Iterator<Item = (u32, &Place)> {
        let first = self.first_of(channel);
        std::iter::successors(first.map(|id| (id, &self.places[id])), |(_, place)| {
            (place.next != NONE).then(|| (place.next, &self.places[place.next]))
        })
    }

    /// The path of a place that has one.
    pub(super) fn path(&self, place: &Place) -> &Path {
        &self.paths[place.path]
    }

    pub(super) fn channel(&self, id: u32) -> ChannelId {
        self.places[id].channel
    }

    /// A place on its channel's list.
    pub(super) fn listed(&self, id: u32) -> &Place {
        &self.places[id]
    }

    /// The place on its channel's list that a place is, or belongs to as a bound.
    pub(super) fn listed_of(&self, id: u32) -> u32 {
        self.places[id].bound.as_ref().map_or(id, |bound| bound.place)
    }

    /// Calls `on_bound` with the place of each bound of range `id` that the document meets, once; with none where
    /// `effort` does not suffice.
    pub(super) fn for_each_bound_met(
        &self,
        id: u32,
        document: &Document<'_>,
        effort: &Effort,
        on_bound: &mut dyn FnMut(u32),
    ) {
        let mut extremes = Extremes::default();
        let path = self.path(&self.places[id]);
        document.for_each_candidate(path, effort, &mut |value| extremes.add(value));
        if !effort.is_spent() {
            extremes.for_each_met(id, &self.bounds, on_bound);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let tables = self.found.capacity() + self.channels.capacity();
        self.places.len() + self.paths.len() + self.bounds.len() + tables == 0
    }

    fn acquire_listed(&mut self, channel: ChannelId, class: Class, path: Option<&Path>) -> u32 {
        let path = match path {
            Some(path) => self.paths.acquire(path, || path.clone()),
            None => NONE,
        };
        match self.find_interned(channel, class, path) {
            Some(id) => {
                self.release_path(path);
                self.places[id].holders += 1;
                id
            }
            None => self.open_listed(channel, class, path),
        }
    }

    fn acquire_bound(&mut self, channel: ChannelId, key: BoundKey) -> u32 {
        if let Some(&id) = self.bounds.get(&key) {
            self.release(key.place);
            self.places[id].holders += 1;
            return id;
        }
        let key = Arc::new(key);
        let id = self.places.insert(Place {
            channel,
            class: Class::Ranged,
            path: NONE,
            holders: 1,
            next: NONE,
            previous: NONE,
            bound: Some(Arc::clone(&key)),
        });
        self.bounds.insert(key, id);
        id
    }

    fn open_listed(&mut self, channel: ChannelId, class: Class, path: u32) -> u32 {
        let first = self.first_of(channel);
        let id = self.places.insert(Place {
            channel,
            class,
            path,
            holders: 1,
            next: first.unwrap_or(NONE),
            previous: NONE,
            bound: None,
        });
        let hash = self.hash(channel, class, path);
        let Places { places, found, channels, random, .. } = self;
        found.insert(hash, id, |id| hash_place(random, &places[id]));
        let hash = random.hash_one(channel);
        match first {
            Some(first) => {
                places[first].previous = id;
                channels.replace(hash, first, id);
            }
            None => channels.insert(hash, id, |id| random.hash_one(places[id].channel)),
        }
        id
    }

    fn close_listed(&mut self, id: u32) {
        let Place { channel, class, path, next, previous, .. } = self.places[id];
        let hash = self.hash(channel, class, path);
        let Places { places, found, channels, random, .. } = self;
        found.remove(hash, id, |id| hash_place(random, &places[id]));
        if next != NONE {
            places[next].previous = previous;
        }
        let hash = random.hash_one(channel);
        match (previous, next) {
            (NONE, NONE) => channels.remove(hash, id, |id| random.hash_one(places[id].channel)),
            (NONE, next) => channels.replace(hash, id, next),
            (previous, next) => places[previous].next = next,
        }
        places.remove(id);
        self.release_path(path);
    }

    fn find_interned(&self, channel: ChannelId, class: Class, path: u32) -> Option<u32> {
        self.found.find(self.hash(channel, class, path), |id| {
            let place = &self.places[id];
            (place.channel, place.class, place.path) == (channel, class, path)
        })
    }

    fn first_of(&self, channel: ChannelId) -> Option<u32> {
        let hash = self.random.hash_one(channel);
        self.channels.find(hash, |id| self.places[id].channel == channel)
    }

    fn release_path(&mut self, path: u32) {
        if path != NONE {
            self.paths.release(path);
        }
    }

    fn hash(&self, channel: ChannelId, class: Class, path: u32) -> u64 {
        self.random.hash_one((channel, class, path))
    }
}

fn hash_place(random: &RandomState, place: &Place) -> u64 {
    random.hash_one((place.channel, place.class, place.path))
}

fn path_of<'c>(term: &Term<'c>) -> Option<&'c Path> {
    match *term {
        Term::Equal(path, _) | Term::Present(path) | Term::Ranged { path, .. } => Some(path),
        Term::Always => None,
    }
}

fn bound_key(place: u32, term: &Term<'_>) -> Option<BoundKey> {
    match *term {
        Term::Ranged { side, inclusive, bound, .. } => BoundKey::new(place, side, inclusive, bound),
        _ => None,
    }
}
