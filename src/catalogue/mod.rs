//! The catalogue stores projects, their keys and their events. This file is the contract between the program and its
//! store.
//!
//! It treats names and keys as data and does not know tokens, signatures or HTTP: `auth` uses the keys.
//! Implementations: `embedded.rs` (SQLite in the data folder), `mongo.rs` (a MongoDB that nodes share). Every
//! implementation passes the suite in `conformance.rs`.

#[cfg(test)]
mod conformance;
mod data_folder;
mod embedded;
mod event;
mod key;
mod mongo;
mod node_lock;
mod project;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use thiserror::Error;

pub use embedded::EmbeddedCatalogue;
pub use event::{EventDefinition, EventMode};
pub use key::{Algorithm, Key, KeyMaterial, KeyUse};
pub use mongo::MongoCatalogue;
pub use node_lock::NodeLock;
pub use project::{Project, ProjectName, ProjectNameError};

/// A store of projects, keys and events.
///
/// It is called through the caches of `auth`, for handshakes, emits and new subscriptions. An answer may take
/// milliseconds, but a call must never block its worker thread.
pub trait Catalogue: Send + Sync {
    /// Reads a project with all its keys, including inactive ones, in the order in which they were added. `None` if
    /// there is no such project.
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Option<Project>, CatalogueError>>;

    /// Adds a project with its keys, all or nothing. [`CatalogueError::ProjectExists`] if the name is taken.
    fn create_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// Adds a key to a project, or replaces the project's key with the same id. A key is revoked this way.
    fn put_key<'a>(&'a self, project: &'a ProjectName, key: &'a Key) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// Replaces a project except its keys. [`CatalogueError::ProjectUnknown`] if there is no project of this name.
    fn put_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// Removes a project with its keys and events. [`CatalogueError::ProjectUnknown`] if there is no project of this
    /// name.
    fn remove_project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// The names of all projects, in ascending order.
    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectName>, CatalogueError>>;

    /// Reads an event of a project, even if it is inactive. `None` if it is not defined.
    fn event<'a>(
        &'a self,
        project: &'a ProjectName,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<EventDefinition>, CatalogueError>>;

    /// Reads all events of a project in the byte order of their names. There are none if there is no such project.
    fn events<'a>(&'a self, project: &'a ProjectName) -> BoxFuture<'a, Result<Vec<EventDefinition>, CatalogueError>>;

    /// Adds an event to a project, or replaces the project's event with the same name.
    fn put_event<'a>(
        &'a self,
        project: &'a ProjectName,
        event: &'a EventDefinition,
    ) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// A number that changes with each change by another process. `None` if this catalogue has no such number.
    fn version(&self) -> BoxFuture<'_, Result<Option<i64>, CatalogueError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Adds the project [`ProjectName::demo`] with one random HS256 key for each use, if the catalogue is empty.
    ///
    /// Returns whether this call added it. Of several concurrent callers, also in several processes, only one adds it.
    fn ensure_demo(&self) -> BoxFuture<'_, Result<bool, CatalogueError>>;

    /// Whether the catalogue has been reached since the start. If it becomes unavailable later, it stays ready, because
    /// cached answers stay valid.
    fn is_ready(&self) -> bool {
        true
    }
}

/// Revokes a key. `false` if the project has no key with this id. It may be repeated.
pub async fn revoke_key(catalogue: &dyn Catalogue, project: &ProjectName, id: &str) -> Result<bool, CatalogueError> {
    let found = catalogue.project(project).await?;
    let found = found.ok_or_else(|| CatalogueError::ProjectUnknown(project.clone()))?;
    let Some(mut key) = found.keys.into_iter().find(|key| key.id == id) else { return Ok(false) };
    key.active = false;
    catalogue.put_key(project, &key).await?;
    Ok(true)
}

/// The error of a database driver, boxed, so that this contract does not depend on a driver.
pub type DriverError = Box<dyn Error + Send + Sync>;

/// Why a call of the catalogue failed.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// The data folder or a file in it cannot be created or opened.
    #[error("data.dir: the folder {} cannot be used: {source}", folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    /// The file exists, but is not a catalogue or cannot be read.
    #[error("the catalogue {} cannot be opened: {source}", file.display())]
    Opening { file: PathBuf, source: DriverError },
    /// Another node uses the data folder.
    #[error(
        "another node uses the data folder {}: stop it, or give this node its own data.dir",
        .0.display()
    )]
    FolderTaken(PathBuf),
    /// The file was written by a newer version of this program.
    #[error(
        "the catalogue {} has version {found}, but this program only knows versions up to {known}: start the newer program",
        file.display()
    )]
    TooNew { file: PathBuf, found: i64, known: i64 },
    /// There is already a project of this name.
    #[error("the project {0} already exists")]
    ProjectExists(ProjectName),
    /// The project does not exist.
    #[error("there is no project {0}")]
    ProjectUnknown(ProjectName),
    /// A stored value is not one that this program writes. The text names it.
    #[error("the catalogue holds a value that this program cannot read: {0}")]
    Unreadable(&'static str),
    /// The operating system gave no random bytes for a new key.
    #[error("the operating system gave no random bytes: {0}")]
    Random(getrandom::Error),
    /// The database refused or failed.
    #[error("the catalogue's database failed: {0}")]
    Database(#[source] DriverError),
    /// The address of the database is malformed. The text says why and holds no password.
    #[error("catalogue.mongodb.uri cannot be used: {0}")]
    Address(String),
    /// The database did not answer in this time.
    #[error("the catalogue's database did not answer in {} s", .0.as_secs())]
    Timeout(Duration),
    /// The catalogue has not been reached since the start.
    #[error("the catalogue's database has not answered since the start")]
    NotReached,
    /// The call was canceled because the process stops.
    #[error("the catalogue is closing")]
    Closing,
}
