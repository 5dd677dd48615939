//! Which seats a subscription has: one for nearly all, several for an `$in` or `$or`.

use super::group::Seat;
use crate::chunked_slab::{ChunkedSlab, NONE};

/// All subscriptions, by number.
#[derive(Default)]
pub(super) struct Subscriptions {
    records: ChunkedSlab<Record>,
    several: ChunkedSlab<Several>,
}

/// Twelve bytes.
enum Record {
    One(Seat),
    Several(u32),
}

struct Several {
    /// Invariant: at most one seat in any group.
    seats: Box<[Seat]>,
    /// The emit that last told the subscription.
    told: u32,
}

impl Subscriptions {
    /// Adds a subscription, whose number its members need before there are seats: [`Subscriptions::sit`] must follow.
    pub(super) fn open(&mut self) -> u32 {
        self.records.insert(Record::One(Seat { group: NONE, position: 0 }))
    }

    /// Gives a new subscription its seats, at least one.
    pub(super) fn sit(&mut self, id: u32, seats: &[Seat]) {
        self.records[id] = match *seats {
            [seat] => Record::One(seat),
            _ => Record::Several(self.several.insert(Several { seats: seats.into(), told: 0 })),
        };
    }

    /// The first of its seats.
    pub(super) fn first_seat(&self, id: u32) -> Option<Seat> {
        match *self.records.get(id)? {
            Record::One(seat) => Some(seat),
            Record::Several(several) => self.several[several].seats.first().copied(),
        }
    }

    /// Ends a subscription and calls `on_seat` with each of its seats.
    pub(super) fn close(&mut self, id: u32, mut on_seat: impl FnMut(&mut Self, Seat)) {
        match self.records.remove(id) {
            Some(Record::One(seat)) => on_seat(self, seat),
            Some(Record::Several(several)) => {
                let seats = self.several.remove(several).map(|several| several.seats);
                seats.iter().flatten().for_each(|seat| on_seat(self, *seat));
            }
            None => (),
        }
    }

    /// Takes note that a subscription now sits at `seat` of that group.
    pub(super) fn move_to(&mut self, id: u32, seat: Seat) {
        match &mut self.records[id] {
            Record::One(old) => *old = seat,
            Record::Several(several) => {
                let seats = self.several[*several].seats.iter_mut();
                let own = seats.filter(|old| old.group == seat.group);
                own.for_each(|old| *old = seat);
            }
        }
    }

    /// Whether this emit has not told the subscription yet; from now on it has.
    pub(super) fn tell_first(&mut self, id: u32, emit: u32) -> bool {
        match self.records[id] {
            Record::One(_) => true,
            Record::Several(several) => std::mem::replace(&mut self.several[several].told, emit) != emit,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Forgets which emits were seen.
    pub(super) fn forget_emits(&mut self) {
        self.several.iter_mut().for_each(|several| several.told = 0);
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.records.len() + self.several.len() == 0
    }
}
