//! Where projects, their keys and their events live: the contract between the program and its store.
//!
//! Knows names and keys as data. It must never know a token, a signature or HTTP: what a key is used for
//! stands in `auth`. Implementations: `embedded.rs` (SQLite in the data folder), `mongo.rs` (a MongoDB that nodes share).
//! Every implementation runs the suite in `conformance.rs`.

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

/// Where projects, keys and events live.
///
/// Asked at the door only, through the caches of `auth`: an answer may take milliseconds, but a call must
/// never block its worker thread.
pub trait Catalogue: Send + Sync {
    /// Reads one project with all its keys, inactive ones too, in the order in which they were added;
    /// `None` where there is no such project.
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Option<Project>, CatalogueError>>;

    /// Adds a project with its keys, all or nothing; [`CatalogueError::ProjectExists`] where the name is taken.
    fn create_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// Adds a key to a project, or replaces the project's key of the same id (which is how a key is switched off).
    fn put_key<'a>(&'a self, project: &'a ProjectName, key: &'a Key) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// Replaces everything of a project but its keys; [`CatalogueError::ProjectUnknown`] where there is none of its name.
    fn put_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// Removes a project with its keys and events; [`CatalogueError::ProjectUnknown`] if there is no project of this name.
    fn remove_project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// The names of all projects, in ascending order.
    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectName>, CatalogueError>>;

    /// Reads one event of a project, an inactive one too; `None` where it is not defined.
    fn event<'a>(
        &'a self,
        project: &'a ProjectName,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<EventDefinition>, CatalogueError>>;

    /// Reads all events of a project in the order of their names' bytes; none where there is no such project.
    fn events<'a>(&'a self, project: &'a ProjectName) -> BoxFuture<'a, Result<Vec<EventDefinition>, CatalogueError>>;

    /// Adds an event to a project, or replaces the project's event of the same name.
    fn put_event<'a>(
        &'a self,
        project: &'a ProjectName,
        event: &'a EventDefinition,
    ) -> BoxFuture<'a, Result<(), CatalogueError>>;

    /// A number that is another one after each change by another process; `None` where this catalogue has none.
    fn version(&self) -> BoxFuture<'_, Result<Option<i64>, CatalogueError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Gives an empty catalogue the project [`ProjectName::demo`] with one random HS256 key for each use.
    ///
    /// Answers whether it was made by this call: of several callers at once, in several processes too, one makes it.
    fn ensure_demo(&self) -> BoxFuture<'_, Result<bool, CatalogueError>>;

    /// Whether the catalogue has been reached since the start. One that goes away later stays ready: what was read before
    /// goes on serving.
    fn is_ready(&self) -> bool {
        true
    }
}

/// Switches a key off for good; `false` where the project has no key of this id. Doing it twice is doing it once.
pub async fn revoke_key(catalogue: &dyn Catalogue, project: &ProjectName, id: &str) -> Result<bool, CatalogueError> {
    let found = catalogue.project(project).await?;
    let found = found.ok_or_else(|| CatalogueError::ProjectUnknown(project.clone()))?;
    let Some(mut key) = found.keys.into_iter().find(|key| key.id == id) else { return Ok(false) };
    key.active = false;
    catalogue.put_key(project, &key).await?;
    Ok(true)
}

/// What a database driver complained of; boxed, so that this contract knows no driver.
pub type DriverError = Box<dyn Error + Send + Sync>;

/// Why the catalogue could not do what it was asked.
#[derive(Debug, Error)]
pub enum CatalogueError {
    /// The data folder, or the file in it, can't be made or opened.
    #[error("data.dir: the folder {} can't be used: {source}", folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    /// The file is there, but is not a catalogue or can't be read.
    #[error("the catalogue {} can't be opened: {source}", file.display())]
    Opening { file: PathBuf, source: DriverError },
    /// Another node holds the data folder.
    #[error(
        "another node runs on the data folder {}: stop it, or give this node its own data.dir",
        .0.display()
    )]
    FolderTaken(PathBuf),
    /// The file was written by a newer version of this program.
    #[error(
        "the catalogue {} has version {found}, this program knows up to {known}: start the newer program",
        file.display()
    )]
    TooNew { file: PathBuf, found: i64, known: i64 },
    /// A project of this name exists already.
    #[error("the project {0} exists already")]
    ProjectExists(ProjectName),
    /// The project that a key was meant for does not exist.
    #[error("there is no project {0}")]
    ProjectUnknown(ProjectName),
    /// What was read is not what this program writes; the text says which column.
    #[error("the catalogue holds a value that this program can't read: {0}")]
    Unreadable(&'static str),
    /// The operating system gave no random bytes for a new key.
    #[error("the operating system gave no random bytes: {0}")]
    Random(getrandom::Error),
    /// The database refused or failed.
    #[error("the catalogue's database failed: {0}")]
    Database(#[source] DriverError),
    /// The address of the database can't be one; the text says why and holds no password.
    #[error("catalogue.mongodb.uri can't be used: {0}")]
    Address(String),
    /// The database gave no answer in this time.
    #[error("the catalogue's database gave no answer in {} s", .0.as_secs())]
    Silent(Duration),
    /// The catalogue has not been reached since the start.
    #[error("the catalogue's database has not answered since the start")]
    NotReached,
    /// The call was cut off because the process stops.
    #[error("the catalogue is closing")]
    Closing,
}
