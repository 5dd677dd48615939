//! The catalogue that nodes share: MongoDB.
//!
//! The driver is asynchronous. Its connections and monitors live on the runtime on which `connect` is called. Every
//! call has a timeout. Transactions are not used, because a single server has none: a project's keys are written before
//! the project, under a new id, and are valid when a project with that id exists. A process that is killed in between
//! leaves keys that belong to no project.

mod connection;
mod documents;
mod migrations;
mod statements;

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use mongodb::Database;

use self::connection::within;
use super::{Catalogue, CatalogueError, EventDefinition, Key, Project, ProjectName};
use crate::settings::SecretUrl;

/// The timeout of a call: a little longer than that of selecting a server. Handshakes and emits wait for it.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// Projects, keys and events in the collections of these names.
pub struct MongoCatalogue {
    database: Database,
}

impl MongoCatalogue {
    /// Creates the driver. The server does not need to answer yet, but the name of a `mongodb+srv` address is looked
    /// up.
    ///
    /// The driver's tasks run on the current runtime, which must live as long as the catalogue.
    ///
    /// # Errors
    /// [`CatalogueError::Address`] if the address is malformed, [`CatalogueError::Database`] if its name
    /// cannot be looked up. Neither repeats a password.
    pub async fn connect(uri: &SecretUrl, database: &str) -> Result<Self, CatalogueError> {
        let client = within(CALL_TIMEOUT, connection::client(uri)).await?;
        Ok(MongoCatalogue { database: client.database(database) })
    }

    /// Creates or upgrades collections, validators and indexes. Returns the names of the migrations that this call
    /// applied.
    ///
    /// It may run in several processes at once, and again after any of them was killed.
    pub async fn migrate(&self) -> Result<Vec<&'static str>, CatalogueError> {
        migrations::apply(&self.database).await
    }
}

impl Catalogue for MongoCatalogue {
    fn project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<Option<Project>, CatalogueError>> {
        within(CALL_TIMEOUT, self.read_project(name)).boxed()
    }

    fn create_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>> {
        within(CALL_TIMEOUT, self.insert_project(project)).boxed()
    }

    fn put_key<'a>(&'a self, project: &'a ProjectName, key: &'a Key) -> BoxFuture<'a, Result<(), CatalogueError>> {
        within(CALL_TIMEOUT, self.write_key(project, key)).boxed()
    }

    fn put_project<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<(), CatalogueError>> {
        within(CALL_TIMEOUT, self.write_project(project)).boxed()
    }

    fn remove_project<'a>(&'a self, name: &'a ProjectName) -> BoxFuture<'a, Result<(), CatalogueError>> {
        within(CALL_TIMEOUT, self.delete_project(name)).boxed()
    }

    fn projects(&self) -> BoxFuture<'_, Result<Vec<ProjectName>, CatalogueError>> {
        within(CALL_TIMEOUT, self.list_projects()).boxed()
    }

    fn event<'a>(
        &'a self,
        project: &'a ProjectName,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<EventDefinition>, CatalogueError>> {
        within(CALL_TIMEOUT, self.read_event(project, name)).boxed()
    }

    fn events<'a>(&'a self, project: &'a ProjectName) -> BoxFuture<'a, Result<Vec<EventDefinition>, CatalogueError>> {
        within(CALL_TIMEOUT, self.read_events(project)).boxed()
    }

    fn put_event<'a>(
        &'a self,
        project: &'a ProjectName,
        event: &'a EventDefinition,
    ) -> BoxFuture<'a, Result<(), CatalogueError>> {
        within(CALL_TIMEOUT, self.write_event(project, event)).boxed()
    }

    fn ensure_demo(&self) -> BoxFuture<'_, Result<bool, CatalogueError>> {
        within(CALL_TIMEOUT, self.create_demo()).boxed()
    }
}

#[cfg(test)]
mod tests;
