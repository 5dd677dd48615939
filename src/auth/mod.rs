//! Authentication and permissions: verifies the two tokens of the protocol (docs/protocol.md, section 2), signs tokens
//! for the command line, and checks which events an application may use (`event_rules`).
//!
//! The steps of a verification: `compact` (text to parts) → `project_cache` (the project with prepared keys) →
//! `verifier` (signature) → `claims`. Before the signature is checked, no claim is trusted. Only the project's name is
//! used, to find the key. This module does not know HTTP, sessions or databases. No error or log line here holds any
//! part of a token or a key.

mod authenticator;
mod claims;
mod clock;
mod compact;
mod error;
mod event_rules;
mod issue;
mod lookup_cache;
mod numeric_date;
mod prepared_project;
mod project_cache;
mod scope;
mod verifier;

#[cfg(test)]
mod tests;

pub use authenticator::{ApiToken, Authenticator, UserToken};
pub use clock::{Clock, SystemClock};
pub use compact::decode_unverified;
pub use error::TokenError;
pub use event_rules::{EventError, EventUse};
pub use issue::{IssueError, issue_api, issue_both, issue_user};
pub use prepared_project::ActiveKeys;
pub use scope::{Scope, ScopeError, Scopes};
pub use verifier::{UnusableKey, check_key};

/// The longest token in bytes. Most servers have this limit for headers, and it bounds the work for unverified tokens.
pub const MAX_TOKEN_BYTES: usize = 8_192;
/// The longest `sub` (an application's name or a user's id) in bytes. Each session stores one.
pub const MAX_SUBJECT_BYTES: usize = 256;
