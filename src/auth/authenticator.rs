//! Verifies tokens: the order of the checks, and the memory of API tokens that were seen.

use std::sync::Arc;
use std::time::Duration;

use actors::counters::Counter;
use actors::fingerprint::Fingerprint64;
use quick_cache::sync::Cache;

use super::compact::CompactToken;
use super::event_rules::EventRules;
use super::numeric_date::Validity;
use super::project_cache::{ActiveKeys, PreparedProject, ProjectCache};
use super::{Clock, EventError, EventUse, Scope, Scopes, SystemClock, TokenError};
use crate::catalogue::{Catalogue, EventMode, KeyUse, ProjectName};

/// API tokens remembered: a backend sends the same one with every emit.
const MAX_SEEN_TOKENS: usize = 4_096;
/// Longer tokens are verified each time, which bounds the memory of seen ones to 4 MiB.
const MAX_SEEN_BYTES: usize = 1_024;

/// What a verified API token says: which application, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    pub project: ProjectName,
    /// The claim `sub`, 1 to 256 bytes.
    pub application: Box<str>,
    pub scopes: Scopes,
    /// Which events its project knows.
    pub events: EventMode,
    /// The key that signed it.
    pub key: Fingerprint64,
    /// The first whole second since 1970 at which the token is expired, without leeway; `None`: never.
    pub expires_at: Option<u64>,
}

impl ApiToken {
    /// Refuses a token without the scope.
    pub fn require(&self, scope: Scope) -> Result<(), TokenError> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(TokenError::Scope(scope)) }
    }
}

/// What a verified user token says: which person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserToken {
    pub project: ProjectName,
    /// The claim `sub`, 1 to 256 bytes.
    pub subject: Box<str>,
    /// The key that signed it.
    pub key: Fingerprint64,
    /// The first whole second since 1970 at which the token is expired, without leeway.
    pub expires_at: u64,
}

/// Verifies both tokens. One per node, shared by its workers.
pub struct Authenticator {
    projects: ProjectCache,
    events: EventRules,
    clock: Arc<dyn Clock>,
    leeway: Duration,
    /// By the token's whole text, never by a part or a short hash of it: what was not verified can't be found.
    seen: Cache<Box<str>, SeenToken>,
}

/// An API token that was verified with the keys of `project`.
#[derive(Clone)]
struct SeenToken {
    token: Arc<ApiToken>,
    validity: Validity,
    /// Another project in the cache than this one: its keys may have changed, the token is verified again.
    project: Arc<PreparedProject>,
}

impl Authenticator {
    /// Verifies with the catalogue's keys, each project read again after `cache_seconds` (which is how long a revoked key
    /// lives on); `exp` and `nbf` are checked with `leeway_seconds`.
    pub fn new(catalogue: Arc<dyn Catalogue>, leeway_seconds: u64, cache_seconds: u64) -> Self {
        Self::with_clock(catalogue, leeway_seconds, cache_seconds, Arc::new(SystemClock))
    }

    /// The same with another clock than the machine's.
    pub fn with_clock(
        catalogue: Arc<dyn Catalogue>,
        leeway_seconds: u64,
        cache_seconds: u64,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let max_age = Duration::from_secs(cache_seconds);
        let projects = ProjectCache::new(Arc::clone(&catalogue), Arc::clone(&clock), max_age);
        Authenticator {
            events: EventRules::new(catalogue, Arc::clone(&clock), max_age, projects.failed_look_ups()),
            projects,
            clock,
            leeway: Duration::from_secs(leeway_seconds),
            seen: Cache::new(MAX_SEEN_TOKENS),
        }
    }

    /// Whether tokens can be verified: the catalogue has been reached since the start.
    pub fn is_ready(&self) -> bool {
        self.projects.is_ready()
    }

    /// Counts the look-ups in the catalogue that failed.
    pub fn failed_look_ups(&self) -> Arc<Counter> {
        self.projects.failed_look_ups()
    }

    /// Has a project and its events be read again before they serve once more; `None`: every project. What is held goes on
    /// serving where the catalogue is away.
    pub fn expire(&self, project: Option<&ProjectName>) {
        self.projects.expire(project);
        self.events.expire(project);
    }

