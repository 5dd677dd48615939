//! The debug lines that follow one session from its handshake to its close.
//!
//! Each line has the session id that the client has from `CONNECTED`. Tokens, conditions and event data are in none of
//! them, and text from outside is shortened. Nothing is formatted while the level is off.

use super::request::{PendingAnswer, PendingUnregister, SubscribeResult};
use super::{RefreshResult, Session, SessionContext};
use crate::counters::Limit;
use crate::protocol::codes::ErrorCode;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

/// Maximum length of text from outside in one field, in characters.
const TEXT_CHARACTERS: usize = 100;

/// Maximum number of entries of a list in one field.
const LIST_ENTRIES: usize = 20;

/// The user, the application and the address of a session, in plain text. A session itself keeps fingerprints only.
pub struct ClientIdentity {
    pub user: Box<str>,
    pub application: Box<str>,
    pub address: Option<SocketAddr>,
}

/// The party or rule that ended a session.
#[derive(Clone, Debug)]
pub enum ClosedBy {
    /// The peer sent a close frame, or its connection ended.
    Peer,
    /// The peer broke the WebSocket protocol.
    ProtocolError,
    Limit(Limit),
    /// An application called disconnect-user.
    Application(Arc<str>),
    /// The key of a token was revoked, or the project disabled.
    RevokedKey,
    TokenExpiry,
    /// The handshake's tokens were refused.
    RefusedTokens,
    /// The peer did not answer pings.
    Silence,
    NodeStop,
}

impl ClosedBy {
    /// The name of the party or rule, and its detail, if it has one.
    fn fields(&self) -> (&'static str, &str) {
        match self {
            ClosedBy::Peer => ("peer", ""),
            ClosedBy::ProtocolError => ("protocol error", ""),
            ClosedBy::Limit(limit) => ("limit", limit.as_str()),
            ClosedBy::Application(application) => ("application", application),
            ClosedBy::RevokedKey => ("revoked key", ""),
            ClosedBy::TokenExpiry => ("token expiry", ""),
            ClosedBy::RefusedTokens => ("refused tokens", ""),
            ClosedBy::Silence => ("silence", ""),
            ClosedBy::NodeStop => ("node stop", ""),
        }
    }
}

/// Whether the lines of sessions are logged.
pub fn is_enabled() -> bool {
    log::log_enabled!(log::Level::Debug)
}

/// The beginning of a text from outside.
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(TEXT_CHARACTERS) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}

/// The first entries of a list.
fn listed(entries: &[String]) -> String {
    let mut list = entries.iter().take(LIST_ENTRIES).map(|entry| shortened(entry)).collect::<Vec<_>>().join(",");
    if entries.len() > LIST_ENTRIES {
        list += &format!(",… {} more", entries.len() - LIST_ENTRIES);
    }
    list
}

impl Session {
    fn id_and_user<'a>(&self, ctx: &'a SessionContext) -> (String, Cow<'a, str>) {
        let user = ctx.identities.get(&self.reference).map_or("".into(), |identity| shortened(&identity.user));
        (self.reference.public_id(&ctx.settings.node), user)
    }

    pub(super) fn log_connected(&self, ctx: &SessionContext) {
        if is_enabled() {
            let (session, user) = self.id_and_user(ctx);
            let identity = ctx.identities.get(&self.reference);
            let application = identity.map_or("".into(), |identity| shortened(&identity.application));
            let address = identity.and_then(|identity| identity.address).map(|address| address.to_string());
            let (project, address) = (self.grant.project.as_ref(), address.unwrap_or_default());
            log::debug!(session, project, user:%, application:%, address; "a session has connected");
        }
    }

    pub(super) fn log_register(&self, answer: &PendingAnswer, results: &[SubscribeResult], ctx: &SessionContext) {
        if is_enabled() {
            let (session, user) = self.id_and_user(ctx);
            let (accepted, refused) = answer.names(results);
            let (accepted, refused) = (listed(&accepted), listed(&refused));
            log::debug!(session, user:%, accepted, refused; "REGISTER");
        }
    }

    pub(super) fn log_unregister(&self, answer: &PendingUnregister, ctx: &SessionContext) {
        if is_enabled() {
            let (session, user) = self.id_and_user(ctx);
            let (removed, refused) = (listed(&answer.event_ids()), answer.invalid.len());
            log::debug!(session, user:%, removed, refused; "UNREGISTER");
        }
    }

    /// `message` is the type of the answer.
    pub(super) fn log_refused_message(&self, message: &'static str, code: ErrorCode, ctx: &SessionContext) {
        if is_enabled() {
            let (session, user) = self.id_and_user(ctx);
            log::debug!(session, user:%, message_type = message, code = code.as_str(); "a message was refused");
        }
    }

    pub(super) fn log_refresh(&self, result: &RefreshResult, expires_at: u64, ctx: &SessionContext) {
        if is_enabled() {
            let (session, user) = self.id_and_user(ctx);
            let address = ctx.identities.get(&self.reference).and_then(|identity| identity.address);
            let address = address.map(|address| address.to_string()).unwrap_or_default();
            match result {
                Ok(_) => log::debug!(session, user:%, address, expires_at; "REFRESH"),
                Err(error) => {
                    log::debug!(session, user:%, address, code = error.code.as_str(); "REFRESH: a token was refused")
                }
            }
        }
    }

    /// Sessions whose tokens were refused at the handshake have a line there, and none here.
    pub(super) fn log_close(&self, code: u16, reason: &'static str, by: &ClosedBy, ctx: &SessionContext) {
        if is_enabled() && !self.is_unauthenticated {
            let (session, user) = self.id_and_user(ctx);
            let (by, detail) = by.fields();
            log::debug!(session, user:%, code, reason, by, detail:% = shortened(detail); "a session is closed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_shortened_between_characters() {
        assert_eq!(shortened("orders"), "orders");
        let long = "ä".repeat(TEXT_CHARACTERS + 1);
        assert_eq!(shortened(&long), "ä".repeat(TEXT_CHARACTERS) + "…");
    }

    #[test]
    fn a_long_list_says_how_many_entries_are_missing() {
        let entries: Vec<String> = (0..LIST_ENTRIES + 2).map(|number| number.to_string()).collect();
        assert!(listed(&entries).ends_with(",19,… 2 more"));
        assert_eq!(listed(&entries[..2]), "0,1");
    }
}
