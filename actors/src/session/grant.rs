//! What the tokens of a session were good for, as far as it must be remembered: enough to compare, nothing to leak.

use crate::fingerprint::{Fingerprint, Fingerprint64};
use std::sync::Arc;

/// What the tokens of a session say.
#[derive(Clone, Debug)]
pub struct Grant {
    pub project: Arc<str>,
    /// The user, as a fingerprint of (project, `sub`): enough to compare, nothing to leak.
    pub user: Fingerprint,
    pub api: ApiGrant,
    pub user_token: UserGrant,
}

/// What an API token is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApiGrant {
    /// The application that it names.
    pub application: Fingerprint64,
    /// The key that signed it.
    pub key: Fingerprint64,
    /// Its end, in Unix seconds.
    pub expires_at: Option<u64>,
}

/// What a user token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserGrant {
    /// The key that signed it.
    pub key: Fingerprint64,
    /// Its end, in Unix seconds.
    pub expires_at: u64,
}

impl Grant {
    /// What refused tokens are good for: being told so.
    pub fn nobody() -> Grant {
        let user_token = UserGrant { key: Fingerprint64::default(), expires_at: u64::MAX };
        Grant { project: "".into(), user: Fingerprint::default(), api: ApiGrant::default(), user_token }
    }

    /// When the session ends: the earlier end of its two tokens, in Unix seconds.
    pub fn expires_at(&self) -> u64 {
        self.api.expires_at.map_or(self.user_token.expires_at, |api| api.min(self.user_token.expires_at))
    }
}
