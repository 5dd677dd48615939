//! Reference-counted interning: equal values are stored once and freed with their last holder.

use super::id_table::IdTable;
use crate::chunked_slab::ChunkedSlab;
use hashbrown::Equivalent;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::{Index, IndexMut};

/// Values by number, each stored once.
pub(in crate::registry) struct Interner<T> {
    values: ChunkedSlab<Interned<T>>,
    table: IdTable,
    random: RandomState,
}

struct Interned<T> {
    value: T,
    holders: u32,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { values: ChunkedSlab::default(), table: IdTable::default(), random: RandomState::new() }
    }
}

impl<T: Hash> Interner<T> {
    /// The number of the value equal to `key`. `key` must hash like the value.
    pub(in crate::registry) fn find<Q: Hash + Equivalent<T> + ?Sized>(&self, key: &Q) -> Option<u32> {
        let hash = self.random.hash_one(key);
        self.table.find(hash, |id| key.equivalent(&self.values[id].value))
    }

    /// Adds a holder to the value equal to `key`, and stores the value first if there is none.
    pub(in crate::registry) fn acquire<Q>(&mut self, key: &Q, make: impl FnOnce() -> T) -> u32
    where
        Q: Hash + Equivalent<T> + ?Sized,
    {
        let Some(id) = self.find(key) else {
            return self.add(make());
        };
        self.retain(id);
        id
    }

    /// Adds a holder to a value that already has one.
    pub(in crate::registry) fn retain(&mut self, id: u32) {
        self.values[id].holders += 1;
    }

    /// Removes one holder. The value is freed with its last holder.
    pub(in crate::registry) fn release(&mut self, id: u32) {
        let interned = &mut self.values[id];
        interned.holders -= 1;
        if interned.holders > 0 {
            return;
        }
        let hash = self.random.hash_one(&interned.value);
        let Interner { values, table, random } = self;
        table.remove(hash, id, |id| random.hash_one(&values[id].value));
        values.remove(id);
    }

    /// Every value, in no particular order.
    pub(in crate::registry) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().map(|interned| &mut interned.value)
    }

    #[cfg(test)]
    pub(in crate::registry) fn len(&self) -> usize {
        self.values.len()
    }

    fn add(&mut self, value: T) -> u32 {
        let hash = self.random.hash_one(&value);
        let id = self.values.insert(Interned { value, holders: 1 });
        let Interner { values, table, random } = self;
        table.insert(hash, id, |id| random.hash_one(&values[id].value));
        id
    }
}

impl<T> Index<u32> for Interner<T> {
    type Output = T;

    fn index(&self, id: u32) -> &T {
        &self.values[id].value
    }
}

impl<T> IndexMut<u32> for Interner<T> {
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.values[id].value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_number_until_the_last_holder_releases_it() {
        let mut interner: Interner<String> = Interner::default();
        let first = interner.acquire("a", || "a".to_owned());
        let other = interner.acquire("b", || "b".to_owned());
        assert_eq!(interner.acquire("a", || unreachable!()), first);
        assert_ne!(first, other);
        interner.release(first);
        assert_eq!((interner[first].as_str(), interner.find("a")), ("a", Some(first)));
        interner.release(first);
        assert_eq!(interner.find("a"), None);
        interner.release(other);
        assert_eq!(interner.len(), 0);
    }
}
