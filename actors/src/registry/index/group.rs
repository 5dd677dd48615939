//! The record of one group: the subscriptions that share a term key, a filter and a delivery.

use super::ids::DeliveryId;
use super::term_key::TermKey;
use crate::chunked_slab::NONE;
use crate::ids::SessionRef;

/// What identifies a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) key: TermKey,
    pub(super) filter: u32,
    pub(super) delivery: DeliveryId,
    /// Whether its members have postings in other groups too, and so may have been reported already.
    pub(super) has_more_postings: bool,
}

/// One cache line: a million subscriptions, each with its own value, are a million groups, and a search reads one of
/// them.
#[repr(align(64))]
pub(super) struct Group {
    pub(super) key: TermKey,
    pub(super) filter: u32,
    pub(super) delivery: DeliveryId,
    pub(super) lookup: u32,
    pub(super) next: u32,
    pub(super) previous: u32,
    /// The emit that last visited the chain. Used in the first group of the chain only.
    pub(super) visited: u32,
    /// The list of members if there are two or more, else `NONE`.
    pub(super) list: u32,
    pub(super) sole: Member,
    pub(super) has_more_postings: bool,
}

/// One subscription in a group.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) target: SessionRef,
    pub(super) subscription: u32,
}

/// Where a subscription is stored: a position in a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Posting {
    pub(super) group: u32,
    pub(super) position: u32,
}

impl Group {
    pub(super) fn new(identity: &Identity, lookup: u32, sole: Member) -> Group {
        Group {
            key: identity.key,
            filter: identity.filter,
            delivery: identity.delivery,
            lookup,
            next: NONE,
            previous: NONE,
            visited: 0,
            list: NONE,
            sole,
            has_more_postings: identity.has_more_postings,
        }
    }

    pub(super) fn identity(&self) -> Identity {
        Identity {
            key: self.key,
            filter: self.filter,
            delivery: self.delivery,
            has_more_postings: self.has_more_postings,
        }
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
