//! The catalogue of a single node: SQLite in the data folder.
//!
//! Write-ahead logging lets the command line read and write while a node runs. SQLite recovers the file of a killed
//! process when it is opened again. A process has one connection, which one blocking thread uses at a time. Callers
//! wait as futures, so that many lookups cannot fill the runtime's blocking threads.

mod schema;
mod statements;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::Mutex;

use self::schema::ensure_schema;
use self::statements::{
    delete_project, has_any_project, has_project, insert_project, list_projects, read_event, read_events, read_project,
    write_event, write_key, write_project,
};
use super::data_folder::open_private_file;
use super::{Catalogue, CatalogueError, EventDefinition, Key, KeyUse, Project, ProjectName};

const FILE_NAME: &str = "carillon.sqlite3";
/// How long a statement waits for another process's write. Writes are single rows and take milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Projects, keys and events in `carillon.sqlite3` of the data folder. Its calls need a tokio runtime for the blocking
/// thread.
pub struct EmbeddedCatalogue {
    connection: Arc<Mutex<Connection>>,
}

impl EmbeddedCatalogue {
    /// Opens the folder's catalogue, and creates folder, file and tables if they are missing.
    ///
    /// It blocks for milliseconds, or for seconds if another process is creating the file. Call it before serving.
    pub fn open(folder: &Path) -> Result<Self, CatalogueError> {
        // SQLite gives its log files the mode of the main file.
        open_private_file(folder, FILE_NAME)?;
        let file = folder.join(FILE_NAME);
        let connection = open_connection(&file)?;
        Ok(EmbeddedCatalogue { connection: Arc::new(Mutex::new(connection)) })
    }

    async fn with_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, CatalogueError> {
        let mut connection = Arc::clone(&self.connection).lock_owned().await;
        tokio::task::spawn_blocking(move || work(&mut connection)).await.map_err(|_| CatalogueError::Closing)?
    }

    /// Runs `work` in a [`write_transaction`], and commits unless it fails.
    async fn with_transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, CatalogueError> + Send + 'static,
    ) -> Result<T, CatalogueError> {
        self.with_connection(move |connection| {
            let transaction = write_transaction(connection)?;
            let outcome = work(&transaction)?;
            transaction.commit()?;
            Ok(outcome)
        })
        .await
    }
}

impl Catalogue for EmbeddedCatalogue {
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Option<Project>, CatalogueError>> {
        let name = name.clone();
        self.with_connection(move |connection| {
            // One transaction, so that the project and its keys are of the same moment.
            read_project(&connection.transaction()?, name)
        })
        .boxed()
    }

    fn create_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>> {
        let project = project.clone();
        self.with_transaction(move |transaction| insert_project(transaction, &project)).boxed()
    }

    fn put_key<'a>(&'a self, project: &'a ProjectName, key: &'a Key) -> BoxFuture<'a, Result<(), CatalogueError>> {
        let (project, key) = (project.clone(), key.clone());
        self.with_transaction(move |transaction| {
            if !has_project(transaction, &project)? {
                return Err(CatalogueError::ProjectUnknown(project));
            }
            Ok(write_key(transaction, &project, &key)?)
        })
        .boxed()
    }

    fn put_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>> {
        let project = project.clone();
        self.with_transaction(move |transaction| write_project(transaction, &project)).boxed()
    }

    fn remove_project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<(), CatalogueError>> {
        let name = name.clone();
        self.with_transaction(move |transaction| delete_project(transaction, &name)).boxed()
    }

    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectName>, CatalogueError>> {
        self.with_connection(|connection| list_projects(connection)).boxed()
    }

    fn event<'a>(
        &'a self,
        project: &'a ProjectName,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<EventDefinition>, CatalogueError>> {
        let (project, name) = (project.clone(), name.to_owned());
        self.with_connection(move |connection| read_event(connection, &project, &name)).boxed()
    }

    fn events<'a>(&'a self, project: &'a ProjectName) -> BoxFuture<'a, Result<Vec<EventDefinition>, CatalogueError>> {
        let project = project.clone();
        self.with_connection(move |connection| read_events(connection, &project)).boxed()
    }

    fn put_event<'a>(
        &'a self,
        project: &'a ProjectName,
        event: &'a EventDefinition,
    ) -> BoxFuture<'a, Result<(), CatalogueError>> {
        let (project, event) = (project.clone(), event.clone());
        self.with_transaction(move |transaction| {
            if !has_project(transaction, &project)? {
                return Err(CatalogueError::ProjectUnknown(project));
            }
            Ok(write_event(transaction, &project, &event)?)
        })
        .boxed()
    }

    fn version(&self) -> BoxFuture<'_, Result<Option<i64>, CatalogueError>> {
        self.with_connection(|connection| {
            Ok(connection.pragma_query_value(None, "data_version", |row| row.get(0)).map(Some)?)
        })
        .boxed()
    }

    fn ensure_demo(&self) -> BoxFuture<'_, Result<bool, CatalogueError>> {
        self.with_transaction(|transaction| {
            if has_any_project(transaction)? {
                return Ok(false);
            }
            let mut demo = Project::new(ProjectName::demo());
            demo.keys = vec![Key::random(KeyUse::Api)?, Key::random(KeyUse::User)?];
            insert_project(transaction, &demo)?;
            Ok(true)
        })
        .boxed()
    }
}

impl From<rusqlite::Error> for CatalogueError {
    fn from(error: rusqlite::Error) -> Self {
        CatalogueError::Database(error.into())
    }
}

fn open_connection(file: &Path) -> Result<Connection, CatalogueError> {
    let opened = Connection::open(file).and_then(|mut connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let version = ensure_schema(&mut connection)?;
        Ok((connection, version))
    });
    match opened {
        Ok((connection, schema::VERSION)) => Ok(connection),
        Ok((_, found)) => Err(CatalogueError::TooNew { file: PathBuf::from(file), found, known: schema::VERSION }),
        Err(source) => Err(CatalogueError::Opening { file: PathBuf::from(file), source: source.into() }),
    }
}

/// A transaction that has the write lock from its start. Two transactions that first read and then write would block
/// each other.
fn write_transaction(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

#[cfg(test)]
mod tests;
