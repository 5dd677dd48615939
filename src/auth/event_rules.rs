//! Checks whether an application may subscribe to or emit an event. Definitions are read from the catalogue, prepared,
//! and cached by `lookup_cache.rs`.
//!
//! Only projects in the mode `defined` come here. Projects in the mode `open` skip the check.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actors::counters::Counter;
use actors::fingerprint::Fingerprint64;
use actors::protocol::codes::ErrorCode;
use thiserror::Error;
use tokio::sync::Semaphore;

use super::Clock;
use super::lookup_cache::{LookupCache, Unavailable};
use crate::catalogue::{Catalogue, EventDefinition, ProjectName};

/// Maximum cached names, including unknown ones. With names of 200 bytes they take about 8 MiB.
const MAX_EVENTS: usize = 16_384;

/// Maximum concurrent lookups. It keeps clients with made-up names from overloading the catalogue.
const MAX_CONCURRENT_LOOKUPS: usize = 32;

/// How an application uses an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventUse {
    Subscribe,
    Emit,
}

/// Why an event cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EventError {
    #[error("the project has no such event: define it, or correct the name")]
    Unknown,
    #[error(
        "clients of this application may not subscribe to the event: use another application's token, or change its definition"
    )]
    NoSubscriber,
    #[error("this application may not emit the event: use another application's token, or change its definition")]
    NoEmitter,
    #[error("the event cannot be looked up now: try again in a few seconds")]
    Unavailable,
}

impl EventError {
    /// The error code for the client or the backend.
    pub const fn code(self) -> ErrorCode {
        match self {
            EventError::Unknown => ErrorCode::EventUnknown,
            EventError::NoSubscriber | EventError::NoEmitter => ErrorCode::AccessDenied,
            EventError::Unavailable => ErrorCode::TemporarilyUnavailable,
        }
    }
}

/// A prepared definition, which holds its applications as fingerprints. `None` means all applications of the project.
pub(super) struct PreparedEvent {
    subscribers: Option<HashSet<Fingerprint64>>,
    emitters: Option<HashSet<Fingerprint64>>,
}

impl PreparedEvent {
    fn new(definition: &EventDefinition, fingerprint: impl Fn(&str) -> Fingerprint64) -> PreparedEvent {
        let prepare = |names: &Option<Vec<String>>| {
            names.as_ref().map(|names| names.iter().map(|name| fingerprint(name)).collect())
        };
        PreparedEvent { subscribers: prepare(&definition.subscribers), emitters: prepare(&definition.emitters) }
    }

    fn check(&self, application: Fingerprint64, wanted: EventUse) -> Result<(), EventError> {
        let (allowed, refusal) = match wanted {
            EventUse::Subscribe => (&self.subscribers, EventError::NoSubscriber),
            EventUse::Emit => (&self.emitters, EventError::NoEmitter),
        };
        if allowed.as_ref().is_none_or(|allowed| allowed.contains(&application)) { Ok(()) } else { Err(refusal) }
    }
}

/// Names an event of a project.
#[derive(Clone, PartialEq, Eq, Hash)]
struct EventKey {
    project: ProjectName,
    event: Arc<str>,
}

impl fmt::Display for EventKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} event={:?}", self.project, self.event)
    }
}

/// The prepared definitions of events, in a cache over the catalogue.
pub(super) struct EventRules {
    catalogue: Arc<dyn Catalogue>,
    cache: LookupCache<EventKey, Arc<PreparedEvent>>,
    lookups: Semaphore,
}

impl EventRules {
    pub fn new(
        catalogue: Arc<dyn Catalogue>,
        clock: Arc<dyn Clock>,
        max_age: Duration,
        failed_lookups: Arc<Counter>,
    ) -> Self {
        let cache = LookupCache::new(MAX_EVENTS, max_age, clock, failed_lookups);
        EventRules { catalogue, cache, lookups: Semaphore::new(MAX_CONCURRENT_LOOKUPS) }
    }

    /// Checks whether an application may use an event. `fingerprint` returns the fingerprint of an application's name.
    pub async fn check(
        &self,
        project: &ProjectName,
        event: &str,
        (application, wanted): (Fingerprint64, EventUse),
        fingerprint: impl Fn(&str) -> Fingerprint64,
    ) -> Result<(), EventError> {
        let key = EventKey { project: project.clone(), event: event.into() };
        let look_up = async |_| {
            let _permit = self.lookups.acquire().await;
            let found = self.catalogue.event(project, event).await?.filter(|event| event.active);
            Ok(found.map(|definition| Arc::new(PreparedEvent::new(&definition, &fingerprint))))
        };
        let found = self.cache.find(&key, look_up).await.map_err(|Unavailable| EventError::Unavailable)?;
        found.ok_or(EventError::Unknown)?.check(application, wanted)
    }

    /// Expires the events of a project, or of all projects for `None`: they are looked up again before their next use.
    pub fn expire(&self, project: Option<&ProjectName>) {
        self.cache.expire(|key| project.is_none_or(|project| *project == key.project));
    }
}
