//! Answers the messages of a client: REGISTER, UNREGISTER, REFRESH (docs/protocol.md §4).

use super::life_log::ClosedBy;
use super::request::{self, PendingAnswer, Registration};
use super::request::{PendingUnregister, Request};
use super::{RefreshRequest, Session, SessionContext};
use crate::counters::Limit;
use crate::protocol::codes::{CloseCode, ErrorCode};
use crate::protocol::frame::{self, Event};
use crate::protocol::messages::{self, ClientMessage, ErrorBody, EventId};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;

const SUBSCRIPTIONS_FULL: &str = "the session has as many subscriptions as the node allows: unregister some";

/// Sends CONNECTED.
pub fn on_open(session: &mut Session, ctx: &mut SessionContext) {
    session.log_connected(ctx);
    let session_id = session.reference.public_id(&ctx.settings.node);
    let greeting = messages::connected(&session_id, &ctx.settings.node, ctx.settings.ping_seconds);
    session.queue(frame::text_frame(&greeting), ctx);
}

/// Answers one message.
pub fn on_client_message(session: &mut Session, message: Event<'_>, ctx: &mut SessionContext) {
    let Event::Text(text) = message else {
        return session.close(CloseCode::Unsupported, ClosedBy::ProtocolError, ctx);
    };
    match messages::read_client_message(text) {
        Ok(ClientMessage::Register { guid, entries }) => {
            let start = processor_time();
            register(session, guid.as_deref(), &entries, ctx);
            charge(session, processor_time().saturating_sub(start), ctx);
        }
        Ok(ClientMessage::Unregister { guid, entries }) => unregister(session, guid.as_deref(), &entries, ctx),
        Ok(ClientMessage::Refresh { guid, api, user }) => refresh(session, guid, api, user, ctx),
        Err(refusal) => {
            session.log_refused_message(refusal.answer_type, refusal.error.code, ctx);
            let guid = refusal.guid.as_deref();
            let write = if refusal.has_lists() { messages::refused_lists } else { messages::errors };
            session.queue_json(&write(refusal.answer_type, guid, &refusal.error), ctx);
        }
    }
}

/// The processor time of this thread. With wall-clock time, a client on a busy machine would pay for the work of
/// others.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // It is never negative, because it counts from the start of the thread.
    Duration::try_from(time).unwrap_or_default()
}

/// Limits the processor time of REGISTERs per session: patterns are expensive to compile, even refused ones.
fn charge(session: &mut Session, spent: Duration, ctx: &mut SessionContext) {
    session.register_time = session.register_time.saturating_add(u32::try_from(spent.as_micros()).unwrap_or(u32::MAX));
    if session.register_time > ctx.settings.register_milliseconds.saturating_mul(1_000) {
        ctx.counters.count_limit(Limit::RegisterMilliseconds);
        session.close(CloseCode::TooManyMessages, ClosedBy::Limit(Limit::RegisterMilliseconds), ctx);
    }
}

fn register(session: &mut Session, guid: Option<&str>, entries: &[&RawValue], ctx: &mut SessionContext) {
    // A message with more entries than a session may ever have is refused as a whole, so the answer stays small.
    if entries.len() > ctx.settings.subscriptions {
        ctx.counters.count_limit(Limit::Subscriptions);
        let error = ErrorBody::new(ErrorCode::TooManySubscriptions, SUBSCRIPTIONS_FULL);
        session.log_refused_message("REGISTER", error.code, ctx);
        return session.queue_json(&messages::refused_lists("REGISTER", guid, &error), ctx);
    }
    let mut registration = Registration {
        session: session.reference,
        project: session.grant.project.clone(),
        specs: Vec::with_capacity(entries.len()),
        answer: PendingAnswer::new(guid),
    };
    for entry in entries {
        let has_room = session.subscriptions.len() + registration.specs.len() < ctx.settings.subscriptions;
        match session.subscriptions.next_event_id().filter(|_| has_room) {
            Some(id) => request::add_entry(&mut registration, entry, id),
            None => {
                ctx.counters.count_limit(Limit::Subscriptions);
                registration
                    .answer
                    .refuse(entry.get(), &ErrorBody::new(ErrorCode::TooManySubscriptions, SUBSCRIPTIONS_FULL));
            }
        }
    }
    if registration.specs.is_empty() {
        session.answer_register(registration.answer, &[], ctx);
    } else {
        session.subscriptions.note_pending(registration.specs.len());
        ctx.requests.push(Request::Subscribe(registration));
    }
}

