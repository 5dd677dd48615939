//! Groups: the subscriptions that share a key, a program and a delivery, so that one check and one walk serve them all.
//!
//! Groups of one key form a chain whose first is found by the key; the others are found by what they are, so that ten
//! thousand different conditions on one value cost no search. A group of one keeps its member in itself.

use super::DeliveryId;
use super::fingerprint::Fingerprint;
use super::group::{Group, Identity, Member, Seat};
use super::id_table::IdTable;
use crate::chunked_slab::{ChunkedSlab, NONE};
use std::hash::{BuildHasher, RandomState};

/// All groups.
#[derive(Default)]
pub(super) struct Groups {
    groups: ChunkedSlab<Group>,
    /// The members of groups of two and more.
    lists: ChunkedSlab<Vec<Member>>,
    /// The first group of each chain, by key.
    heads: IdTable,
    /// All groups but the first of each chain, by identity.
    others: IdTable,
    random: RandomState,
}

/// What a member's leaving brought about.
pub(super) enum Left {
    /// Nothing else.
    Quietly,
    /// The last member of the group took the seat.
    Moved { subscription: u32 },
    /// The group is gone and no longer holds these.
    Closed { place: u32, program: u32 },
}

impl Groups {
    /// The group with this identity.
    pub(super) fn find(&self, identity: &Identity) -> Option<u32> {
        let head = self.head(identity.key)?;
        if self.groups[head].identity() == *identity {
            return Some(head);
        }
        let hash = self.random.hash_one(identity);
        self.others.find(hash, |id| self.groups[id].identity() == *identity)
    }

    /// Groups of one key, counted up to `limit`.
    pub(super) fn count(&self, key: Fingerprint, limit: usize) -> usize {
        self.chain(self.head(key)).take(limit).count()
    }

    /// Adds a member to a group.
    pub(super) fn join(&mut self, id: u32, member: Member) -> Seat {
        let group = &mut self.groups[id];
        if group.list == NONE {
            group.list = self.lists.insert(vec![group.sole]);
        }
        let list = &mut self.lists[group.list];
        list.push(member);
        Seat { group: id, position: (list.len() - 1) as u32 }
    }

    /// Makes a group, which there must not be yet, with its first member; it holds `place` and its program.
    pub(super) fn open(&mut self, identity: &Identity, place: u32, member: Member) -> Seat {
        let head = self.head(identity.key);
        let id = self.groups.insert(Group::new(identity, place, member));
        match head {
            Some(head) => self.link_behind(head, id),
            None => {
                let Groups { groups, heads, .. } = self;
                heads.insert(identity.key.hash(), id, |id| groups[id].key.hash());
            }
        }
        Seat { group: id, position: 0 }
    }

    /// Takes the member at a seat out; the group's last member moves into it.
    pub(super) fn leave(&mut self, seat: Seat) -> Left {
        let list_id = self.groups[seat.group].list;
        if list_id == NONE {
            return self.close(seat.group);
        }
        let list = &mut self.lists[list_id];
        list.swap_remove(seat.position as usize);
        let moved = list.get(seat.position as usize).copied();
        if let [sole] = list[..] {
            self.lists.remove(list_id);
            let group = &mut self.groups[seat.group];
            (group.list, group.sole) = (NONE, sole);
        } else if list.len() * 4 < list.capacity() {
            list.shrink_to(list.len() * 2);
        }
        match moved {
            Some(Member { subscription, .. }) => Left::Moved { subscription },
            None => Left::Quietly,
        }
    }

    /// Whose seat it is, and the place and delivery of its group.
    pub(super) fn at(&self, seat: Seat) -> (Member, u32, DeliveryId) {
        let group = &self.groups[seat.group];
        let member = self.members(seat.group)[seat.position as usize];
        (member, group.place, group.delivery)
    }

    /// The first group of a key's chain, if this emit has not visited it before.
    pub(super) fn visit(&mut self, key: Fingerprint, emit: u32) -> Option<u32> {
        let head = self.head(key)?;
        let visited = &mut self.groups[head].visited;
        (std::mem::replace(visited, emit) != emit).then_some(head)
    }

    /// Whether this emit has visited the key's chain.
    pub(super) fn is_visited(&self, key: Fingerprint, emit: u32) -> bool {
        self.head(key).is_some_and(|head| self.groups[head].visited == emit)
    }

    /// What a group is, and the next one of its chain.
    pub(super) fn look(&self, id: u32) -> (Identity, Option<u32>) {
        let group = &self.groups[id];
        (group.identity(), (group.next != NONE).then_some(group.next))
    }

    /// The members, at least one.
    pub(super) fn members(&self, id: u32) -> &[Member] {
        let group = &self.groups[id];
        match group.list {
            NONE => std::slice::from_ref(&group.sole),
            list => &self.lists[list],
        }
    }

    /// Every group: its identity, its place and its members.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Identity, u32, &[Member])> {
        self.groups.iter().map(|(id, group)| (group.identity(), group.place, self.members(id)))
    }

    /// Forgets which emits were seen.
    pub(super) fn forget_emits(&mut self) {
        self.groups.iter_mut().for_each(|group| group.visited = 0);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let tables = self.heads.capacity() + self.others.capacity();
        self.groups.len() + self.lists.len() + tables == 0
    }

    fn head(&self, key: Fingerprint) -> Option<u32> {
        self.heads.find(key.hash(), |id| self.groups[id].key == key)
    }

    fn chain(&self, first: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(first, |&id| self.look(id).1)
    }

    fn link_behind(&mut self, head: u32, id: u32) {
        let next = std::mem::replace(&mut self.groups[head].next, id);
        self.groups[id].previous = head;
        self.groups[id].next = next;
        if next != NONE {
            self.groups[next].previous = id;
        }
        let Groups { groups, others, random, .. } = self;
        let hash = random.hash_one(groups[id].identity());
        others.insert(hash, id, |id| random.hash_one(groups[id].identity()));
    }

    fn close(&mut self, id: u32) -> Left {
        let Group { key, program, place, next, previous, .. } = self.groups[id];
        // The table forgets this group, or, when it was the chain's first, the next one, which the other table takes.
        let forgotten = if previous == NONE { next } else { id };
        let Groups { groups, heads, others, random, .. } = self;
        if forgotten == NONE {
            heads.remove(key.hash(), id, |id| groups[id].key.hash());
        } else {
            let hash = random.hash_one(groups[forgotten].identity());
            others.remove(hash, forgotten, |id| random.hash_one(groups[id].identity()));
        }
        if next != NONE {
            groups[next].previous = previous;
        }
        if previous != NONE {
            groups[previous].next = next;
        } else if next != NONE {
            heads.replace(key.hash(), id, next);
        }
        groups.remove(id);
        Left::Closed { place, program }
    }
}
