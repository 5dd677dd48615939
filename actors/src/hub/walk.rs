//! Ends sessions by who they belong to: a walk over all slots, a part of it in each turn.
//!
//! Sessions can't be looked up by their user: an index would cost each of them memory for what is done a few times a day.
//! A slot takes a few nanoseconds. What is asked for while a walk is under way is gathered for the next one, so that any
//! number of requests costs one walk after the other, and the same request twice costs nothing.

use super::SessionHub;
use crate::fingerprint::Fingerprint;
use crate::protocol::codes::CloseCode;
use crate::session::{Close, Grant};
use actix::prelude::*;
use std::collections::HashSet;

/// Slots looked at in one turn: less than a millisecond.
const SLOTS_A_TURN: u32 = 16_384;

/// Ends every session of a user with 4403. One that begins later is let in.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct DisconnectUser(pub Fingerprint);

/// Which sessions are to end.
#[derive(Default)]
struct Condemned {
    users: HashSet<Fingerprint>,
}

impl Condemned {
    fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// How a session with this grant ends, if it does.
    fn sentence(&self, grant: &Grant) -> Option<CloseCode> {
        self.users.contains(&grant.user).then_some(CloseCode::Disconnected)
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Walk {
    condemned: Condemned,
    /// What the next walk is for.
    next: Condemned,
    at: u32,
    /// One past the last slot of this walk.
    end: u32,
    ended: u64,
}

impl Walk {
    /// Whether there is more to do.
    pub fn is_under_way(&self) -> bool {
        !self.condemned.is_empty() || !self.next.is_empty()
    }
}

impl SessionHub {
    /// Walks a turn's part.
    pub(super) fn walk(&mut self) {
        if self.walk.condemned.is_empty() {
            if self.walk.next.is_empty() {
                return;
            }
            let condemned = std::mem::take(&mut self.walk.next);
            self.walk = Walk { condemned, end: self.sessions.end(), ..Walk::default() };
        }
        let stop = self.walk.at.saturating_add(SLOTS_A_TURN).min(self.walk.end);
        for slot in self.walk.at..stop {
            let Some(session) = self.sessions.get(slot) else { continue };
            if let Some(code) = self.walk.condemned.sentence(session.grant()) {
                let session = session.reference();
                self.walk.ended += 1;
                self.with(session, Close(code));
            }
        }
        self.walk.at = stop;
        if stop == self.walk.end {
            self.finish_walk();
        }
    }

    fn finish_walk(&mut self) {
        if self.walk.ended > 0 {
            log::info!("sessions were ended by order: worker={} sessions={}", self.worker, self.walk.ended);
        }
        self.walk.condemned = Condemned::default();
    }
}

impl Handler<DisconnectUser> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: DisconnectUser, _: &mut Context<Self>) {
        self.walk.next.users.insert(message.0);
    }
}