fn unregister(session: &mut Session, guid: Option<&str>, entries: &[&RawValue], ctx: &mut SessionContext) {
    if entries.len() > ctx.settings.subscriptions {
        let error = ErrorBody::new(ErrorCode::NotRegistered, "a session never has that many subscriptions");
        session.log_refused_message("UNREGISTER", error.code, ctx);
        return session.queue_json(&messages::refused_lists("UNREGISTER", guid, &error), ctx);
    }
    let mut answer = PendingUnregister { guid: guid.map(Box::from), valid: Vec::new(), invalid: Vec::new() };
    let mut ids = Vec::new();
    for entry in entries {
        match read_event_id(entry.get()).and_then(|id| session.subscriptions.remove(id)) {
            Some(id) => {
                ids.push(id);
                answer.valid.push(entry.get().to_owned());
            }
            None => {
                let error = ErrorBody::new(ErrorCode::NotRegistered, "eventId names no subscription of this session");
                answer.invalid.push(messages::extend_entry(entry.get(), &messages::error_member(&error)));
            }
        }
    }
    if ids.is_empty() {
        session.answer_unregister(&answer, ctx);
    } else {
        // The registry answers, after everything that it sent before.
        ctx.requests.push(Request::Unsubscribe { session: session.reference, ids, answer: Some(Box::new(answer)) });
    }
}

/// Reads the `eventId` of an entry.
pub(super) fn read_event_id(entry: &str) -> Option<EventId> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "eventId")]
        event_id: &'a RawValue,
    }
    let named: Named<'_> = messages::read_object(entry)?;
    let text = messages::read_string(named.event_id)?;
    let id: u32 = text.parse().ok()?;
    // An id has one spelling: "+7" and "007" are not ids.
    (id.to_string() == text).then_some(EventId(id))
}

type Text<'a> = std::borrow::Cow<'a, str>;

fn refresh(
    session: &mut Session,
    guid: Option<Text<'_>>,
    api: Option<Text<'_>>,
    user: Option<Text<'_>>,
    ctx: &mut SessionContext,
) {
    if api.is_none() && user.is_none() {
        let error = ErrorBody::new(ErrorCode::TokenMissing, "send at least one of the two tokens");
        session.log_refused_message("REFRESH", error.code, ctx);
        return session.queue_json(&messages::errors("REFRESH", guid.as_deref(), &error), ctx);
    }
    ctx.refreshes.push(RefreshRequest {
        session: session.reference,
        guid: guid.as_deref().map(Box::from),
        project: session.grant.project.clone(),
        user: session.grant.user,
        api: api.as_deref().map(Box::from),
        user_token: user.as_deref().map(Box::from),
    });
}

impl Session {
    /// Queues a text message.
    pub(super) fn queue_json(&mut self, payload: &[u8], ctx: &mut SessionContext) {
        self.queue(frame::text_frame(payload), ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_of_other_threads_is_not_charged() {
        let start = processor_time();
        let others = std::thread::spawn(|| while processor_time() < Duration::from_millis(50) {});
        others.join().expect("the thread ends by itself");
        assert!(processor_time().saturating_sub(start) < Duration::from_millis(40));
    }

    #[test]
    fn the_work_of_this_thread_is_charged() {
        let start = processor_time();
        while processor_time() == start {}
    }
}
