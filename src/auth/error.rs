//! The reasons to refuse a token. Each text says what to do and never repeats the token.

use actors::protocol::codes::ErrorCode;
use thiserror::Error;

use super::Scope;
use crate::catalogue::KeyUse;

/// Why a token is refused. It holds nothing of the token, so it may be logged and sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// A required token is missing.
    #[error("missing: {}", how_to_send(*.0))]
    Missing(KeyUse),
    /// Not a signed JWT in compact form within the bounds (RFC 7515 §3.1).
    #[error(
        "not a well-formed signed JWT: send three base64url parts without padding, at most 8 KiB, with a JSON header and JSON claims"
    )]
    Malformed,
    #[error("expired: ask for a new token")]
    Expired,
    #[error("not valid yet: wait for its nbf, or correct the issuer's clock")]
    NotYetValid,
    #[error("the signature is wrong: sign with the project's key for this use")]
    BadSignature,
    /// No active key of this use matches: the `kid` names none or, without `kid`, no key has the header's algorithm.
    #[error("no active key of the project matches: name a key of this use in the header's kid")]
    UnknownKey,
    #[error("the header's alg is not the key's algorithm: sign with the algorithm of the key")]
    AlgorithmMismatch,
    #[error("the project in its claims does not exist here: add the project, or correct the claim")]
    UnknownProject,
    #[error("the project in its claims is disabled: enable it, or use another project")]
    InactiveProject,
    /// The token belongs to another project than the one that it is used with.
    #[error("belongs to another project: use a token of this project")]
    ProjectMismatch,
    /// The API token does not have the required scope.
    #[error("does not have the scope {0}: ask for a token with it")]
    Scope(Scope),
    /// A claim is invalid. The text names it and its type.
    #[error("{0}")]
    Claims(&'static str),
    /// The project's keys cannot be read now. The token may be valid.
    #[error("cannot be checked now: try again in a few seconds")]
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
    /// The error code for the client or the backend.
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

    /// The text for [`code`](Self::code). It names the token.
    pub fn message(&self, token: KeyUse) -> String {
        match token {
            KeyUse::Api => format!("API token: {self}"),
            KeyUse::User => format!("user token: {self}"),
        }
    }
}
