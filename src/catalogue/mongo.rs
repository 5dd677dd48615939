//! The catalogue that nodes share: MongoDB.
//!
//! The driver is asynchronous. Its connections and monitors live on the runtime on which `connect` is called. Every
//! call has a timeout. Transactions are not used, because a single server has none: a project's keys are written before
//! the project, under a new id, and are valid when a project with that id exists. A process that is killed in between
//! leaves keys that belong to no project.

mod connection;
mod documents;
mod migrations;

use std::time::Duration;

use futures::TryStreamExt as _;
use futures::future::{BoxFuture, FutureExt as _};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc};
use mongodb::{Collection, Database};

use self::connection::{is_duplicate, within};
use self::documents::{EventDocument, KeyDocument, KeyPosition, ProjectDocument};
use super::{Catalogue, CatalogueError, EventDefinition, Key, KeyUse, Project, ProjectName};
use crate::settings::SecretUrl;

/// The timeout of a call: a little longer than that of selecting a server. Handshakes and emits wait for it.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// The number of retries if another process writes a document with the same unique key at the same time.
const PUT_ATTEMPTS: usize = 3;

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
    /// # Errors [`CatalogueError::Address`] if the address is malformed, [`CatalogueError::Database`] if its name
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

    fn project_documents(&self) -> Collection<ProjectDocument> {
        self.database.collection("projects")
    }

    fn key_documents(&self) -> Collection<KeyDocument> {
        self.database.collection("keys")
    }

    fn event_documents(&self) -> Collection<EventDocument> {
        self.database.collection("events")
    }

    /// The `_id` of a project that must exist.
    async fn project_id(&self, name: &ProjectName) -> Result<String, CatalogueError> {
        let found = self.find_project(name).await?;
        Ok(found.ok_or_else(|| CatalogueError::ProjectUnknown(name.clone()))?.id)
    }

    async fn find_project(&self, name: &ProjectName) -> Result<Option<ProjectDocument>, CatalogueError> {
        Ok(self.project_documents().find_one(doc! { "name": name.as_str() }).await?)
    }

    async fn read_project(&self, name: &ProjectName) -> Result<Option<Project>, CatalogueError> {
        let Some(found) = self.find_project(name).await? else {
            return Ok(None);
        };
        let order = doc! { "position": 1, "_id": 1 };
        let cursor = self.key_documents().find(doc! { "project": &found.id }).sort(order).await?;
        let documents: Vec<KeyDocument> = cursor.try_collect().await?;
        let keys = documents.into_iter().map(Key::try_from).collect::<Result<_, _>>()?;
        found.into_project(name.clone(), keys).map(Some)
    }

    async fn insert_project(&self, project: &Project) -> Result<(), CatalogueError> {
        let id = ObjectId::new().to_hex();
        if !project.keys.is_empty() {
            let keys = (0..).zip(&project.keys).map(|(position, key)| KeyDocument::new(&id, key, position));
            self.key_documents().insert_many(keys).await?;
        }
        match self.project_documents().insert_one(ProjectDocument::new(&id, project)).await {
            Err(error) if is_duplicate(&error) => {
                self.key_documents().delete_many(doc! { "project": &id }).await?;
                Err(CatalogueError::ProjectExists(project.name.clone()))
            }
            outcome => Ok(outcome.map(drop)?),
        }
    }

    async fn write_key(&self, project: &ProjectName, key: &Key) -> Result<(), CatalogueError> {
        let id = self.project_id(project).await?;
        let positions = self.database.collection::<KeyPosition>("keys");
        let named = doc! { "project": &id, "kid": &key.id };
        let mut attempts = 0..PUT_ATTEMPTS;
        loop {
            if let Some(found) = positions.find_one(named.clone()).await? {
                let replacement = KeyDocument::new(&id, key, found.position());
                return Ok(self.key_documents().replace_one(named, replacement).await.map(drop)?);
            }
            let last = positions.find_one(doc! { "project": &id }).sort(doc! { "position": -1 }).await?;
            let position = last.map_or(0, |last| last.position().saturating_add(1));
            match self.key_documents().insert_one(KeyDocument::new(&id, key, position)).await {
                Err(error) if is_duplicate(&error) && attempts.next().is_some() => {}
                outcome => return Ok(outcome.map(drop)?),
            }
        }
    }

    async fn write_project(&self, project: &Project) -> Result<(), CatalogueError> {
        let id = self.project_id(&project.name).await?;
        let replacement = ProjectDocument::new(&id, project);
        Ok(self.project_documents().replace_one(doc! { "_id": &id }, replacement).await.map(drop)?)
    }

    /// Deletes the project before its keys and events: if the process is killed in between, they belong to no project,
    /// and a new project of the same name has another id.
    async fn delete_project(&self, name: &ProjectName) -> Result<(), CatalogueError> {
        let id = self.project_id(name).await?;
        self.project_documents().delete_one(doc! { "_id": &id }).await?;
        self.key_documents().delete_many(doc! { "project": &id }).await?;
        self.event_documents().delete_many(doc! { "project": &id }).await?;
        Ok(())
    }

    async fn list_projects(&self) -> Result<Vec<ProjectName>, CatalogueError> {
        let mut documents =
            self.database.collection::<Document>("projects").find(doc! {}).sort(doc! { "name": 1 }).await?;
        let unreadable = || CatalogueError::Unreadable("a project's name");
        let mut names = Vec::new();
        while let Some(document) = documents.try_next().await? {
            let name = document.get_str("name").map_err(|_| unreadable())?;
            names.push(ProjectName::parse(name).map_err(|_| unreadable())?);
        }
        Ok(names)
    }

    async fn read_event(&self, project: &ProjectName, name: &str) -> Result<Option<EventDefinition>, CatalogueError> {
        let Some(project) = self.find_project(project).await? else { return Ok(None) };
        let found = self.event_documents().find_one(doc! { "project": project.id, "name": name }).await?;
        found.map(EventDefinition::try_from).transpose()
    }

    async fn read_events(&self, project: &ProjectName) -> Result<Vec<EventDefinition>, CatalogueError> {
        let Some(project) = self.find_project(project).await? else { return Ok(Vec::new()) };
        let found = self.event_documents().find(doc! { "project": project.id }).sort(doc! { "name": 1 }).await?;
        let documents: Vec<EventDocument> = found.try_collect().await?;
        documents.into_iter().map(EventDefinition::try_from).collect()
    }

    async fn write_event(&self, project: &ProjectName, event: &EventDefinition) -> Result<(), CatalogueError> {
        let id = self.project_id(project).await?;
        let mut attempts = 0..PUT_ATTEMPTS;
        loop {
            let named = doc! { "project": &id, "name": &event.name };
            match self.event_documents().replace_one(named, EventDocument::new(&id, event)).upsert(true).await {
                // Another process added it at the same time, so now it can be replaced.
                Err(error) if is_duplicate(&error) && attempts.next().is_some() => {}
                outcome => return Ok(outcome.map(drop)?),
            }
        }
    }

    async fn create_demo(&self) -> Result<bool, CatalogueError> {
        let any = self.database.collection::<Document>("projects").find_one(doc! {}).await?;
        if any.is_some() {
            return Ok(false);
        }
        let mut demo = Project::new(ProjectName::demo());
        demo.keys = vec![Key::random(KeyUse::Api)?, Key::random(KeyUse::User)?];
        match self.insert_project(&demo).await {
            // Another node has just created it.
            Err(CatalogueError::ProjectExists(_)) => Ok(false),
            outcome => outcome.map(|()| true),
        }
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
