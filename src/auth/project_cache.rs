//! The cache of projects with their prepared keys. `lookup_cache.rs` defines how long an entry is valid.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use actors::counters::Counter;
use actors::fingerprint::{Fingerprint64, Fingerprints};

use super::compact::CompactToken;
use super::lookup_cache::{LookupCache, Unavailable};
use super::verifier::Verifier;
use super::{Clock, TokenError};
use crate::catalogue::{Catalogue, Key, KeyMaterial, KeyUse, Project, ProjectName};

/// Maximum cached names, including unknown ones. At a few hundred bytes each they take about a megabyte.
const MAX_PROJECTS: usize = 4_096;
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

/// The cache of projects.
pub(super) struct ProjectCache {
    catalogue: Arc<dyn Catalogue>,
    cache: LookupCache<ProjectName, Arc<PreparedProject>>,
    fingerprints: Fingerprints,
    failed_lookups: Arc<Counter>,
}

impl ProjectCache {
    pub fn new(catalogue: Arc<dyn Catalogue>, clock: Arc<dyn Clock>, max_age: Duration) -> Self {
        let failed_lookups = Arc::default();
        let cache = LookupCache::new(MAX_PROJECTS, max_age, clock, Arc::clone(&failed_lookups));
        ProjectCache { catalogue, cache, fingerprints: Fingerprints::default(), failed_lookups }
    }

    /// Whether the catalogue has been reached since the start.
    pub fn is_ready(&self) -> bool {
        self.catalogue.is_ready()
    }

    /// Counts failed lookups.
    pub fn failed_lookups(&self) -> Arc<Counter> {
        Arc::clone(&self.failed_lookups)
    }

    /// The project as it was at most `catalogue.cache_seconds` ago.
    ///
    /// # Errors
    /// [`TokenError::UnknownProject`], [`TokenError::InactiveProject`], or [`TokenError::Unavailable`] if the catalogue
    /// fails and no answer is cached.
    pub async fn project(&self, name: &ProjectName) -> Result<Arc<PreparedProject>, TokenError> {
        let found = self.find(name).await.map_err(|Unavailable| TokenError::Unavailable)?;
        let found = found.ok_or(TokenError::UnknownProject)?;
        if found.project.active { Ok(found) } else { Err(TokenError::InactiveProject) }
    }

    /// The fingerprints of the project's keys, as they are in the catalogue.
    ///
    /// # Errors
    /// [`TokenError::Unavailable`] if the catalogue fails, even if an answer is cached.
    pub async fn active_keys(&self, name: &ProjectName) -> Result<ActiveKeys, TokenError> {
        let found = self.find(name).await.map_err(|Unavailable| TokenError::Unavailable)?;
        if self.cache.is_stale(name) {
            return Err(TokenError::Unavailable);
        }
        let found = found.filter(|found| found.project.active);
        Ok(found.map_or_else(ActiveKeys::default, |found| found.active_keys()))
    }

    /// Expires a project, or all for `None`: it is looked up again before its next use.
    pub fn expire(&self, name: Option<&ProjectName>) {
        self.cache.expire(|cached| name.is_none_or(|name| name == cached));
    }

    /// The cached projects.
    pub fn names(&self) -> Vec<ProjectName> {
        self.cache.names()
    }

    /// The fingerprint of an application of a project.
    pub fn application(&self, project: &ProjectName, name: &str) -> Fingerprint64 {
        self.fingerprints.of(|hasher| ("application", project.as_str(), name).hash(hasher)).into()
    }

    async fn find(&self, name: &ProjectName) -> Result<Option<Arc<PreparedProject>>, Unavailable> {
        let look_up = async |before| {
            let found = self.catalogue.project(name).await?;
            Ok(found.map(|project| self.prepare_or_reuse(project, before)))
        };
        self.cache.find(name, look_up).await
    }

    /// Reuses the previous value if nothing has changed, so that cached tokens of the project stay valid.
    fn prepare_or_reuse(&self, project: Project, before: Option<Arc<PreparedProject>>) -> Arc<PreparedProject> {
        match before {
            Some(before) if before.project == project => before,
            _ => Arc::new(PreparedProject::new(project, &self.fingerprints)),
        }
    }
}

impl PreparedProject {
    fn new(project: Project, fingerprints: &Fingerprints) -> Self {
        PreparedProject {
            api_keys: prepare_keys(&project, KeyUse::Api, fingerprints),
            user_keys: prepare_keys(&project, KeyUse::User, fingerprints),
            project,
        }
    }

    fn active_keys(&self) -> ActiveKeys {
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
