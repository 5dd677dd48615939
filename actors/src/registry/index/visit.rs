//! One find under way: the keys of the event data are visited, each group's program run and its members told.
//!
//! What a look-up or a program takes is bounded ([`bounds`]). Each has some steps whatever the others take; what needs
//! more is tried again behind all others, by rounds, so that the cheaper goes before the dearer and nobody is kept from
//! hearing by a neighbour who asks for too much. What the emit's steps do not suffice for stays undecided.

use super::DeliveryId;
use super::fingerprint::{Fingerprint, Fingerprints};
use super::group::{Identity, Member};
use super::groups::Groups;
use super::places::Places;
use super::programs::Programs;
use super::subscriptions::Subscriptions;
use super::terms::Class;
use crate::condition::document::Document;
use crate::condition::{Effort, bounds};
use crate::ids::SessionRef;

/// What one look-up or program may take in each round behind the first. A round that is lost costs what the next could have
/// had: hence two, far apart.
const ROUNDS: [usize; 2] = [1 << 12, bounds::STEPS];

/// How many steps a find may take.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// Each look-up and program, whatever the others take.
    pub(super) free: usize,
    /// All look-ups together besides, and all programs as many again.
    pub(super) emit: usize,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps { free: bounds::FREE_STEPS, emit: bounds::EMIT_STEPS }
    }
}

/// One find under way.
pub(super) struct Visit<'a> {
    pub(super) fingerprints: &'a Fingerprints,
    pub(super) places: &'a Places,
    pub(super) programs: &'a mut Programs,
    pub(super) groups: &'a mut Groups,
    pub(super) subscriptions: &'a mut Subscriptions,
    pub(super) document: &'a Document<'a>,
    pub(super) emit: u32,
    pub(super) steps: Steps,
    pub(super) on_match: &'a mut dyn FnMut(DeliveryId, SessionRef),
    /// Groups whose program needs more steps.
    pub(super) postponed: Vec<u32>,
}

impl Visit<'_> {
    /// Looks up what the event data has at a place; answers whether the steps sufficed. May be called again.
    pub(super) fn place(&mut self, id: u32, effort: &Effort) -> bool {
        let (fingerprints, places, document) = (self.fingerprints, self.places, self.document);
        let place = places.listed(id);
        match place.class {
            Class::Equal => document.for_each_candidate(places.path(place), effort, &mut |value| {
                self.key(fingerprints.of_value(id, |state| value.hash_canonical(state)));
            }),
            Class::Ranged => places.for_each_bound_met(id, document, effort, &mut |bound| {
                self.key(fingerprints.of_place(bound));
            }),
            Class::Present if !document.has(places.path(place), effort) || effort.is_spent() => (),
            Class::Present | Class::Always => self.key(fingerprints.of_place(id)),
        }
        !effort.is_spent()
    }

    /// Tells a group if its program holds; answers whether the steps sufficed to find out.
    pub(super) fn group(&mut self, group: u32, effort: &Effort) -> bool {
        let (identity, _) = self.groups.look(group);
        let held = self.programs.holds(identity.program, self.document, self.emit, effort);
        if held == Some(true) {
            let members = self.groups.members(group);
            tell(&identity, members, self.subscriptions, self.emit, self.on_match);
        }
        held.is_some()
    }

    /// Visits the groups of a key; none the second time, as for an array's equal elements.
    fn key(&mut self, key: Fingerprint) {
        let mut next = self.groups.visit(key, self.emit);
        while let Some(group) = next {
            if !self.group(group, &Effort::of(self.steps.free)) {
                self.postponed.push(group);
            }
            (_, next) = self.groups.look(group);
        }
    }
}

/// Calls `on_subscription` for the members of a group that were not told in this emit.
pub(super) fn tell(
    identity: &Identity,
    members: &[Member],
    subscriptions: &mut Subscriptions,
    emit: u32,
    on_subscription: &mut dyn FnMut(DeliveryId, SessionRef),
) {
    for member in members {
        if !identity.several || subscriptions.tell_first(member.subscription, emit) {
            on_subscription(identity.delivery, member.target);
        }
    }
}

/// Tries again what was postponed, until so many steps are spent; answers what is still undecided.
pub(super) fn retry(
    mut left: usize,
    mut postponed: Vec<u32>,
    mut decides: impl FnMut(u32, &Effort) -> bool,
) -> Vec<u32> {
    for steps in ROUNDS {
        postponed.retain(|&id| {
            let effort = Effort::of(steps.min(left));
            let is_decided = left > 0 && decides(id, &effort);
            left -= effort.spent();
            !is_decided
        });
    }
    postponed
}
