//! Handles the answers of the registry and of the authorizer.

use super::context::RefreshResult;
use super::request::{PendingAnswer, SubscribeResult};
use super::request::{PendingUnregister, Request};
use super::{Phase, Session, SessionContext};
use crate::protocol::messages;
use actix::prelude::*;

/// The registry's answer to a REGISTER.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Subscribed {
    pub results: Vec<SubscribeResult>,
    pub answer: PendingAnswer,
}

/// The number of entries of a REGISTER that the authorizer refused.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Refused(pub usize);

/// The answer to a REGISTER whose entries were all refused by the authorizer.
#[derive(Message)]
#[rtype(result = "()")]
pub struct RegisterAnswered(pub PendingAnswer);

/// The registry has removed subscriptions.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Unsubscribed(pub PendingUnregister);

/// The authorizer's answer to a REFRESH.
#[derive(Message)]
#[rtype(result = "()")]
pub struct TokensVerified {
    pub guid: Option<Box<str>>,
    pub result: RefreshResult,
}

impl Handler<Subscribed> for Session {
    type Result = ();

    fn handle(&mut self, message: Subscribed, ctx: &mut SessionContext) {
        self.subscriptions.note_answered(message.results.len());
        for (event, result) in message.answer.event_ids().zip(&message.results) {
            if let Ok(id) = result {
                self.subscriptions.insert(event, *id);
            }
        }
        if self.phase == Phase::Open {
            self.answer_register(message.answer, &message.results, ctx);
        } else {
            // The session is closing, so it gives up its new subscriptions too.
            self.release_subscriptions(ctx);
        }
    }
}

impl Handler<Refused> for Session {
    type Result = ();

    fn handle(&mut self, message: Refused, _: &mut SessionContext) {
        self.subscriptions.note_answered(message.0);
    }
}

impl Handler<RegisterAnswered> for Session {
    type Result = ();

    fn handle(&mut self, message: RegisterAnswered, ctx: &mut SessionContext) {
        self.answer_register(message.0, &[], ctx);
    }
}

impl Handler<Unsubscribed> for Session {
    type Result = ();

    fn handle(&mut self, message: Unsubscribed, ctx: &mut SessionContext) {
        self.answer_unregister(&message.0, ctx);
    }
}

impl Handler<TokensVerified> for Session {
    type Result = ();

    fn handle(&mut self, message: TokensVerified, ctx: &mut SessionContext) {
        let guid = message.guid.as_deref();
        match &message.result {
            Ok(refreshed) => {
                self.grant.api = refreshed.api.unwrap_or(self.grant.api);
                self.grant.user_token = refreshed.user.unwrap_or(self.grant.user_token);
                let expires_at = self.grant.expires_at();
                if expires_at < self.due_at {
                    ctx.expiring.push(self.reference);
                }
                self.log_refresh(&message.result, expires_at, ctx);
                self.queue_json(&messages::refreshed(guid, expires_at), ctx);
            }
            Err(error) => {
                self.log_refresh(&message.result, self.due_at, ctx);
                self.queue_json(&messages::errors("REFRESH", guid, error), ctx);
            }
        }
    }
}

impl Session {
    /// Answers a REGISTER. `results` are those of the entries that the registry was asked about.
    pub(super) fn answer_register(
        &mut self,
        answer: PendingAnswer,
        results: &[SubscribeResult],
        ctx: &mut SessionContext,
    ) {
        self.log_register(&answer, results, ctx);
        self.queue_json(&answer.write(results), ctx);
    }

    /// Answers an UNREGISTER.
    pub(super) fn answer_unregister(&mut self, answer: &PendingUnregister, ctx: &mut SessionContext) {
        self.log_unregister(answer, ctx);
        self.queue_json(&answer.write(), ctx);
    }
}

/// Removes the new subscriptions of a session that no longer exists. The hub calls this.
pub fn release_orphans(session: crate::ids::SessionRef, results: &[SubscribeResult], ctx: &mut SessionContext) {
    let ids: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok().copied()).collect();
    if !ids.is_empty() {
        ctx.requests.push(Request::Unsubscribe { session, ids, answer: None });
    }
}
