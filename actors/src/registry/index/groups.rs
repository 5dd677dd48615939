//! Posting lists: under each term key, groups of subscriptions that share the key, a filter and a delivery. One check
//! of the filter serves a whole group.
//!
//! The groups of one key form a chain. The first group is found by the key, the others by their identity: adding to ten
//! thousand different conditions on one value needs no scan of the chain. A group with one member stores it inline.

use super::group::{Group, Identity, Member, Posting};
use super::id_table::IdTable;
use super::ids::DeliveryId;
use super::term_key::TermKey;
use crate::chunked_slab::{ChunkedSlab, NONE};
use std::hash::{BuildHasher, RandomState};

/// All groups.
#[derive(Default)]
pub(super) struct Groups {
    groups: ChunkedSlab<Group>,
    /// The members of groups with two members or more.
    lists: ChunkedSlab<Vec<Member>>,
    /// The first group of each chain, by key.
    heads: IdTable,
    /// All groups but the first of each chain, by identity.
    others: IdTable,
    random: RandomState,
}

/// The effect of removing a member.
pub(super) enum Removal {
    /// No other posting changed.
    Simple,
    /// The last member of the group moved to the removed position.
    Moved { subscription: u32 },
    /// The group was removed and no longer holds these.
    GroupRemoved { lookup: u32, filter: u32 },
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

    /// The number of groups under a key, counted up to `limit`.
    pub(super) fn count(&self, key: TermKey, limit: usize) -> usize {
        self.chain(self.head(key)).take(limit).count()
    }

    /// Adds a member to a group.
    pub(super) fn add_member(&mut self, id: u32, member: Member) -> Posting {
        let group = &mut self.groups[id];
        if group.list == NONE {
            group.list = self.lists.insert(vec![group.sole]);
        }
        let list = &mut self.lists[group.list];
        list.push(member);
        Posting { group: id, position: (list.len() - 1) as u32 }
    }

    /// Creates a group with its first member. No group with this identity may exist. It takes over the caller's hold of
    /// `lookup` and of the filter.
    pub(super) fn create(&mut self, identity: &Identity, lookup: u32, member: Member) -> Posting {
        let head = self.head(identity.key);
        let id = self.groups.insert(Group::new(identity, lookup, member));
        match head {
            Some(head) => self.link_after(head, id),
            None => {
                let Groups { groups, heads, .. } = self;
                heads.insert(identity.key.hash(), id, |id| groups[id].key.hash());
            }
        }
        Posting { group: id, position: 0 }
    }

    /// Removes the member at a posting. The group's last member moves to its position.
    pub(super) fn remove_member(&mut self, posting: Posting) -> Removal {
        let list_id = self.groups[posting.group].list;
        if list_id == NONE {
            return self.remove_group(posting.group);
        }
        let list = &mut self.lists[list_id];
        list.swap_remove(posting.position as usize);
        let moved = list.get(posting.position as usize).copied();
        if let [sole] = list[..] {
            self.lists.remove(list_id);
            let group = &mut self.groups[posting.group];
            (group.list, group.sole) = (NONE, sole);
        } else if list.len() * 4 < list.capacity() {
            list.shrink_to(list.len() * 2);
        }
        match moved {
            Some(Member { subscription, .. }) => Removal::Moved { subscription },
            None => Removal::Simple,
        }
    }

    /// The member at a posting, and the lookup and delivery of its group.
    pub(super) fn member_at(&self, posting: Posting) -> (Member, u32, DeliveryId) {
        let group = &self.groups[posting.group];
        let member = self.members(posting.group)[posting.position as usize];
        (member, group.lookup, group.delivery)
    }

    /// The first group of a key's chain, unless this emit has already visited the chain.
    pub(super) fn first_unvisited(&mut self, key: TermKey, emit: u32) -> Option<u32> {
        let head = self.head(key)?;
        let visited = &mut self.groups[head].visited;
        (std::mem::replace(visited, emit) != emit).then_some(head)
    }

    /// Whether this emit has visited the key's chain.
    pub(super) fn is_visited(&self, key: TermKey, emit: u32) -> bool {
        self.head(key).is_some_and(|head| self.groups[head].visited == emit)
    }

    /// The identity of a group, and the next group of its chain.
    pub(super) fn identity_and_next(&self, id: u32) -> (Identity, Option<u32>) {
        let group = &self.groups[id];
        (group.identity(), (group.next != NONE).then_some(group.next))
    }

    /// The members of a group, at least one.
    pub(super) fn members(&self, id: u32) -> &[Member] {
        let group = &self.groups[id];
        match group.list {
            NONE => std::slice::from_ref(&group.sole),
            list => &self.lists[list],
        }
    }

    /// Every group with its identity, its lookup and its members.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Identity, u32, &[Member])> {
        self.groups.iter().map(|(id, group)| (group.identity(), group.lookup, self.members(id)))
    }

    /// Resets the emit numbers of all groups.
    pub(super) fn forget_emits(&mut self) {
        self.groups.iter_mut().for_each(|group| group.visited = 0);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let tables = self.heads.capacity() + self.others.capacity();
        self.groups.len() + self.lists.len() + tables == 0
    }

    fn head(&self, key: TermKey) -> Option<u32> {
        self.heads.find(key.hash(), |id| self.groups[id].key == key)
    }

    fn chain(&self, first: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(first, |&id| self.identity_and_next(id).1)
    }

    fn link_after(&mut self, head: u32, id: u32) {
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

    fn remove_group(&mut self, id: u32) -> Removal {
        let Group { key, filter, lookup, next, previous, .. } = self.groups[id];
        // `others` drops this group. If it was the first of the chain, `others` drops the next group, which moves to
        // `heads`.
        let dropped = if previous == NONE { next } else { id };
        let Groups { groups, heads, others, random, .. } = self;
        if dropped == NONE {
            heads.remove(key.hash(), id, |id| groups[id].key.hash());
        } else {
            let hash = random.hash_one(groups[dropped].identity());
            others.remove(hash, dropped, |id| random.hash_one(groups[id].identity()));
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
        Removal::GroupRemoved { lookup, filter }
    }
}
