//! A slab in chunks: growth never copies a large vector, and the memory of an empty chunk is freed.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

/// The id that means "no record". A slab never assigns it.
pub(crate) const NONE: u32 = u32::MAX;

/// Records per chunk. With the index's largest record of 64 bytes, a chunk has 64 KiB.
const CHUNK: usize = 1024;

/// Records with `u32` ids. Free ids of the lowest chunk are reused first, so the upper chunks become empty.
pub(crate) struct ChunkedSlab<T> {
    chunks: Vec<Chunk<T>>,
    /// The chunks that have room.
    open: BTreeSet<u32>,
    len: usize,
}

struct Chunk<T> {
    slots: Vec<Slot<T>>,
    /// The first vacant slot, or `NO_SLOT`.
    vacant: u16,
    taken: u16,
}

const NO_SLOT: u16 = u16::MAX;

enum Slot<T> {
    /// Free, with the next free slot of the chunk.
    Vacant(u16),
    Taken(T),
}

impl<T> Default for ChunkedSlab<T> {
    fn default() -> Self {
        ChunkedSlab { chunks: Vec::new(), open: BTreeSet::new(), len: 0 }
    }
}

impl<T> ChunkedSlab<T> {
    /// Stores `record` and returns its id.
    pub(crate) fn insert(&mut self, record: T) -> u32 {
        let chunk = match self.open.first() {
            Some(&chunk) => chunk,
            None => self.open_chunk(),
        };
        let target = &mut self.chunks[chunk as usize];
        let slot = target.insert(record);
        if usize::from(target.taken) == CHUNK {
            self.open.remove(&chunk);
        }
        self.len += 1;
        chunk * CHUNK as u32 + u32::from(slot)
    }

    /// The id of the next record.
    pub(crate) fn next_id(&self) -> u32 {
        let (chunk, slot) = match self.open.first() {
            Some(&chunk) => (chunk, self.chunks[chunk as usize].next_slot()),
            None => (self.chunks.len() as u32, 0),
        };
        chunk * CHUNK as u32 + u32::from(slot)
    }

    /// One past the highest used id.
    pub(crate) fn end(&self) -> u32 {
        let last = self.chunks.last().map_or(0, |chunk| chunk.slots.len());
        (self.chunks.len().saturating_sub(1) * CHUNK + last) as u32
    }

