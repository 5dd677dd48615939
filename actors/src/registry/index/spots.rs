//! Where a new subscription's postings go: which places, programs and groups take them, and how crowded it is there.

use super::cover::Posting;
use super::fingerprint::Fingerprint;
use super::group::{Identity, Member, Seat};
use super::terms::Term;
use super::{ChannelId, DeliveryId, SubscriptionIndex};
use crate::condition::Expression;
use crate::ids::SessionRef;
use std::rc::Rc;

/// Groups under a key that are counted to weigh it against another: beyond these both are crowded.
const CROWD: usize = 16;

/// Where a posting goes.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Spot {
    key: Fingerprint,
    place: u32,
    program: u32,
}

impl SubscriptionIndex {
    /// How crowded it is where postings would go: nothing where subscriptions like this one are already, which keeps
    /// those of one condition together.
    pub(super) fn weight(
        &self,
        channel: ChannelId,
        delivery: DeliveryId,
        terms: &[Term<'_>],
        rest: &[&Expression],
    ) -> usize {
        let program = self.programs.find(rest);
        let weight_of = |term: &Term<'_>| {
            let Some(place) = self.places.find(channel, term) else {
                return 1;
            };
            let key = self.key(place, term);
            let is_there = |program, several| {
                let identity = Identity { key, program, delivery, several };
                self.groups.find(&identity).is_some()
            };
            match program {
                Some(program) if is_there(program, false) || is_there(program, true) => 0,
                _ => 1 + self.groups.count(key, CROWD),
            }
        };
        terms.iter().map(weight_of).sum()
    }

    /// The spots of the postings, each once; every one holds its place and program.
    pub(super) fn acquire_spots(&mut self, channel: ChannelId, postings: &[Posting<'_>]) -> Vec<Spot> {
        let mut spots: Vec<Spot> = Vec::with_capacity(postings.len());
        let mut previous: Option<(&Rc<[&Expression]>, u32)> = None;
        for Posting { term, rest } in postings {
            let place = self.places.acquire(channel, term);
            let program = match previous {
                Some((shared, program)) if Rc::ptr_eq(shared, rest) => {
                    self.programs.retain(program);
                    program
                }
                _ => self.programs.acquire(rest),
            };
            previous = Some((rest, program));
            let key = self.key(place, term);
            let spot = Spot { key, place, program };
            if spots.contains(&spot) {
                self.release(spot);
            } else {
                spots.push(spot);
            }
        }
        spots
    }

    pub(super) fn subscribe(&mut self, spots: &[Spot], delivery: DeliveryId, target: SessionRef) -> u32 {
        let subscription = self.subscriptions.open();
        let member = Member { target, subscription };
        let several = spots.len() > 1;
        let seats = spots.iter().map(|&spot| self.seat(spot, delivery, several, member));
        let seats: Vec<Seat> = seats.collect();
        self.subscriptions.sit(subscription, &seats);
        subscription
    }

    fn seat(&mut self, spot: Spot, delivery: DeliveryId, several: bool, member: Member) -> Seat {
        let identity = Identity { key: spot.key, program: spot.program, delivery, several };
        match self.groups.find(&identity) {
            Some(group) => {
                // The group holds them already.
                self.release(spot);
                self.groups.join(group, member)
            }
            None => self.groups.open(&identity, spot.place, member),
        }
    }

    fn release(&mut self, spot: Spot) {
        self.places.release(spot.place);
        self.programs.release(spot.program);
    }

    pub(super) fn key(&self, place: u32, term: &Term<'_>) -> Fingerprint {
        match term {
            Term::Equal(_, value) => {
                let feed = |state: &mut _| value.hash_canonical(state);
                self.fingerprints.of_value(place, feed)
            }
            _ => self.fingerprints.of_place(place),
        }
    }
}
