//! A project with prepared keys, which check the signatures of tokens.

use std::hash::Hash;

use actors::fingerprint::{Fingerprint64, Fingerprints};

use super::TokenError;
use super::compact::CompactToken;
use super::verifier::Verifier;
use crate::catalogue::{Key, KeyMaterial, KeyUse, Project, ProjectName};

/// Maximum active keys of one use in a project. A token without `kid` is tried with each.
const MAX_KEYS_OF_A_USE: usize = 16;

/// A project with prepared keys. It is replaced only if something in the project has changed.
pub(super) struct PreparedProject {
    pub project: Project,
    api_keys: Vec<Verifier>,
    user_keys: Vec<Verifier>,
}

/// The fingerprints of a project's active keys. A session may go on only if they signed its tokens. An inactive project
/// has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActiveKeys {
    pub api: Vec<Fingerprint64>,
    pub user: Vec<Fingerprint64>,
}

impl PreparedProject {
    /// Prepares the keys of a project.
    pub fn new(project: Project, fingerprints: &Fingerprints) -> Self {
        PreparedProject {
            api_keys: prepare_keys(&project, KeyUse::Api, fingerprints),
            user_keys: prepare_keys(&project, KeyUse::User, fingerprints),
            project,
        }
    }

    /// The fingerprints of its active keys.
    pub fn active_keys(&self) -> ActiveKeys {
        let fingerprints = |keys: &[Verifier]| keys.iter().map(|key| key.fingerprint).collect();
        ActiveKeys { api: fingerprints(&self.api_keys), user: fingerprints(&self.user_keys) }
    }

    /// Checks that an active key of this use signed the token with its own algorithm. Returns the key's fingerprint.
    pub fn check_signature(&self, key_use: KeyUse, token: &CompactToken<'_>) -> Result<Fingerprint64, TokenError> {
        let keys = match key_use {
            KeyUse::Api => &self.api_keys,
            KeyUse::User => &self.user_keys,
        };
        match &token.key_id {
            Some(key_id) => check_named_key(keys, key_id, token),
            None => check_each_key(keys, token),
        }
    }
}

fn check_named_key(keys: &[Verifier], key_id: &str, token: &CompactToken<'_>) -> Result<Fingerprint64, TokenError> {
    let key = keys.iter().find(|key| key.key_id == key_id).ok_or(TokenError::UnknownKey)?;
    if key.algorithm != token.algorithm {
        return Err(TokenError::AlgorithmMismatch);
    }
    if key.verifies(token) { Ok(key.fingerprint) } else { Err(TokenError::BadSignature) }
}

fn check_each_key(keys: &[Verifier], token: &CompactToken<'_>) -> Result<Fingerprint64, TokenError> {
    let mut refusal = TokenError::UnknownKey;
    for key in keys.iter().filter(|key| key.algorithm == token.algorithm) {
        if key.verifies(token) {
            return Ok(key.fingerprint);
        }
        refusal = TokenError::BadSignature;
    }
    Err(refusal)
}

fn prepare_keys(project: &Project, key_use: KeyUse, fingerprints: &Fingerprints) -> Vec<Verifier> {
    let active = |key: &&Key| key.active && key.key_use == key_use;
    let count = project.keys.iter().filter(active).count();
    if count > MAX_KEYS_OF_A_USE {
        log::warn!(
            project:% = project.name, key_use = key_use.as_str(), keys = count, used = MAX_KEYS_OF_A_USE;
            "a project has too many active keys; only the first are used"
        );
    }
    project
        .keys
        .iter()
        .filter(active)
        .take(MAX_KEYS_OF_A_USE)
        .filter_map(|key| prepare_key(&project.name, key, fingerprints))
        .collect()
}

fn prepare_key(project: &ProjectName, key: &Key, fingerprints: &Fingerprints) -> Option<Verifier> {
    Verifier::prepare(key, fingerprint(project, key, fingerprints))
        .inspect_err(|cause| log::warn!(project:%, key = key.id, cause:%; "a key cannot be used"))
        .ok()
}

/// The fingerprint of a key. It changes if anything in the key changes.
fn fingerprint(project: &ProjectName, key: &Key, fingerprints: &Fingerprints) -> Fingerprint64 {
    let material = match &key.material {
        KeyMaterial::Secret(secret) => secret.as_slice(),
        KeyMaterial::PublicPem(pem) => pem.as_bytes(),
    };
    let facts = ("key", project.as_str(), &key.id, key.key_use, key.algorithm, material);
    fingerprints.of(|hasher| facts.hash(hasher)).into()
}
