//! The postings of each subscription: one for nearly all subscriptions, several for an `$in` or `$or`.

use super::group::Posting;
use crate::chunked_slab::{ChunkedSlab, NONE};

/// All subscriptions, by number.
#[derive(Default)]
pub(super) struct Subscriptions {
    records: ChunkedSlab<Record>,
    multiple: ChunkedSlab<Multiple>,
}

/// 12 bytes.
enum Record {
    One(Posting),
    Multiple(u32),
}

struct Multiple {
    /// Invariant: at most one posting in any group.
    postings: Box<[Posting]>,
    /// The emit that last reported the subscription.
    reported: u32,
}

impl Subscriptions {
    /// Adds a subscription without postings, because its members need its number first. The caller must then call
    /// [`Subscriptions::set_postings`].
    pub(super) fn reserve(&mut self) -> u32 {
        self.records.insert(Record::One(Posting { group: NONE, position: 0 }))
    }

    /// Sets the postings of a new subscription, at least one.
    pub(super) fn set_postings(&mut self, id: u32, postings: &[Posting]) {
        self.records[id] = match *postings {
            [posting] => Record::One(posting),
            _ => Record::Multiple(self.multiple.insert(Multiple { postings: postings.into(), reported: 0 })),
        };
    }

    /// The first posting of a subscription.
    pub(super) fn first_posting(&self, id: u32) -> Option<Posting> {
        match *self.records.get(id)? {
            Record::One(posting) => Some(posting),
            Record::Multiple(multiple) => self.multiple[multiple].postings.first().copied(),
        }
    }

    /// Removes a subscription and calls `on_posting` with each of its postings.
    pub(super) fn remove(&mut self, id: u32, mut on_posting: impl FnMut(&mut Self, Posting)) {
        match self.records.remove(id) {
            Some(Record::One(posting)) => on_posting(self, posting),
            Some(Record::Multiple(multiple)) => {
                let postings = self.multiple.remove(multiple).map(|multiple| multiple.postings);
                postings.iter().flatten().for_each(|posting| on_posting(self, *posting));
            }
            None => (),
        }
    }

    /// Records that a subscription moved to `posting` within its group.
    pub(super) fn move_posting(&mut self, id: u32, posting: Posting) {
        match &mut self.records[id] {
            Record::One(old) => *old = posting,
            Record::Multiple(multiple) => {
                let postings = self.multiple[*multiple].postings.iter_mut();
                let own = postings.filter(|old| old.group == posting.group);
                own.for_each(|old| *old = posting);
            }
        }
    }

    /// Marks a subscription as reported by this emit. Returns false if it was marked before.
    pub(super) fn mark_reported(&mut self, id: u32, emit: u32) -> bool {
        match self.records[id] {
            Record::One(_) => true,
            Record::Multiple(multiple) => std::mem::replace(&mut self.multiple[multiple].reported, emit) != emit,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Resets the emit numbers of all subscriptions.
    pub(super) fn forget_emits(&mut self) {
        self.multiple.iter_mut().for_each(|multiple| multiple.reported = 0);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.records.len() + self.multiple.len() == 0
    }
}
