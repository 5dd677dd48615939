//! The reads and writes of the catalogue in MongoDB, without timeouts: `mongo.rs` adds them.

use futures::TryStreamExt as _;
use mongodb::Collection;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc};

use super::MongoCatalogue;
use super::connection::is_duplicate;
use super::documents::{EventDocument, KeyDocument, KeyPosition, ProjectDocument};
use crate::catalogue::{CatalogueError, EventDefinition, Key, KeyUse, Project, ProjectName};

/// The number of retries if another process writes a document with the same unique key at the same time.
const PUT_ATTEMPTS: usize = 3;

impl MongoCatalogue {
    pub(super) fn project_documents(&self) -> Collection<ProjectDocument> {
        self.database.collection("projects")
    }

    pub(super) fn key_documents(&self) -> Collection<KeyDocument> {
        self.database.collection("keys")
    }

    pub(super) fn event_documents(&self) -> Collection<EventDocument> {
        self.database.collection("events")
    }

    /// The `_id` of a project that must exist.
    pub(super) async fn project_id(&self, name: &ProjectName) -> Result<String, CatalogueError> {
        let found = self.find_project(name).await?;
        Ok(found.ok_or_else(|| CatalogueError::ProjectUnknown(name.clone()))?.id)
    }

    pub(super) async fn find_project(&self, name: &ProjectName) -> Result<Option<ProjectDocument>, CatalogueError> {
        Ok(self.project_documents().find_one(doc! { "name": name.as_str() }).await?)
    }

    pub(super) async fn read_project(&self, name: &ProjectName) -> Result<Option<Project>, CatalogueError> {
        let Some(found) = self.find_project(name).await? else {
            return Ok(None);
        };
        let order = doc! { "position": 1, "_id": 1 };
        let cursor = self.key_documents().find(doc! { "project": &found.id }).sort(order).await?;
        let documents: Vec<KeyDocument> = cursor.try_collect().await?;
        let keys = documents.into_iter().map(Key::try_from).collect::<Result<_, _>>()?;
        found.into_project(name.clone(), keys).map(Some)
    }

    pub(super) async fn insert_project(&self, project: &Project) -> Result<(), CatalogueError> {
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

    pub(super) async fn write_key(&self, project: &ProjectName, key: &Key) -> Result<(), CatalogueError> {
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

    pub(super) async fn write_project(&self, project: &Project) -> Result<(), CatalogueError> {
        let id = self.project_id(&project.name).await?;
        let replacement = ProjectDocument::new(&id, project);
        Ok(self.project_documents().replace_one(doc! { "_id": &id }, replacement).await.map(drop)?)
    }

    /// Deletes the project before its keys and events: if the process is killed in between, they belong to no project,
    /// and a new project of the same name has another id.
    pub(super) async fn delete_project(&self, name: &ProjectName) -> Result<(), CatalogueError> {
        let id = self.project_id(name).await?;
        self.project_documents().delete_one(doc! { "_id": &id }).await?;
        self.key_documents().delete_many(doc! { "project": &id }).await?;
        self.event_documents().delete_many(doc! { "project": &id }).await?;
        Ok(())
    }

    pub(super) async fn list_projects(&self) -> Result<Vec<ProjectName>, CatalogueError> {
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

    pub(super) async fn read_event(
        &self,
        project: &ProjectName,
        name: &str,
    ) -> Result<Option<EventDefinition>, CatalogueError> {
        let Some(project) = self.find_project(project).await? else { return Ok(None) };
        let found = self.event_documents().find_one(doc! { "project": project.id, "name": name }).await?;
        found.map(EventDefinition::try_from).transpose()
    }

    pub(super) async fn read_events(&self, project: &ProjectName) -> Result<Vec<EventDefinition>, CatalogueError> {
        let Some(project) = self.find_project(project).await? else { return Ok(Vec::new()) };
        let found = self.event_documents().find(doc! { "project": project.id }).sort(doc! { "name": 1 }).await?;
        let documents: Vec<EventDocument> = found.try_collect().await?;
        documents.into_iter().map(EventDefinition::try_from).collect()
    }

    pub(super) async fn write_event(
        &self,
        project: &ProjectName,
        event: &EventDefinition,
    ) -> Result<(), CatalogueError> {
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

    pub(super) async fn create_demo(&self) -> Result<bool, CatalogueError> {
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
