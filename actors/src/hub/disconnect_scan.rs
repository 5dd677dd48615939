//! Ends sessions by who they belong to: a walk over all slots, a part of it in each turn.
//!
//! Sessions can't be looked up by their user: an index would cost each of them memory for what is done a few times a day.
//! A slot takes a few nanoseconds. What is asked for while a walk is under way is gathered for the next one, so that any
//! number of requests costs one walk after the other, and the same request twice costs nothing.

use super::SessionHub;
use crate::fingerprint::{Fingerprint, Fingerprint64};
use crate::protocol::codes::CloseCode;
use crate::session::life_log::ClosedBy;
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
struct ScanTargets {
    users: HashSet<Fingerprint>,
    projects: HashMap<Arc<str>, RetainKeys>,
}

/// How a session ends.
enum CloseOrder {
    Disconnect,
    Revoke(Bytes),
}

impl ScanTargets {
    fn is_empty(&self) -> bool {
        self.users.is_empty() && self.projects.is_empty()
    }

    /// How a session with this grant ends, if it does.
    fn close_order(&self, grant: &Grant) -> Option<CloseOrder> {
        if self.users.contains(&grant.user) {
            return Some(CloseOrder::Disconnect);
        }
        let retained = self.projects.get(&grant.project)?;
        let is_retained = retained.api.contains(&grant.api.key) && retained.user.contains(&grant.user_token.key);
        (!is_retained).then(|| CloseOrder::Revoke(retained.reason.clone()))
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct DisconnectScan {
    targets: ScanTargets,
    /// What the next walk is for.
    next: ScanTargets,
    at: u32,
    /// One past the last slot of this walk.
    end: u32,
    ended: u64,
}

impl DisconnectScan {
    /// Whether there is more to do.
    pub fn is_under_way(&self) -> bool {
        !self.targets.is_empty() || !self.next.is_empty()
    }
}

impl SessionHub {
    /// Walks a turn's part.
    pub(super) fn scan_for_disconnects(&mut self) {
        if self.disconnect_scan.targets.is_empty() {
            if self.disconnect_scan.next.is_empty() {
                return;
            }
            let targets = std::mem::take(&mut self.disconnect_scan.next);
            self.disconnect_scan = DisconnectScan { targets, end: self.sessions.end(), ..DisconnectScan::default() };
        }
        let stop = self.disconnect_scan.at.saturating_add(SLOTS_A_TURN).min(self.disconnect_scan.end);
        for slot in self.disconnect_scan.at..stop {
            let Some(session) = self.sessions.get(slot) else { continue };
            let reference = session.reference();
            match self.disconnect_scan.targets.close_order(session.grant()) {
                None => continue,
                Some(CloseOrder::Disconnect) => {
                    self.with(reference, Close { code: CloseCode::Disconnected, by: ClosedBy::Application(None) })
                }
                Some(CloseOrder::Revoke(reason)) => self.with(reference, Revoke(reason)),
            };
            self.disconnect_scan.ended += 1;
        }
        self.disconnect_scan.at = stop;
        if stop == self.disconnect_scan.end {
            self.finish_scan();
        }
    }

    fn finish_scan(&mut self) {
        if self.disconnect_scan.ended > 0 {
            log::info!("sessions were ended by order: worker={} sessions={}", self.worker, self.disconnect_scan.ended);
        }
        self.disconnect_scan.targets = ScanTargets::default();
    }
}

impl Handler<DisconnectUser> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: DisconnectUser, _: &mut Context<Self>) {
        self.disconnect_scan.next.users.insert(message.0);
    }
}

impl Handler<RetainKeys> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: RetainKeys, _: &mut Context<Self>) {
        self.disconnect_scan.next.projects.insert(message.project.clone(), message);
    }
}
