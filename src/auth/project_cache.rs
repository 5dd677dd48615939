//! The cache of prepared projects. `lookup_cache.rs` defines how long an entry is valid.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use actors::counters::Counter;
use actors::fingerprint::{Fingerprint64, Fingerprints};

use super::lookup_cache::{LookupCache, Unavailable};
use super::prepared_project::{ActiveKeys, PreparedProject};
use super::{Clock, TokenError};
use crate::catalogue::{Catalogue, Project, ProjectName};

/// Maximum cached names, including unknown ones. At a few hundred bytes each they take about a megabyte.
const MAX_PROJECTS: usize = 4_096;

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
