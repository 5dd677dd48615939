//! A hash table of record numbers: four bytes and a control byte for each record.
//!
//! Stores only numbers. The owner of the records compares them, and hashes them again when a shard grows or shrinks.

use hashbrown::HashTable;

/// Shards grow one at a time: with a million entries, no insert rehashes more than a 64th of them.
const SHARDS: usize = 64;

/// Record numbers by the hash of the record's key. Shrinks as it empties.
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

    /// Adds a record whose key is not in the table yet.
    pub(super) fn insert(&mut self, hash: u64, id: u32, rehash: impl Fn(u32) -> u64) {
        self.shards[shard(hash)].insert_unique(hash, id, |&id| rehash(id));
    }

    /// Replaces `old` with `new`, a record with the same key.
    pub(super) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        if let Some(id) = self.shards[shard(hash)].find_mut(hash, |&id| id == old) {
            *id = new;
        }
    }

    /// Removes a record. `rehash` is called for the others if the shard shrinks.
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

/// Uses bits that the tables themselves do not use: they use the lowest ones for the bucket and the top seven for the
/// tag.
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
    fn records_are_found_until_removed_and_memory_shrinks_with_them() {
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
