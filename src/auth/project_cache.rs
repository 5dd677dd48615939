//! Projects with their keys made ready, kept for `catalogue.cache_seconds`.
//!
//! Bounded in number, so that tokens with made-up projects can't grow memory; such a name is remembered as unknown for a
//! short while, so that they can't keep the catalogue busy either. Callers that miss the same project at once share one look-up.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actors::counters::Counter;
use quick_cache::sync::Cache;

use super::compact::CompactToken;
use super::verifier::Verifier;
use super::{Clock, TokenError};
use crate::catalogue::{Catalogue, Key, KeyUse, Project, ProjectName};

/// Names held at once, known and unknown ones: at a few hundred bytes each about a megabyte.
const MAX_PROJECTS: usize = 4_096;
/// Keys of one use that a project may have active: without `kid` a token is tried with each.
const MAX_KEYS_OF_A_USE: usize = 16;
/// How long a name stays unknown: a project made on the command line works after that.
const UNKNOWN_AGE: Duration = Duration::from_secs(2);
/// How long after a failed look-up what is held goes on serving, until the next look-up.
const RETRY_AGE: Duration = Duration::from_secs(1);

/// A project and its keys, made ready. A new one is made only when something in the project changed.
pub(super) struct PreparedProject {
    pub project: Project,
    api_keys: Vec<Verifier>,
    user_keys: Vec<Verifier>,
}

/// The cache over the catalogue.
pub(super) struct ProjectCache {
    catalogue: Arc<dyn Catalogue>,
    clock: Arc<dyn Clock>,
    max_age: Duration,
    slots: Cache<ProjectName, Arc<Slot>>,
    failed_look_ups: Arc<Counter>,
}

/// One name's place.
#[derive(Default)]
struct Slot {
    held: RwLock<Option<Held>>,
    /// Look-ups that failed with nothing held.
    failures: AtomicU64,
    /// Whoever has it looks the name up; the others wait for the answer. Guards no data.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Held {
    /// `None`: there is no such project.
    project: Option<Arc<PreparedProject>>,
    since: Duration,
    age: Duration,
    /// Whether the last look-up failed, so that this is older than it should be.
    is_stretched: bool,
}

impl ProjectCache {
    pub fn new(catalogue: Arc<dyn Catalogue>, clock: Arc<dyn Clock>, max_age: Duration) -> Self {
        ProjectCache { catalogue, clock, max_age, slots: Cache::new(MAX_PROJECTS), failed_look_ups: Arc::default() }
    }

    /// Whether the catalogue has been reached since the start.
    pub fn is_ready(&self) -> bool {
        self.catalogue.is_ready()
    }

    /// Counts the look-ups that failed.
    pub fn failed_look_ups(&self) -> Arc<Counter> {
        Arc::clone(&self.failed_look_ups)
    }

    /// The project as it was at most `catalogue.cache_seconds` ago.
    ///
    /// # Errors
    /// [`TokenError::UnknownProject`]; [`TokenError::Unavailable`] where the catalogue fails and nothing is held.
    pub async fn project(&self, name: &ProjectName) -> Result<Arc<PreparedProject>, TokenError> {
        let Ok(slot) = self.slots.get_or_insert_with(name, || Ok::<_, Infallible>(Arc::default()));
        if let Some(held) = slot.fresh(self.clock.now()) {
            return held.answer();
        }
        let failures = slot.failures.load(Ordering::Relaxed);
        let _turn = match slot.held().filter(|held| held.is_stretched) {
            // One asks a catalogue that is away, which may take seconds; the others need not wait for that.
            Some(held) => match slot.turn.try_lock() {
                Ok(turn) => turn,
                Err(_) => return held.answer(),
            },
            None => slot.turn.lock().await,
        };
        if let Some(held) = slot.fresh(self.clock.now()) {
            return held.answer();
        }
        // Whoever waited for a look-up shares its failure too: one after the other, a crowd would wait for minutes.
        if slot.failures.load(Ordering::Relaxed) != failures {
            return Err(TokenError::Unavailable);
        }
        let held = self.look_up(name, slot.held()).await.inspect_err(|_| {
            slot.failures.fetch_add(1, Ordering::Relaxed);
        })?;
        slot.hold(held.clone());
        held.answer()
    }