    /// Removes the record.
    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let (chunk, slot) = locate(id);
        let record = self.chunks.get_mut(chunk)?.remove(slot)?;
        self.len -= 1;
        self.open.insert(chunk as u32);
        self.drop_empty_tail();
        Some(record)
    }

    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        let (chunk, slot) = locate(id);
        match self.chunks.get(chunk)?.slots.get(slot)? {
            Slot::Taken(record) => Some(record),
            Slot::Vacant(_) => None,
        }
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let (chunk, slot) = locate(id);
        match self.chunks.get_mut(chunk)?.slots.get_mut(slot)? {
            Slot::Taken(record) => Some(record),
            Slot::Vacant(_) => None,
        }
    }

    /// Every record with its id, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let numbered = self.chunks.iter().zip(0..).flat_map(|(chunk, number)| {
            chunk.slots.iter().zip(0..).map(move |(slot, offset)| (number * CHUNK as u32 + offset, slot))
        });
        numbered.filter_map(|(id, slot)| match slot {
            Slot::Taken(record) => Some((id, record)),
            Slot::Vacant(_) => None,
        })
    }

    /// Every record, in the order of ids.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let slots = self.chunks.iter_mut().flat_map(|chunk| &mut chunk.slots);
        slots.filter_map(|slot| match slot {
            Slot::Taken(record) => Some(record),
            Slot::Vacant(_) => None,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The first chunk grows as it is used, so a small slab stays small. Later ones are allocated at full size.
    fn open_chunk(&mut self) -> u32 {
        let chunk = self.chunks.len();
        let capacity = if chunk == 0 { 0 } else { CHUNK };
        self.chunks.push(Chunk::with_capacity(capacity));
        self.open.insert(chunk as u32);
        chunk as u32
    }

    fn drop_empty_tail(&mut self) {
        while self.chunks.last().is_some_and(|chunk| chunk.taken == 0) {
            self.chunks.pop();
            self.open.remove(&(self.chunks.len() as u32));
        }
    }
}

/// Panics if the id has no record. Callers hold an id only as long as its record exists: see their invariants.
impl<T> Index<u32> for ChunkedSlab<T> {
    type Output = T;

    fn index(&self, id: u32) -> &T {
        self.get(id).expect("callers use an id only while its record exists")
    }
}

impl<T> IndexMut<u32> for ChunkedSlab<T> {
    fn index_mut(&mut self, id: u32) -> &mut T {
        self.get_mut(id).expect("callers use an id only while its record exists")
    }
}

impl<T> Chunk<T> {
    fn with_capacity(capacity: usize) -> Self {
        Chunk { slots: Vec::with_capacity(capacity), vacant: NO_SLOT, taken: 0 }
    }

    fn next_slot(&self) -> u16 {
        if self.vacant == NO_SLOT { self.slots.len() as u16 } else { self.vacant }
    }

    fn insert(&mut self, record: T) -> u16 {
        self.taken += 1;
        let slot = self.vacant;
        match self.slots.get_mut(usize::from(slot)) {
            Some(vacant) => {
                if let Slot::Vacant(next) = vacant {
                    self.vacant = *next;
                }
                *vacant = Slot::Taken(record);
                slot
            }
            None => {
                self.slots.push(Slot::Taken(record));
                (self.slots.len() - 1) as u16
            }
        }
    }

    fn remove(&mut self, slot: usize) -> Option<T> {
        let found = self.slots.get_mut(slot)?;
        if let Slot::Vacant(_) = found {
            return None;
        }
        let Slot::Taken(record) = std::mem::replace(found, Slot::Vacant(self.vacant)) else {
            return None;
        };
        self.vacant = slot as u16;
        self.taken -= 1;
        if self.taken == 0 {
            *self = Chunk::with_capacity(0);
        }
        Some(record)
    }
}

fn locate(id: u32) -> (usize, usize) {
    (id as usize / CHUNK, id as usize % CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_reused_and_an_empty_slab_holds_no_memory() {
        let mut slab = ChunkedSlab::default();
        let ids: Vec<u32> = (0..5000u32).map(|value| slab.insert(value)).collect();
        assert_eq!((slab.end(), slab.next_id()), (5000, 5000));
        assert_eq!(slab.remove(ids[17]), Some(17));
        assert_eq!(slab.remove(ids[17]), None);
        assert_eq!(slab.next_id(), ids[17]);
        assert_eq!(slab.insert(99), ids[17]);
        assert_eq!(slab[ids[17]], 99);
        assert_eq!(slab.iter_mut().count(), 5000);
        assert!(slab.iter().all(|(id, value)| slab[id] == *value));
        assert_eq!(slab.iter().count(), 5000);
        for id in ids.iter().rev() {
            assert!(slab.remove(*id).is_some());
        }
        assert_eq!((slab.len(), slab.chunks.len(), slab.open.len()), (0, 0, 0));
        assert_eq!((slab.end(), slab.next_id()), (0, 0));
        assert!(slab.get(3).is_none() && slab.get(NONE).is_none());
    }

    #[test]
    fn the_memory_of_an_empty_chunk_below_a_full_one_is_freed() {
        let mut slab = ChunkedSlab::default();
        let ids: Vec<u32> = (0..2 * CHUNK as u32).map(|value| slab.insert(value)).collect();
        for id in &ids[..CHUNK] {
            slab.remove(*id);
        }
        assert_eq!(slab.chunks[0].slots.capacity(), 0);
        assert_eq!(slab[ids[CHUNK]], CHUNK as u32);
        assert_eq!(slab.insert(7), 0);
    }
}
