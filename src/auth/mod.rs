//! Who is calling, and what they may do: verifies the two tokens of the protocol (docs/protocol.md, section 2), signs them
//! for the command line, and says which events an application may use (`event_rules`).
//!
//! A token's way in: `compact` (text to parts) → `project_cache` (the project that it names, with prepared keys) →
//! `verifier` (signature) → `claims` (what it says). Nothing a token says is believed before its signature, but for the
//! name of the project in which to look for the key. Must never know HTTP, sessions or a database; no error or log
//! line here holds any part of a token or a key.

mod authenticator;
mod claims;
mod clock;
mod compact;
mod error;
mod event_rules;
mod issue;
mod lookup_cache;
mod numeric_date;
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
pub use project_cache::ActiveKeys;
pub use scope::{Scope, ScopeError, Scopes};
pub use verifier::{UnusableKey, check_key};

/// The longest token in bytes: headers of most servers end there, and it bounds the work before a signature is known to be good.
pub const MAX_TOKEN_BYTES: usize = 8_192;
/// The longest `sub` (an application's name or a user's id) in bytes: each session holds one.
pub const MAX_SUBJECT_BYTES: usize = 256;
