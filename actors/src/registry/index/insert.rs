//! Adding a subscription: how expensive each possible plan would be, and which index entries its postings go to.

use super::SubscriptionIndex;
use super::group::{Identity, Member, Posting};
use super::ids::{ChannelId, DeliveryId};
use super::plan::PlannedTerm;
use super::term_key::TermKey;
use super::terms::Term;
use crate::condition::Expression;
use crate::ids::SessionRef;
use std::rc::Rc;

/// Groups counted under a key to compare it with another key. Beyond this number both are equally expensive.
const MAX_COUNTED_GROUPS: usize = 16;

/// What a posting is stored under: a term's key with its lookup, and the filter that remains to be checked.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct IndexEntry {
    key: TermKey,
    lookup: u32,
    filter: u32,
}

impl SubscriptionIndex {
    /// The estimated cost of storing postings under these terms: the groups that are under their keys already. It is 0
    /// where an equal subscription is stored, so that subscriptions with equal conditions share a group.
    pub(super) fn estimate_cost(
        &self,
        channel: ChannelId,
        delivery: DeliveryId,
        terms: &[Term<'_>],
        residual: &[&Expression],
    ) -> usize {
        let filter = self.filters.find(residual);
        let cost_of = |term: &Term<'_>| {
            let Some(lookup) = self.lookups.find(channel, term) else {
                return 1;
            };
            let key = self.term_key(lookup, term);
            let has_group = |filter, has_more_postings| {
                let identity = Identity { key, filter, delivery, has_more_postings };
                self.groups.find(&identity).is_some()
            };
            match filter {
                Some(filter) if has_group(filter, false) || has_group(filter, true) => 0,
                _ => 1 + self.groups.count(key, MAX_COUNTED_GROUPS),
            }
        };
        terms.iter().map(cost_of).sum()
    }

    /// The index entries of a plan, without duplicates. Each one holds its lookup and its filter.
    pub(super) fn acquire_entries(&mut self, channel: ChannelId, plan: &[PlannedTerm<'_>]) -> Vec<IndexEntry> {
        let mut entries: Vec<IndexEntry> = Vec::with_capacity(plan.len());
        let mut previous: Option<(&Rc<[&Expression]>, u32)> = None;
        for PlannedTerm { term, residual } in plan {
            let lookup = self.lookups.acquire(channel, term);
            let filter = match previous {
                Some((shared, filter)) if Rc::ptr_eq(shared, residual) => {
                    self.filters.retain(filter);
                    filter
                }
                _ => self.filters.acquire(residual),
            };
            previous = Some((residual, filter));
            let key = self.term_key(lookup, term);
            let entry = IndexEntry { key, lookup, filter };
            if entries.contains(&entry) {
                self.release(entry);
            } else {
                entries.push(entry);
            }
        }
        entries
    }

    /// Adds a subscription with one posting under each entry.
    pub(super) fn add_subscription(&mut self, entries: &[IndexEntry], delivery: DeliveryId, target: SessionRef) -> u32 {
        let subscription = self.subscriptions.reserve();
        let member = Member { target, subscription };
        let has_more_postings = entries.len() > 1;
        let postings = entries.iter().map(|&entry| self.add_posting(entry, delivery, has_more_postings, member));
        let postings: Vec<Posting> = postings.collect();
        self.subscriptions.set_postings(subscription, &postings);
        subscription
    }

    fn add_posting(
        &mut self,
        entry: IndexEntry,
        delivery: DeliveryId,
        has_more_postings: bool,
        member: Member,
    ) -> Posting {
        let identity = Identity { key: entry.key, filter: entry.filter, delivery, has_more_postings };
        match self.groups.find(&identity) {
            Some(group) => {
                // The group already holds the lookup and the filter.
                self.release(entry);
                self.groups.add_member(group, member)
            }
            None => self.groups.create(&identity, entry.lookup, member),
        }
    }

    fn release(&mut self, entry: IndexEntry) {
        self.lookups.release(entry.lookup);
        self.filters.release(entry.filter);
    }

    pub(super) fn term_key(&self, lookup: u32, term: &Term<'_>) -> TermKey {
        match term {
            Term::Equal(_, value) => self.term_keys.of_value(lookup, |state| value.hash_canonical(state)),
            _ => self.term_keys.of_lookup(lookup),
        }
    }
}
