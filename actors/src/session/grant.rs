//! What the tokens of a session allow. Users and keys are fingerprints: they can be compared, and nothing can leak.

use crate::fingerprint::{Fingerprint, Fingerprint64};
use std::sync::Arc;

/// What both tokens of a session allow.
#[derive(Clone, Debug)]
pub struct Grant {
    pub project: Arc<str>,
    /// The user, as a fingerprint of (project, `sub`).
    pub user: Fingerprint,
    pub api: ApiGrant,
    pub user_token: UserGrant,
}

/// What an API token allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApiGrant {
    /// The application that it names.
    pub application: Fingerprint64,
    /// The key that signed it.
    pub key: Fingerprint64,
    /// Its end, in Unix seconds.
    pub expires_at: Option<u64>,
}

/// What a user token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserGrant {
    /// The key that signed it.
    pub key: Fingerprint64,
    /// Its end, in Unix seconds.
    pub expires_at: u64,
}

impl Grant {
    /// The grant of a session whose tokens were refused.
    pub fn none() -> Grant {
        let user_token = UserGrant { key: Fingerprint64::default(), expires_at: u64::MAX };
        Grant { project: "".into(), user: Fingerprint::default(), api: ApiGrant::default(), user_token }
    }

    /// When the session expires: the earlier expiry of its two tokens, in Unix seconds.
    pub fn expires_at(&self) -> u64 {
        self.api.expires_at.map_or(self.user_token.expires_at, |api| api.min(self.user_token.expires_at))
    }
}
