//! The subscription index: finds the subscriptions of a channel that match event data without evaluating each
//! condition.
//!
//! Pure: knows conditions and session addresses, but no socket, actor or bus.
//!
//! - `plan` and `terms` turn a new subscription's condition into index terms and a residual filter per term.
//! - `lookups` and `ranges` store what an emit on each channel must look up: one lookup per (channel, path, kind), and
//!   the bounds of range conditions.
//! - `term_key` computes the key of a term's posting list.
//! - `group` and `groups` store the postings under each key. A group is the subscriptions that share a key, a filter
//!   and a delivery.
//! - `filters` stores each distinct residual filter once.
//! - `subscriptions` maps a subscription to its postings.
//! - `insert` adds a subscription; `evaluate` runs the lookups and filters for an emit.
//!
//! Memory follows the number of subscriptions. What the last holder releases is freed, and tables and lists shrink to
//! at most four times what they hold. A search allocates nothing, except for ranges: those copy the strings and numbers
//! that they compare.

mod evaluate;
mod filters;
mod group;
mod groups;
mod id_table;
mod ids;
mod insert;
pub(super) mod interner;
mod lookups;
mod plan;
mod ranges;
mod subscriptions;
mod term_key;
mod terms;
#[cfg(test)]
mod tests;

use crate::condition::{Condition, CostBudget, document::Document};
use crate::ids::{SessionRef, SubscriptionId};
use evaluate::{CostLimits, Evaluation, report_members, retry};
use filters::Filters;
use groups::{Groups, Removal};
use hashbrown::HashSet;
use lookups::Lookups;
use plan::{PlannedTerm, plan_condition};
use std::rc::Rc;
use subscriptions::Subscriptions;
use term_key::TermKeys;
use terms::Term;

pub use ids::{ChannelId, DeliveryId};

/// What a search could not decide within the cost limits of an emit.
#[derive(Debug, Default)]
#[must_use = "subscriptions that may have missed something receive a gap"]
pub struct Undecided {
    /// Groups whose filter was too expensive.
    groups: Vec<u32>,
    /// Lookups that were too expensive.
    lookups: HashSet<u32>,
}

impl Undecided {
    /// Whether everything was decided.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.lookups.is_empty()
    }
}

/// The index.
#[derive(Default)]
pub struct SubscriptionIndex {
    term_keys: TermKeys,
    lookups: Lookups,
    filters: Filters,
    groups: Groups,
    subscriptions: Subscriptions,
    /// The number of the current search, from 1. Records that a search has seen carry its number.
    emit: u32,
    limits: CostLimits,
}

impl SubscriptionIndex {
    /// Adds a subscription; `None` matches everything.
    pub fn insert(
        &mut self,
        channel: ChannelId,
        condition: Option<Condition>,
        delivery: DeliveryId,
        target: SessionRef,
    ) -> SubscriptionId {
        let plan = match &condition {
            Some(condition) => {
                plan_condition(condition, &|terms, residual| self.estimate_cost(channel, delivery, terms, residual))
            }
            None => vec![PlannedTerm { term: Term::Always, residual: Rc::new([]) }],
        };
        let entries = self.acquire_entries(channel, &plan);
        SubscriptionId(self.add_subscription(&entries, delivery, target))
    }

    /// Removes a subscription if it belongs to `target`.
    pub fn remove(&mut self, id: SubscriptionId, target: SessionRef) -> Option<(ChannelId, DeliveryId)> {
        let posting = self.subscriptions.first_posting(id.0)?;
        let (member, lookup, delivery) = self.groups.member_at(posting);
        if member.target != target {
            return None;
        }
        let channel = self.lookups.channel(lookup);
        let SubscriptionIndex { lookups, filters, groups, subscriptions, .. } = self;
        subscriptions.remove(id.0, |subscriptions, posting| match groups.remove_member(posting) {
            Removal::Simple => (),
            Removal::Moved { subscription } => subscriptions.move_posting(subscription, posting),
            Removal::GroupRemoved { lookup, filter } => {
                lookups.release(lookup);
                filters.release(filter);
            }
        });
        Some((channel, delivery))
    }

    /// Calls `on_match` once for each subscription of `channel` whose condition matches the event data. Subscriptions
    /// that were found by the same term and filter and have the same delivery follow each other; equal conditions with
    /// the same delivery always do. Returns what could not be decided within the cost limits of an emit.
    pub fn find(
        &mut self,
        channel: ChannelId,
        document: &Document<'_>,
        on_match: &mut dyn FnMut(DeliveryId, SessionRef),
    ) -> Undecided {
        self.begin_emit();
        let SubscriptionIndex { term_keys, lookups, filters, groups, subscriptions, .. } = self;
        let (emit, limits) = (self.emit, self.limits);
        let mut evaluation = Evaluation {
            term_keys,
            lookups,
            filters,
            groups,
            subscriptions,
            document,
            emit,
            limits,
            on_match,
            postponed: Vec::new(),
        };
        let mut postponed = Vec::new();
        for (id, _) in lookups.of_channel(channel) {
            if !evaluation.run_lookup(id, &CostBudget::new(limits.guaranteed)) {
                postponed.push(id);
            }
        }
        let lookups = retry(limits.emit, postponed, |id, budget| evaluation.run_lookup(id, budget));
        let postponed = std::mem::take(&mut evaluation.postponed);
        let groups = retry(limits.emit, postponed, |group, budget| evaluation.evaluate_group(group, budget));
        Undecided { groups, lookups: lookups.into_iter().collect() }
    }

    /// Calls `on_subscription` once for each subscription that the last search neither reported nor ruled out. If a
    /// lookup is undecided, this scans every group of the index once.
    pub fn for_each_undecided(
        &mut self,
        undecided: &Undecided,
        on_subscription: &mut dyn FnMut(DeliveryId, SessionRef),
    ) {
        let SubscriptionIndex { lookups, groups, subscriptions, emit, .. } = self;
        for &group in &undecided.groups {
            let (identity, _) = groups.identity_and_next(group);
            report_members(&identity, groups.members(group), subscriptions, *emit, on_subscription);
        }
        if undecided.lookups.is_empty() {
            return;
        }
        for (identity, lookup, members) in groups.iter() {
            if undecided.lookups.contains(&lookups.lookup_of(lookup)) && !groups.is_visited(identity.key, *emit) {
                report_members(&identity, members, subscriptions, *emit, on_subscription);
            }
        }
    }

    /// Calls `on_subscription` once for each subscription of the channels that `is_selected` accepts, whatever its
    /// condition. Scans every group of the index once.
    pub fn for_each(
        &mut self,
        is_selected: &dyn Fn(ChannelId) -> bool,
        on_subscription: &mut dyn FnMut(DeliveryId, SessionRef),
    ) {
        self.begin_emit();
        let SubscriptionIndex { lookups, groups, subscriptions, emit, .. } = self;
        let selected = groups.iter().filter(|(_, lookup, _)| is_selected(lookups.channel(*lookup)));
        for (identity, _, members) in selected {
            report_members(&identity, members, subscriptions, *emit, on_subscription);
        }
    }

    /// The number of subscriptions.
    pub fn len(&self) -> usize {
        self.subscriptions.len()
    }

    /// Whether there are no subscriptions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers the next search. The counter wraps after 2^32 searches; no record may then carry an old number.
    fn begin_emit(&mut self) {
        self.emit = self.emit.wrapping_add(1);
        if self.emit == 0 {
            self.groups.forget_emits();
            self.filters.forget_emits();
            self.subscriptions.forget_emits();
            self.emit = 1;
        }
    }
}
