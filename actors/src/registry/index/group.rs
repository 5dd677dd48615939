//! One group of subscriptions that share a key, a program and a delivery, as the index stores it.

use super::DeliveryId;
use super::fingerprint::Fingerprint;
use crate::chunked_slab::NONE;
use crate::ids::SessionRef;

/// What tells a group from every other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) key: Fingerprint,
    pub(super) program: u32,
    pub(super) delivery: DeliveryId,
    /// Whether its members have further postings, so that they may have been told already.
    pub(super) several: bool,
}

/// One cache line: a million subscriptions with their own value are a million of these, and a find reads one.
#[repr(align(64))]
pub(super) struct Group {
    pub(super) key: Fingerprint,
    pub(super) program: u32,
    pub(super) delivery: DeliveryId,
    pub(super) place: u32,
    pub(super) next: u32,
    pub(super) previous: u32,
    /// The emit that last visited the chain, kept in its first group.
    pub(super) visited: u32,
    /// The members when there are several, else `NONE`.
    pub(super) list: u32,
    pub(super) sole: Member,
    pub(super) several: bool,
}

/// One subscription in a group.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) target: SessionRef,
    pub(super) subscription: u32,
}

/// A member's place in a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seat {
    pub(super) group: u32,
    pub(super) position: u32,
}

impl Group {
    pub(super) fn new(identity: &Identity, place: u32, sole: Member) -> Group {
        Group {
            key: identity.key,
            program: identity.program,
            delivery: identity.delivery,
            place,
            next: NONE,
            previous: NONE,
            visited: 0,
            list: NONE,
            sole,
            several: identity.several,
        }
    }

    pub(super) fn identity(&self) -> Identity {
        Identity { key: self.key, program: self.program, delivery: self.delivery, several: self.several }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_one_takes_64_bytes_with_its_slot() {
        assert_eq!(size_of::<Option<Group>>(), 64);
    }
}
