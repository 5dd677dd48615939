//! Verifies tokens: the order of the checks, and the cache of verified API tokens.

use std::sync::Arc;
use std::time::Duration;

use actors::counters::Counter;
use actors::fingerprint::Fingerprint64;
use quick_cache::sync::Cache;

use super::compact::CompactToken;
use super::event_rules::EventRules;
use super::numeric_date::Validity;
use super::prepared_project::{ActiveKeys, PreparedProject};
use super::project_cache::ProjectCache;
use super::{Clock, EventError, EventUse, Scope, Scopes, SystemClock, TokenError};
use crate::catalogue::{Catalogue, EventMode, KeyUse, ProjectName};

/// Cached API tokens. A backend sends the same one with every emit.
const MAX_CACHED_TOKENS: usize = 4_096;
/// Longer tokens are verified each time, which bounds the memory of the cache to 4 MiB.
const MAX_CACHED_TOKEN_BYTES: usize = 1_024;

/// A verified API token: the application and its permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiToken {
    pub project: ProjectName,
    /// The claim `sub`, 1 to 256 bytes.
    pub application: Box<str>,
    pub scopes: Scopes,
    /// Whether the project must define its events.
    pub events: EventMode,
    /// The key that signed it.
    pub key: Fingerprint64,
    /// The first whole second since 1970 at which the token is expired, without leeway. `None` never expires.
    pub expires_at: Option<u64>,
}

impl ApiToken {
    /// Refuses a token without the scope.
    pub fn require(&self, scope: Scope) -> Result<(), TokenError> {
        if self.scopes.contains(scope) { Ok(()) } else { Err(TokenError::Scope(scope)) }
    }
}

/// A verified user token: the user.
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
    /// The key is the whole text of the token, not a part or a short hash: an unverified token is never found.
    verified: Cache<Box<str>, VerifiedToken>,
}

/// An API token that was verified with the keys of `project`.
#[derive(Clone)]
struct VerifiedToken {
    token: Arc<ApiToken>,
    validity: Validity,
    /// If the cache of projects holds another value by now, the keys may have changed and the token is verified again.
    project: Arc<PreparedProject>,
}

impl Authenticator {
    /// Verifies tokens with the keys of the catalogue. Each project is cached for `cache_seconds`. `exp` and `nbf` are
    /// checked with `leeway_seconds`.
    pub fn new(catalogue: Arc<dyn Catalogue>, leeway_seconds: u64, cache_seconds: u64) -> Self {
        Self::with_clock(catalogue, leeway_seconds, cache_seconds, Arc::new(SystemClock))
    }

    /// The same with a given clock.
    pub fn with_clock(
        catalogue: Arc<dyn Catalogue>,
        leeway_seconds: u64,
        cache_seconds: u64,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let max_age = Duration::from_secs(cache_seconds);
        let projects = ProjectCache::new(Arc::clone(&catalogue), Arc::clone(&clock), max_age);
        Authenticator {
            events: EventRules::new(catalogue, Arc::clone(&clock), max_age, projects.failed_lookups()),
            projects,
            clock,
            leeway: Duration::from_secs(leeway_seconds),
            verified: Cache::new(MAX_CACHED_TOKENS),
        }
    }

    /// Whether tokens can be verified: the catalogue has been reached since the start.
    pub fn is_ready(&self) -> bool {
        self.projects.is_ready()
    }

    /// Counts the failed lookups in the catalogue.
    pub fn failed_lookups(&self) -> Arc<Counter> {
        self.projects.failed_lookups()
    }

    /// Expires a project and its events, or everything for `None`: they are looked up again before their next use.
    /// While the catalogue is unavailable, cached answers stay valid.
    pub fn expire(&self, project: Option<&ProjectName>) {
        self.projects.expire(project);
        self.events.expire(project);
    }

    /// The projects in the cache.
    pub fn projects(&self) -> Vec<ProjectName> {
        self.projects.names()
    }

    /// The active keys of a project. An inactive or unknown project has none.
    ///
    /// # Errors
    /// [`TokenError::Unavailable`] if the catalogue does not answer.
    pub async fn active_keys(&self, project: &ProjectName) -> Result<ActiveKeys, TokenError> {
        self.projects.active_keys(project).await
    }

    /// The fingerprint of the application that a token names. It is the same for all tokens of the application.
    pub fn application(&self, token: &ApiToken) -> Fingerprint64 {
        self.projects.application(&token.project, &token.application)
    }

    /// Checks whether an application of a project, given by its fingerprint, may use an event.
    ///
    /// # Errors
    /// [`EventError`], but never if the project is open.
    pub async fn check_event(
        &self,
        project: &ProjectName,
        application: Fingerprint64,
        event: &str,
        wanted: EventUse,
    ) -> Result<(), EventError> {
        let found = self.projects.project(project).await.map_err(|error| match error {
            TokenError::Unavailable => EventError::Unavailable,
            // The project was disabled or removed, and its sessions are about to end.
            _ => EventError::Unknown,
        })?;
        if found.project.events == EventMode::Open {
            return Ok(());
        }
        let fingerprint = |name: &str| self.projects.application(project, name);
        self.events.check(project, event, (application, wanted), fingerprint).await
    }

    /// Verifies an API token.
    ///
    /// # Errors
    /// Any [`TokenError`] but `ProjectMismatch` and `Scope`. The caller checks the scope that it needs
    /// ([`ApiToken::require`]).
    pub async fn verify_api(&self, text: &str) -> Result<Arc<ApiToken>, TokenError> {
        if text.is_empty() {
            return Err(TokenError::Missing(KeyUse::Api));
        }
        if let Some(verified) = self.verified.get(text) {
            let current = self.projects.project(&verified.token.project).await?;
            if Arc::ptr_eq(&current, &verified.project) {
                verified.validity.check(self.clock.now(), self.leeway)?;
                return Ok(verified.token);
            }
            self.verified.remove(text);
        }
        self.verify_new_api(text).await
    }

    async fn verify_new_api(&self, text: &str) -> Result<Arc<ApiToken>, TokenError> {
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
        if text.len() <= MAX_CACHED_TOKEN_BYTES {
            let verified = VerifiedToken { token: Arc::clone(&token), validity, project };
            self.verified.insert(text.into(), verified);
        }
        Ok(token)
    }

    /// Verifies a user token that is used with an API token of `project`.
    ///
    /// # Errors
    /// Any [`TokenError`] but `Scope`. It is [`TokenError::ProjectMismatch`] if the token names another project.
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
