//! One search of the index: runs each lookup of the channel and each candidate group's filter, and reports matches.
//!
//! The cost of every lookup and filter is limited ([`bounds`]). Each has a guaranteed budget that no other can use up.
//! One that needs more is postponed and retried after all others, in rounds of growing budgets, so that cheap
//! conditions run before expensive ones and an expensive condition never hides a match of another. What the budget of
//! the emit cannot pay for stays undecided.

use super::filters::Filters;
use super::group::{Identity, Member};
use super::groups::Groups;
use super::ids::DeliveryId;
use super::lookups::Lookups;
use super::subscriptions::Subscriptions;
use super::term_key::{TermKey, TermKeys};
use super::terms::TermKind;
use crate::condition::document::Document;
use crate::condition::{CostBudget, bounds};
use crate::ids::SessionRef;

/// The budget of one lookup or filter in each retry round. A failed attempt spends budget that the next round could
/// have used, so there are only two rounds, with budgets far apart.
const RETRY_BUDGETS: [usize; 2] = [1 << 12, bounds::CONDITION_COST];

/// The cost limits of one search.
#[derive(Clone, Copy)]
pub(super) struct CostLimits {
    /// For each lookup and each filter, regardless of the others.
    pub(super) guaranteed: usize,
    /// For all retried lookups together, and the same again for all retried filters.
    pub(super) emit: usize,
}

impl Default for CostLimits {
    fn default() -> CostLimits {
        CostLimits { guaranteed: bounds::GUARANTEED_COST, emit: bounds::EMIT_COST }
    }
}

/// One search in progress.
pub(super) struct Evaluation<'a> {
    pub(super) term_keys: &'a TermKeys,
    pub(super) lookups: &'a Lookups,
    pub(super) filters: &'a mut Filters,
    pub(super) groups: &'a mut Groups,
    pub(super) subscriptions: &'a mut Subscriptions,
    pub(super) document: &'a Document<'a>,
    pub(super) emit: u32,
    pub(super) limits: CostLimits,
    pub(super) on_match: &'a mut dyn FnMut(DeliveryId, SessionRef),
    /// Groups whose filter needs a larger budget.
    pub(super) postponed: Vec<u32>,
}

impl Evaluation<'_> {
    /// Runs a lookup on the event data. Returns false if the budget was too small; it may then be called again.
    pub(super) fn run_lookup(&mut self, id: u32, budget: &CostBudget) -> bool {
        let (term_keys, lookups, document) = (self.term_keys, self.lookups, self.document);
        let lookup = lookups.get(id);
        match lookup.kind {
            TermKind::Equal => document.for_each_candidate(lookups.path(lookup), budget, &mut |value| {
                self.evaluate_key(term_keys.of_value(id, |state| value.hash_canonical(state)));
            }),
            TermKind::Ranged => lookups.for_each_matching_bound(id, document, budget, &mut |bound| {
                self.evaluate_key(term_keys.of_lookup(bound));
            }),
            TermKind::Present if !document.has(lookups.path(lookup), budget) || budget.is_exhausted() => (),
            TermKind::Present | TermKind::Always => self.evaluate_key(term_keys.of_lookup(id)),
        }
        !budget.is_exhausted()
    }

    /// Runs a group's filter and reports the group's members if it matches. Returns false if the budget was too small.
    pub(super) fn evaluate_group(&mut self, group: u32, budget: &CostBudget) -> bool {
        let (identity, _) = self.groups.identity_and_next(group);
        let result = self.filters.matches(identity.filter, self.document, self.emit, budget);
        if result == Some(true) {
            let members = self.groups.members(group);
            report_members(&identity, members, self.subscriptions, self.emit, self.on_match);
        }
        result.is_some()
    }

    /// Evaluates the groups under a key, once per emit: equal elements of an array have the same key.
    fn evaluate_key(&mut self, key: TermKey) {
        let mut next = self.groups.first_unvisited(key, self.emit);
        while let Some(group) = next {
            if !self.evaluate_group(group, &CostBudget::new(self.limits.guaranteed)) {
                self.postponed.push(group);
            }
            (_, next) = self.groups.identity_and_next(group);
        }
    }
}

/// Calls `on_subscription` for each member of a group that this emit has not reported yet.
pub(super) fn report_members(
    identity: &Identity,
    members: &[Member],
    subscriptions: &mut Subscriptions,
    emit: u32,
    on_subscription: &mut dyn FnMut(DeliveryId, SessionRef),
) {
    for member in members {
        if !identity.has_more_postings || subscriptions.mark_reported(member.subscription, emit) {
            on_subscription(identity.delivery, member.target);
        }
    }
}

/// Retries what was postponed until `budget_left` is spent. Returns what is still undecided.
pub(super) fn retry(
    mut budget_left: usize,
    mut postponed: Vec<u32>,
    mut decide: impl FnMut(u32, &CostBudget) -> bool,
) -> Vec<u32> {
    for limit in RETRY_BUDGETS {
        postponed.retain(|&id| {
            let budget = CostBudget::new(limit.min(budget_left));
            let is_decided = budget_left > 0 && decide(id, &budget);
            budget_left -= budget.spent();
            !is_decided
        });
    }
    postponed
}