    async fn look_up(&self, name: &ProjectName, before: Option<Held>) -> Result<Held, TokenError> {
        let before = before.and_then(|held| held.project);
        let found = self.catalogue.project(name).await;
        self.failed_look_ups.add(u64::from(found.is_err()));
        let since = self.clock.now();
        match (found, before) {
            (Ok(found), before) => Ok(Held {
                age: if found.is_some() { self.max_age } else { self.max_age.min(UNKNOWN_AGE) },
                project: found.map(|project| prepare_or_keep(project, before)),
                since,
                is_stretched: false,
            }),
            (Err(error), Some(before)) => {
                log::warn!("catalogue look-up failed, keys held before go on serving: project={name} cause={error}");
                Ok(Held { project: Some(before), since, age: RETRY_AGE, is_stretched: true })
            }
            (Err(error), None) => {
                log::warn!("catalogue look-up failed: project={name} cause={error}");
                Err(TokenError::Unavailable)
            }
        }
    }
}

impl Slot {
    fn held(&self) -> Option<Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, held: Held) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
    }

    /// What is held, unless it is too old, or from the future because the clock was set back.
    fn fresh(&self, now: Duration) -> Option<Held> {
        self.held().filter(|held| now.checked_sub(held.since).is_some_and(|age| age < held.age))
    }
}

impl Held {
    fn answer(self) -> Result<Arc<PreparedProject>, TokenError> {
        self.project.ok_or(TokenError::UnknownProject)
    }
}

/// Keeps the project that was there where nothing changed, so that what hangs on it (cached tokens) lives on.
fn prepare_or_keep(project: Project, before: Option<Arc<PreparedProject>>) -> Arc<PreparedProject> {
    match before {
        Some(before) if before.project == project => before,
        _ => Arc::new(PreparedProject::new(project)),
    }
}

impl PreparedProject {
    fn new(project: Project) -> Self {
        PreparedProject {
            api_keys: prepare_keys(&project, KeyUse::Api),
            user_keys: prepare_keys(&project, KeyUse::User),
            project,
        }
    }

    /// Checks that an active key of this use signed the token with its own algorithm.
    pub fn check_signature(&self, key_use: KeyUse, token: &CompactToken<'_>) -> Result<(), TokenError> {
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

fn check_named_key(keys: &[Verifier], key_id: &str, token: &CompactToken<'_>) -> Result<(), TokenError> {
    let key = keys.iter().find(|key| key.key_id == key_id).ok_or(TokenError::UnknownKey)?;
    if key.algorithm != token.algorithm {
        return Err(TokenError::AlgorithmMismatch);
    }
    if key.verifies(token) { Ok(()) } else { Err(TokenError::BadSignature) }
}

fn check_each_key(keys: &[Verifier], token: &CompactToken<'_>) -> Result<(), TokenError> {
    let mut refusal = TokenError::UnknownKey;
    for key in keys.iter().filter(|key| key.algorithm == token.algorithm) {
        if key.verifies(token) {
            return Ok(());
        }
        refusal = TokenError::BadSignature;
    }
    Err(refusal)
}

fn prepare_keys(project: &Project, key_use: KeyUse) -> Vec<Verifier> {
    let active = |key: &&Key| key.active && key.key_use == key_use;
    let count = project.keys.iter().filter(active).count();
    if count > MAX_KEYS_OF_A_USE {
        log::warn!(
            "too many active keys, only the first are used: project={} use={} keys={count} used={MAX_KEYS_OF_A_USE}",
            project.name,
            key_use.as_str()
        );
    }
    project
        .keys
        .iter()
        .filter(active)
        .take(MAX_KEYS_OF_A_USE)
        .filter_map(|key| prepare_key(&project.name, key))
        .collect()
}

fn prepare_key(project: &ProjectName, key: &Key) -> Option<Verifier> {
    Verifier::prepare(key)
        .inspect_err(|cause| log::warn!("key can't be used: project={project} key={} cause={cause}", key.id))
        .ok()
}
