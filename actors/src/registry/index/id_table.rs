//! Hash look-up of records that live elsewhere: four bytes and a control byte each.
//!
//! Knows only numbers and hashes; whoever holds the records says which are equal and hashes them again when a shard grows.

use hashbrown::HashTable;

/// Shards that grow one at a time, so that no insert ever rehashes more than a 64th of a million entries.
const SHARDS: usize = 64;

/// Numbers of records by the hash of their key. Shrinks as it empties.
pub(super) struct IdTable {
    shards: Box<[HashTable<u32>]>,
}

impl Default for IdTable {
    fn default() -> Self {
        IdTable { shards: (0..SHARDS).map(|_| HashTable::new()).collect() }
    }
}

impl IdTable {
    pub(super) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        self.shards[shard(hash)].find(hash, |&id| is(id)).copied()
    }

    /// Adds a number whose key is not there yet.
    pub(super) fn insert(&mut self, hash: u64, id: u32, rehash: impl Fn(u32) -> u64) {
        self.shards[shard(hash)].insert_unique(hash, id, |&id| rehash(id));
    }

    /// Puts `new` where `old` was: a record of the same key.
    pub(super) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        if let Some(id) = self.shards[shard(hash)].find_mut(hash, |&id| id == old) {
            *id = new;
        }
    }

    /// Forgets a number. `rehash` is asked for the others when the shard shrinks.
    pub(super) fn remove(&mut self, hash: u64, id: u32, rehash: impl Fn(u32) -> u64) {
        let shard = &mut self.shards[shard(hash)];
        if let Ok(entry) = shard.find_entry(hash, |&other| other == id) {
            entry.remove();
        }
        if shard.len() * 4 < shard.capacity() {
            shard.shrink_to(shard.len() * 2, |&id| rehash(id));
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.shards.iter().map(HashTable::capacity).sum()
    }
}

/// Bits that the tables themselves do not use: they take the lowest for the bucket and the highest seven for the tag.
fn shard(hash: u64) -> usize {
    (hash >> 48) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(id: u32) -> u64 {
        (u64::from(id) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn numbers_are_found_until_removed_and_the_memory_shrinks_with_them() {
        let mut table = IdTable::default();
        for id in 0..10_000 {
            table.insert(spread(id), id, spread);
        }
        assert_eq!(table.find(spread(77), |id| id == 77), Some(77));
        table.replace(spread(77), 77, 10_077);
        assert_eq!(table.find(spread(77), |id| id == 10_077), Some(10_077));
        table.replace(spread(77), 10_077, 77);
        for id in 0..10_000 {
            table.remove(spread(id), id, spread);
        }
        assert_eq!(table.find(spread(77), |_| true), None);
        assert_eq!(table.capacity(), 0);
    }
}
