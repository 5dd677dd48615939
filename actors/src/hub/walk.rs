//! Ends sessions by who they belong to: a walk over all slots, a part of it in each turn.
//!
//! Sessions can't be looked up by their user: an index would cost each of them memory for what is done a few times a day.
//! A slot takes a few nanoseconds. What is asked for while a walk is under way is gathered for the next one, so that any
//! number of requests costs one walk after the other, and the same request twice costs nothing.

use super::SessionHub;
use crate::fingerprint::{Fingerprint, Fingerprint64};
use crate::protocol::codes::CloseCode;
use crate::session::{Close, Grant, Revoke};
use actix::prelude::*;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Slots looked at in one turn: less than a millisecond.
const SLOTS_A_TURN: u32 = 16_384;

/// Ends every session of a user with 4403. One that begins later is let in.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct DisconnectUser(pub Fingerprint);

/// Ends every session of a project whose tokens were signed by other keys than these, with 4401.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct RetainKeys {
    pub project: Arc<str>,
    /// Keys of API tokens; no session stays without one.
    pub api: Arc<[Fingerprint64]>,
    /// Keys of user tokens, likewise.
    pub user: Arc<[Fingerprint64]>,
    /// The frame that says why, in front of the goodbye.
    pub reason: Bytes,
}

/// Which sessions are to end.
#[derive(Default)]
struct Condemned {
    users: HashSet<Fingerprint>,
    projects: HashMap<Arc<str>, RetainKeys>,
}

/// How a session ends.
enum Sentence {
    Disconnect,
    Revoke(Bytes),
}

impl Condemned {
    fn is_empty(&self) -> bool {
        self.users.is_empty() && self.projects.is_empty()
    }

    /// How a session with this grant ends, if it does.
    fn sentence(&self, grant: &Grant) -> Option<Sentence> {
        if self.users.contains(&grant.user) {
            return Some(Sentence::Disconnect);
        }
        let kept = self.projects.get(&grant.project)?;
        let is_kept = kept.api.contains(&grant.api.key) && kept.user.contains(&grant.user_token.key);
        (!is_kept).then(|| Sentence::Revoke(kept.reason.clone()))
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
            let reference = session.reference();
            match self.walk.condemned.sentence(session.grant()) {
                None => continue,
                Some(Sentence::Disconnect) => self.with(reference, Close(CloseCode::Disconnected)),
                Some(Sentence::Revoke(reason)) => self.with(reference, Revoke(reason)),
            };
            self.walk.ended += 1;
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

impl Handler<RetainKeys> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: RetainKeys, _: &mut Context<Self>) {
        self.walk.next.projects.insert(message.project.clone(), message);
    }
}
