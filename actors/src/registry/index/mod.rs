//! Who wants to hear what: the subscriptions of all channels of a node, found without trying each.
//!
//! Pure: knows conditions and session addresses, no socket, actor or bus. On its way in, a condition becomes a few
//! look-ups and what then remains to be checked (`cover`, `terms`). A look-up hangs at a place, a (channel, path, kind)
//! or a bound (`places`, `ranges`), under a fingerprint of place and value (`fingerprint`). Under a key are groups of
//! subscriptions that share what remains (`programs`) and how they are told (`group`, `groups`); `subscriptions` knows
//! each one's seats. An emit looks up each value at each indexed path of its channel (`visit`).
//!
//! Memory follows the subscriptions: what the last holder leaves is freed, and tables and lists shrink to at most four
//! times what they hold. A find allocates nothing, but for ranges: a copy of the strings and numbers it compares.

mod cover;
mod fingerprint;
mod group;
mod groups;
mod id_table;
pub(super) mod interner;
mod places;
mod programs;
mod ranges;
mod spots;
mod subscriptions;
mod terms;
#[cfg(test)]
mod tests;
mod visit;

use crate::condition::{Condition, Effort, document::Document};
use crate::ids::{SessionRef, SubscriptionId};
use cover::Posting;
use fingerprint::Fingerprints;
use groups::{Groups, Left};
use hashbrown::HashSet;
use places::Places;
use programs::Programs;
use std::rc::Rc;
use subscriptions::Subscriptions;
use terms::Term;
use visit::{Steps, Visit, retry, tell};

/// A (project, event) with subscribers on this node; numbered by the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelId(pub u32);

/// How a match is told: the registry's interned (event id, selection, with or without data).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeliveryId(pub u32);

/// What a find left open: to find out would have taken more steps than an emit may take.
#[derive(Debug, Default)]
#[must_use = "who may have missed something is told so"]
pub struct Undecided {
    /// Groups whose program could not be run.
    groups: Vec<u32>,
    /// Places that could not be looked up.
    places: HashSet<u32>,
}

impl Undecided {
    /// Whether everything was found out.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.places.is_empty()
    }
}

/// The index.
#[derive(Default)]
pub struct SubscriptionIndex {
    fingerprints: Fingerprints,
    places: Places,
    programs: Programs,
    groups: Groups,
    subscriptions: Subscriptions,
    /// Numbers the finds, from 1: what this one has seen carries its number.
    emit: u32,
    steps: Steps,
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
        let postings = match &condition {
            Some(condition) => cover::cover(condition, &|terms, rest| self.weight(channel, delivery, terms, rest)),
            None => vec![Posting { term: Term::Always, rest: Rc::new([]) }],
        };
        let spots = self.acquire_spots(channel, &postings);
        SubscriptionId(self.subscribe(&spots, delivery, target))
    }

    /// Removes a subscription, if it is still `target`'s.
    pub fn remove(&mut self, id: SubscriptionId, target: SessionRef) -> Option<(ChannelId, DeliveryId)> {
        let seat = self.subscriptions.first_seat(id.0)?;
        let (member, place, delivery) = self.groups.at(seat);
        if member.target != target {
            return None;
        }
        let channel = self.places.channel(place);
        let SubscriptionIndex { places, programs, groups, subscriptions, .. } = self;
        subscriptions.close(id.0, |subscriptions, seat| match groups.leave(seat) {
            Left::Quietly => (),
            Left::Moved { subscription } => subscriptions.move_to(subscription, seat),
            Left::Closed { place, program } => {
                places.release(place);
                programs.release(program);
            }
        });
        Some((channel, delivery))
    }

    /// Calls `on_match` once for each subscription of `channel` whose condition the event data meets. Those that were
    /// found by the same look-up and check and have the same delivery come one after the other; equal conditions
    /// with one delivery always do. Answers what it could not find out within the bounds of an emit.
    pub fn find(
        &mut self,
        channel: ChannelId,
        document: &Document<'_>,
        on_match: &mut dyn FnMut(DeliveryId, SessionRef),
    ) -> Undecided {
        self.begin_emit();
        let SubscriptionIndex { fingerprints, places, programs, groups, subscriptions, .. } = self;
        let (emit, steps) = (self.emit, self.steps);
        let mut visit = Visit {
            fingerprints,
            places,
            programs,
            groups,
            subscriptions,
            document,
            emit,
            steps,
            on_match,
            postponed: Vec::new(),
        };
        let mut postponed = Vec::new();
        for (id, _) in places.of_channel(channel) {
            if !visit.place(id, &Effort::of(steps.free)) {
                postponed.push(id);
            }
        }
        let places = retry(steps.emit, postponed, |id, effort| visit.place(id, effort));
        let postponed = std::mem::take(&mut visit.postponed);
        let groups = retry(steps.emit, postponed, |group, effort| visit.group(group, effort));
        Undecided { groups, places: places.into_iter().collect() }
    }

    /// Calls `on_subscription` once for each subscription that the last find neither told nor could tell it need not.
    /// Where a place could not be looked up, looks at every group of the index, once.
    pub fn for_each_undecided(
        &mut self,
        undecided: &Undecided,
        on_subscription: &mut dyn FnMut(DeliveryId, SessionRef),
    ) {
        let SubscriptionIndex { places, groups, subscriptions, emit, .. } = self;
        for &group in &undecided.groups {
            tell(&groups.look(group).0, groups.members(group), subscriptions, *emit, on_subscription);
        }
        if undecided.places.is_empty() {
            return;
        }
        for (identity, place, members) in groups.iter() {
            if undecided.places.contains(&places.listed_of(place)) && !groups.is_visited(identity.key, *emit) {
                tell(&identity, members, subscriptions, *emit, on_subscription);
            }
        }
    }

    /// Calls `on_subscription` once for each subscription of the channels that `is_meant` picks, whatever its condition.
    /// Looks at every group of the index, once.
    pub fn for_each(
        &mut self,
        is_meant: &dyn Fn(ChannelId) -> bool,
        on_subscription: &mut dyn FnMut(DeliveryId, SessionRef),
    ) {
        self.begin_emit();
        let SubscriptionIndex { places, groups, subscriptions, emit, .. } = self;
        let meant = groups.iter().filter(|(_, place, _)| is_meant(places.channel(*place)));
        for (identity, _, members) in meant {
            tell(&identity, members, subscriptions, *emit, on_subscription);
        }
    }

    /// Subscriptions held.
    pub fn len(&self) -> usize {
        self.subscriptions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers the next find. The numbers come round after 2^32 finds; nothing may then carry an old one.
    fn begin_emit(&mut self) {
        self.emit = self.emit.wrapping_add(1);
        if self.emit == 0 {
            self.groups.forget_emits();
            self.programs.forget_emits();
            self.subscriptions.forget_emits();
            self.emit = 1;
        }
    }
}
