//! Ends the sessions of a user, or those with revoked keys: a scan of all slots, a part of it in each turn.
//!
//! There is no index of sessions by user. It would cost memory for each session and be used a few times a day. Scanning
//! a slot takes a few nanoseconds. Requests that arrive during a scan are collected for the next one. So any number of
//! requests costs one scan after another, and equal requests share a scan.

use super::SessionHub;
use crate::fingerprint::{Fingerprint, Fingerprint64};
use crate::protocol::codes::CloseCode;
use crate::session::life_log::ClosedBy;
use crate::session::{Close, Grant, Revoke};
use actix::prelude::*;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Slots scanned in one turn. It takes less than a millisecond.
const SLOTS_PER_TURN: u32 = 16_384;

/// Ends every session of a user with 4403. Sessions that begin later are accepted. The answer is the number of ended
/// sessions.
#[derive(Clone, Debug, Message)]
#[rtype(result = "usize")]
pub struct DisconnectUser {
    pub user: Fingerprint,
    /// The application that asked for it, for the log.
    pub by: Arc<str>,
}

/// Ends every session of a project whose tokens were signed by other keys than these, with 4401. The answer is the
/// number of ended sessions.
#[derive(Clone, Debug, Message)]
#[rtype(result = "usize")]
pub struct RetainKeys {
    pub project: Arc<str>,
    /// Active keys of API tokens. Sessions with another key end.
    pub api: Arc<[Fingerprint64]>,
    /// Active keys of user tokens, likewise.
    pub user: Arc<[Fingerprint64]>,
    /// The frame with the reason, sent before the close frame.
    pub reason: Bytes,
}

/// The sessions that a scan ends.
#[derive(Default)]
struct ScanTargets {
    users: HashMap<Fingerprint, Target<DisconnectUser>>,
    projects: HashMap<Arc<str>, Target<RetainKeys>>,
}

/// A request of a scan, the number of sessions that it ended so far, and the callers that wait for the number.
struct Target<M> {
    request: M,
    ended: usize,
    answers: Vec<oneshot::Sender<usize>>,
}

impl<M> Target<M> {
    fn new(request: M) -> Target<M> {
        Target { request, ended: 0, answers: Vec::new() }
    }

    fn answer(self) {
        for answer in self.answers {
            // The caller may be gone.
            let _ = answer.send(self.ended);
        }
    }
}

/// How the scan ends a session.
enum CloseAction {
    Disconnect { by: Arc<str> },
    Revoke(Bytes),
}

impl ScanTargets {
    fn is_empty(&self) -> bool {
        self.users.is_empty() && self.projects.is_empty()
    }

    /// The action for an open session with this grant, which is counted. `None` if the session stays.
    fn close_action(&mut self, grant: &Grant) -> Option<CloseAction> {
        if let Some(target) = self.users.get_mut(&grant.user) {
            target.ended += 1;
            return Some(CloseAction::Disconnect { by: target.request.by.clone() });
        }
        let target = self.projects.get_mut(&grant.project)?;
        let retained = &target.request;
        let is_retained = retained.api.contains(&grant.api.key) && retained.user.contains(&grant.user_token.key);
        if is_retained {
            return None;
        }
        target.ended += 1;
        Some(CloseAction::Revoke(target.request.reason.clone()))
    }

    fn answer(self) {
        self.users.into_values().for_each(Target::answer);
        self.projects.into_values().for_each(Target::answer);
    }
}

/// The state of the scan, and the targets of the next one.
#[derive(Default)]
pub(super) struct DisconnectScan {
    targets: ScanTargets,
    /// The targets of the next scan.
    next: ScanTargets,
    at: u32,
    /// One past the last slot of this scan.
    end: u32,
}

impl DisconnectScan {
    /// Whether there is more to do.
    pub fn is_under_way(&self) -> bool {
        !self.targets.is_empty() || !self.next.is_empty()
    }
}

impl SessionHub {
    /// Scans the slots of one turn.
    pub(super) fn scan_for_disconnects(&mut self) {
        if self.disconnect_scan.targets.is_empty() {
            if self.disconnect_scan.next.is_empty() {
                return;
            }
            let targets = std::mem::take(&mut self.disconnect_scan.next);
            self.disconnect_scan = DisconnectScan { targets, end: self.sessions.end(), ..DisconnectScan::default() };
        }
        let stop = self.disconnect_scan.at.saturating_add(SLOTS_PER_TURN).min(self.disconnect_scan.end);
        for slot in self.disconnect_scan.at..stop {
            let Some(session) = self.sessions.get(slot) else { continue };
            if !session.is_open() {
                continue;
            }
            let reference = session.reference();
            match self.disconnect_scan.targets.close_action(session.grant()) {
                None => continue,
                Some(CloseAction::Disconnect { by }) => {
                    self.with(reference, Close { code: CloseCode::Disconnected, by: ClosedBy::Application(by) })
                }
                Some(CloseAction::Revoke(reason)) => self.with(reference, Revoke(reason)),
            };
        }
        self.disconnect_scan.at = stop;
        if stop == self.disconnect_scan.end {
            std::mem::take(&mut self.disconnect_scan.targets).answer();
        }
    }
}

/// Resolves to the count of a scan; to 0 if the hub ends before.
fn count(answer: oneshot::Receiver<usize>) -> ResponseFuture<usize> {
    Box::pin(async move { answer.await.unwrap_or(0) })
}

impl Handler<DisconnectUser> for SessionHub {
    type Result = ResponseFuture<usize>;

    fn handle(&mut self, message: DisconnectUser, _: &mut Context<Self>) -> Self::Result {
        let (sender, answer) = oneshot::channel();
        let targets = &mut self.disconnect_scan.next.users;
        targets.entry(message.user).or_insert_with(|| Target::new(message)).answers.push(sender);
        count(answer)
    }
}

impl Handler<RetainKeys> for SessionHub {
    type Result = ResponseFuture<usize>;

    fn handle(&mut self, message: RetainKeys, _: &mut Context<Self>) -> Self::Result {
        let (sender, answer) = oneshot::channel();
        let targets = &mut self.disconnect_scan.next.projects;
        let target = targets.entry(message.project.clone()).or_insert_with(|| Target::new(message.clone()));
        // The keys of the latest request hold.
        target.request = message;
        target.answers.push(sender);
        count(answer)
    }
}
