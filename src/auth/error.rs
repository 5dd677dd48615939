//! Why a token is refused, in words that say what to do and never repeat the token.

use actors::protocol::codes::ErrorCode;
use thiserror::Error;

use super::Scope;
use crate::catalogue::KeyUse;

/// Why a token is refused. Holds nothing of the token, so it may be logged and told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// There is no token where one is needed.
    #[error("missing: {}", how_to_send(*.0))]
    Missing(KeyUse),
    /// Not a signed JWT in compact form within the bounds (RFC 7515 §3.1).
    #[error(
        "not a well-formed signed JWT: send three base64url parts without padding, 8 KiB at most, with a JSON header and JSON claims"
    )]
    Malformed,
    #[error("expired: ask for a new token")]
    Expired,
    #[error("not valid yet: wait for its nbf, or set the issuer's clock right")]
    NotYetValid,
    #[error("the signature is wrong: sign with the project's key for this use")]
    BadSignature,
    /// No active key of this use fits: the `kid` names none, or without one no key has the header's algorithm.
    #[error("no active key of the project fits: name a key of this use in the header's kid")]
    UnknownKey,
    #[error("the header's alg is not the key's algorithm: sign with the algorithm of the key")]
    AlgorithmMismatch,
    #[error("the project in its claims does not exist here: make the project, or mend the claim")]
    UnknownProject,
    #[error("the project in its claims is disabled: enable it, or use another project")]
    InactiveProject,
    /// The token is of another project than the one that it is used with.
    #[error("of another project: use a token of this project")]
    ProjectMismatch,
    /// The API token may not do this.
    #[error("without the scope {0}: ask for a token with it")]
    Scope(Scope),
    /// A claim is not what it must be; the text says which and what.
    #[error("{0}")]
    Claims(&'static str),
    /// The project's keys can't be read now; the token may be good.
    #[error("can't be checked now: try again in a few seconds")]
    Unavailable,
}

fn how_to_send(token: KeyUse) -> &'static str {
    match token {
        KeyUse::Api => {
            "send it as the header x-am-authorization; with a WebSocket also as that query parameter or as the subprotocol api.TOKEN"
        }
        KeyUse::User => {
            "send it as the header x-am-user-authorization; with a WebSocket also as that query parameter or as the subprotocol user.TOKEN"
        }
    }
}

impl TokenError {
    /// The code that a client or a backend is told.
    pub const fn code(&self) -> ErrorCode {
        match self {
            TokenError::Missing(_) => ErrorCode::TokenMissing,
            TokenError::Expired => ErrorCode::TokenExpired,
            TokenError::Scope(_) => ErrorCode::TokenScope,
            TokenError::ProjectMismatch => ErrorCode::ProjectMismatch,
            TokenError::Unavailable => ErrorCode::TemporarilyUnavailable,
            TokenError::Malformed
            | TokenError::NotYetValid
            | TokenError::BadSignature
            | TokenError::UnknownKey
            | TokenError::AlgorithmMismatch
            | TokenError::UnknownProject
            | TokenError::InactiveProject
            | TokenError::Claims(_) => ErrorCode::TokenInvalid,
        }
    }

    /// The text that goes with [`code`](Self::code), naming which of the two tokens is meant.
    pub fn message(&self, token: KeyUse) -> String {
        match token {
            KeyUse::Api => format!("API token: {self}"),
            KeyUse::User => format!("user token: {self}"),
        }
    }
}
