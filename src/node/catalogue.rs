//! Opens the catalogue that the settings name. A MongoDB that does not answer yet is tried again.
//!
//! A node starts without it, but is not ready until the catalogue has answered once. The cache in `auth` handles a
//! catalogue that becomes unavailable later.

use crate::catalogue::{
    Catalogue, CatalogueError, EmbeddedCatalogue, EventDefinition, Key, MongoCatalogue, Project, ProjectName,
};
use crate::settings::{CatalogueKind, Settings};
use futures::future::{BoxFuture, FutureExt as _, ready};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The pause after the first failed attempt. It doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// With the half second in which the driver notices a server, this is far less than the 5 s that the docs promise.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A node's catalogue.
pub(super) struct OpenCatalogue {
    pub catalogue: Arc<dyn Catalogue>,
    _attempts: Option<Attempts>,
}

/// The task that tries to reach a catalogue. It ends with the node.
struct Attempts(JoinHandle<()>);

impl Drop for Attempts {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Opens the catalogue. An unreachable one is tried again until it answers. A malformed address is an error.
pub(super) async fn open_catalogue(settings: &Settings) -> Result<OpenCatalogue, CatalogueError> {
    match settings.catalogue.kind {
        CatalogueKind::Embedded => {
            let catalogue = EmbeddedCatalogue::open(&settings.data.dir)?;
            make_demo(&catalogue, settings).await?;
            Ok(OpenCatalogue { catalogue: Arc::new(catalogue), _attempts: None })
        }
        CatalogueKind::Mongodb => open_mongo(settings).await,
    }
}

async fn open_mongo(settings: &Settings) -> Result<OpenCatalogue, CatalogueError> {
    let catalogue = Arc::new(LateCatalogue::default());
    let attempts = match catalogue.reach(settings).await {
        Ok(()) => None,
        Err(error @ CatalogueError::Address(_)) => return Err(error),
        Err(error) => {
            log::warn!(
                uri:% = settings.catalogue.mongodb.uri, cause:% = error;
                "the catalogue cannot be reached; the node is not ready and keeps trying"
            );
            let attempts = keep_trying(Arc::clone(&catalogue), settings.clone());
            Some(Attempts(tokio::spawn(attempts)))
        }
    };
    Ok(OpenCatalogue { catalogue, _attempts: attempts })
}

/// Makes the project `demo` if the settings ask for it and the catalogue is empty.
async fn make_demo(catalogue: &dyn Catalogue, settings: &Settings) -> Result<(), CatalogueError> {
    if settings.catalogue.demo && catalogue.ensure_demo().await? {
        log::info!("created the project demo; `carillon token env` prints tokens for it");
    }
    Ok(())
}

async fn keep_trying(catalogue: Arc<LateCatalogue>, settings: Settings) {
    let mut pause = FIRST_PAUSE;
    for attempt in 2_u64.. {
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        match catalogue.reach(&settings).await {
            Ok(()) => return,
            // Log the second, fourth, eighth … attempt: an outage of an hour takes twelve lines.
            Err(error) if attempt.is_power_of_two() => {
                log::warn!(attempt, cause:% = error; "the catalogue still cannot be reached");
            }
            Err(_) => {}
        }
    }
}

/// A MongoDB that may not have answered yet. Until then every call fails at once, so that no handshake or emit waits.
#[derive(Default)]
struct LateCatalogue(OnceLock<MongoCatalogue>);

impl LateCatalogue {
    /// Connects, migrates and makes the project `demo`.
    async fn reach(&self, settings: &Settings) -> Result<(), CatalogueError> {
        let mongodb = &settings.catalogue.mongodb;
        let catalogue = MongoCatalogue::connect(&mongodb.uri, &mongodb.database).await?;
        for name in catalogue.migrate().await? {
            log::info!(migration:% = name; "applied a migration");
        }
        make_demo(&catalogue, settings).await?;
        log::info!(uri:% = mongodb.uri, database = mongodb.database; "the catalogue answers");
        // Only one task sets it, in one attempt at a time.
        let _ = self.0.set(catalogue);
        Ok(())
    }

    fn with<'a, T: Send + 'a>(
        &'a self,
        call: impl FnOnce(&'a MongoCatalogue) -> BoxFuture<'a, Result<T, CatalogueError>>,
    ) -> BoxFuture<'a, Result<T, CatalogueError>> {
        self.0.get().map_or_else(|| ready(Err(CatalogueError::NotReached)).boxed(), call)
    }
}

impl Catalogue for LateCatalogue {
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Option<Project>, CatalogueError>> {
        self.with(|catalogue| catalogue.project(name))
    }

    fn create_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>> {
        self.with(|catalogue| catalogue.create_project(project))
    }

    fn put_key<'a>(&'a self, project: &'a ProjectName, key: &'a Key) -> BoxFuture<'a, Result<(), CatalogueError>> {
        self.with(|catalogue| catalogue.put_key(project, key))
    }

    fn put_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>> {
        self.with(|catalogue| catalogue.put_project(project))
    }

    fn remove_project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<(), CatalogueError>> {
        self.with(|catalogue| catalogue.remove_project(name))
    }

    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectName>, CatalogueError>> {
        self.with(|catalogue| catalogue.projects())
    }

    fn event<'a>(
        &'a self,
        project: &'a ProjectName,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<EventDefinition>, CatalogueError>> {
        self.with(|catalogue| catalogue.event(project, name))
    }

    fn events<'a>(&'a self, project: &'a ProjectName) -> BoxFuture<'a, Result<Vec<EventDefinition>, CatalogueError>> {
        self.with(|catalogue| catalogue.events(project))
    }

    fn put_event<'a>(
        &'a self,
        project: &'a ProjectName,
        event: &'a EventDefinition,
    ) -> BoxFuture<'a, Result<(), CatalogueError>> {
        self.with(|catalogue| catalogue.put_event(project, event))
    }

    fn ensure_demo(&self) -> BoxFuture<'_, Result<bool, CatalogueError>> {
        self.with(|catalogue| catalogue.ensure_demo())
    }

    fn is_ready(&self) -> bool {
        self.0.get().is_some()
    }
}