    /// The projects whose tokens were verified lately.
    pub fn projects(&self) -> Vec<ProjectName> {
        self.projects.names()
    }

    /// The active keys of a project, none where it is inactive or unknown.
    ///
    /// # Errors
    /// [`TokenError::Unavailable`] where the catalogue does not answer now.
    pub async fn active_keys(&self, project: &ProjectName) -> Result<ActiveKeys, TokenError> {
        self.projects.active_keys(project).await
    }

    /// The mark of the application that a token names, the same for all of its tokens.
    pub fn application(&self, token: &ApiToken) -> Fingerprint64 {
        self.projects.application(&token.project, &token.application)
    }

    /// Whether an application of a project, named by its mark, may use an event.
    ///
    /// # Errors
    /// [`EventError`]; never where the project is open.
    pub async fn check_event(
        &self,
        project: &ProjectName,
        application: Fingerprint64,
        event: &str,
        wanted: EventUse,
    ) -> Result<(), EventError> {
        let found = self.projects.project(project).await.map_err(|error| match error {
            TokenError::Unavailable => EventError::Unavailable,
            // Its sessions are about to end.
            _ => EventError::Unknown,
        })?;
        if found.project.events == EventMode::Open {
            return Ok(());
        }
        let mark = |name: &str| self.projects.application(project, name);
        self.events.check(project, event, (application, wanted), mark).await
    }

    /// Verifies an API token.
    ///
    /// # Errors
    /// Any [`TokenError`] but `ProjectMismatch` and `Scope`: which scope is needed the caller knows ([`ApiToken::require`]).
    pub async fn verify_api(&self, text: &str) -> Result<Arc<ApiToken>, TokenError> {
        if text.is_empty() {
            return Err(TokenError::Missing(KeyUse::Api));
        }
        if let Some(seen) = self.seen.get(text) {
            let current = self.projects.project(&seen.token.project).await?;
            if Arc::ptr_eq(&current, &seen.project) {
                seen.validity.check(self.clock.now(), self.leeway)?;
                return Ok(seen.token);
            }
            self.seen.remove(text);
        }
        self.verify_unseen_api(text).await
    }

    async fn verify_unseen_api(&self, text: &str) -> Result<Arc<ApiToken>, TokenError> {
        let compact = CompactToken::parse(text)?;
        let claims = compact.claims()?;
        let project = self.projects.project(&claims.project()?).await?;
        let key = project.check_signature(KeyUse::Api, &compact)?;

        claims.check_parties(&project.project)?;
        let validity = claims.validity()?;
        validity.check(self.clock.now(), self.leeway)?;
        let token = Arc::new(ApiToken {
            project: project.project.name.clone(),
            application: claims.subject()?,
            scopes: claims.scopes()?,
            events: project.project.events,
            key,
            expires_at: validity.expires.map(|date| date.whole_seconds()),
        });
        if text.len() <= MAX_SEEN_BYTES {
            let seen = SeenToken { token: Arc::clone(&token), validity, project };
            self.seen.insert(text.into(), seen);
        }
        Ok(token)
    }

    /// Verifies a user token that is used with an API token of `project`.
    ///
    /// # Errors
    /// Any [`TokenError`] but `Scope`; [`TokenError::ProjectMismatch`] where it names another project.
    pub async fn verify_user(&self, text: &str, project: &ProjectName) -> Result<UserToken, TokenError> {
        if text.is_empty() {
            return Err(TokenError::Missing(KeyUse::User));
        }
        let compact = CompactToken::parse(text)?;
        let claims = compact.claims()?;
        if claims.project()? != *project {
            return Err(TokenError::ProjectMismatch);
        }
        let project = self.projects.project(project).await?;
        let key = project.check_signature(KeyUse::User, &compact)?;

        claims.check_parties(&project.project)?;
        let validity = claims.validity()?;
        validity.check(self.clock.now(), self.leeway)?;
        let expires = validity.expires.ok_or(TokenError::Claims("the claim exp is required in a user token"))?;
        Ok(UserToken {
            project: project.project.name.clone(),
            subject: claims.subject()?,
            key,
            expires_at: expires.whole_seconds(),
        })
    }
}
