//! The catalogue as commands use it: opens the one that the settings name, and notifies the nodes of changes.

use std::fmt;
use std::path::{Path, PathBuf};

use actors::bus::Control;
use actors::bus::redis::{RedisAddress, announce_once};
use serde_json::Value;

use super::output::{Answer, Format, report};
use super::{Failure, block_on};
use crate::catalogue::{Catalogue, CatalogueError, EmbeddedCatalogue, MongoCatalogue, Project, ProjectName};
use crate::settings::{BusKind, CatalogueKind, CatalogueSettings, Loaded, Settings};

/// How long a node takes to notice a change of the embedded catalogue, in seconds.
const EMBEDDED_SECONDS: u64 = 1;

/// Why a command could not use the catalogue.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccessFailure {
    #[error("there is no data folder {}: start `carillon` once, or name its settings with --config", .0.display())]
    NoFolder(PathBuf),
    #[error("there is no project {project} in {place}: correct its name, or name the node's settings with --config")]
    NoProject { project: ProjectName, place: String },
    #[error("the project {project} has no key {key}: `carillon key list --project {project}` shows its keys")]
    NoKey { project: ProjectName, key: String },
    #[error("{0}")]
    Argument(String),
    #[error(
        "the change is saved, but the nodes could not be notified over Redis: they read it when they reach Redis again, or after catalogue.cache_seconds: {0}"
    )]
    NotNotified(String),
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

/// Opens the catalogue that a node with these settings uses.
pub(super) async fn open(settings: &Settings) -> Result<Box<dyn Catalogue>, AccessFailure> {
    let CatalogueSettings { kind, mongodb, .. } = &settings.catalogue;
    Ok(match kind {
        // Opening creates missing files. In a wrong folder, that would make an empty catalogue that no node uses.
        CatalogueKind::Embedded if !settings.data.dir.is_dir() => {
            return Err(AccessFailure::NoFolder(settings.data.dir.clone()));
        }
        CatalogueKind::Embedded => Box::new(EmbeddedCatalogue::open(&settings.data.dir)?),
        CatalogueKind::Mongodb => Box::new(MongoCatalogue::connect(&mongodb.uri, &mongodb.database).await?),
    })
}

/// Reads a project that must exist.
pub(super) async fn read_project(
    settings: &Settings,
    catalogue: &dyn Catalogue,
    name: &ProjectName,
) -> Result<Project, AccessFailure> {
    let found = catalogue.project(name).await?;
    found.ok_or_else(|| AccessFailure::NoProject { project: name.clone(), place: place(settings) })
}

/// Runs `work` on the catalogue of these settings.
pub(super) fn with_catalogue<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&dyn Catalogue) -> Result<T, AccessFailure>,
) -> Result<T, Failure> {
    Ok(block_on(async { work(open(settings).await?.as_ref()).await })??)
}

/// Runs `work` on the catalogue of this process's settings, and prints the answer.
pub(super) fn answer_from_catalogue(
    file: Option<&Path>,
    format: Format,
    work: impl AsyncFnOnce(&Settings, &dyn Catalogue) -> Result<Answer, AccessFailure>,
) -> Result<(), Failure> {
    let settings = Loaded::from_process(file)?.settings;
    with_catalogue(&settings, async |catalogue| work(&settings, catalogue).await)?.print(format)
}

/// How nodes learn of a change. Its text is the end of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notified {
    /// This many nodes were notified over Redis.
    Nodes(u64),
    /// The node of the embedded catalogue sees it within a second.
    EmbeddedNode,
    /// The node sees it within this many seconds.
    WithinSeconds(u64),
}

impl fmt::Display for Notified {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notified::Nodes(nodes) => write!(formatter, "{nodes} nodes were notified"),
            Notified::EmbeddedNode => formatter.write_str("a node that runs on it sees it within a second"),
            Notified::WithinSeconds(seconds) => write!(formatter, "the node sees it within {seconds} s"),
        }
    }
}

impl Notified {
    /// Adds `nodes_notified` and `visible_within_seconds` to a JSON object.
    pub fn add_to(self, mut json: Value) -> Value {
        let (nodes, seconds) = match self {
            Notified::Nodes(nodes) => (Some(nodes), 0),
            Notified::EmbeddedNode => (None, EMBEDDED_SECONDS),
            Notified::WithinSeconds(seconds) => (None, seconds),
        };
        json["nodes_notified"] = nodes.into();
        json["visible_within_seconds"] = seconds.into();
        json
    }
}

/// Notifies the nodes that a project was changed.
///
/// A node on the embedded catalogue sees changes by itself. A cluster is notified over its Redis.
pub(super) async fn notify_nodes(settings: &Settings, project: &ProjectName) -> Result<Notified, AccessFailure> {
    match (settings.bus.kind, settings.catalogue.kind) {
        (BusKind::Redis, _) => {
            let redis = &settings.bus.redis;
            let address = RedisAddress::parse(redis.url.expose())
                .map_err(|error| AccessFailure::NotNotified(format!("bus.redis.url: {error}")))?;
            let message = Control::ProjectChanged { project: project.to_string() };
            let nodes = announce_once(&address, &redis.prefix, &message).await.map_err(AccessFailure::NotNotified)?;
            Ok(Notified::Nodes(nodes))
        }
        (BusKind::Local, CatalogueKind::Embedded) => Ok(Notified::EmbeddedNode),
        (BusKind::Local, CatalogueKind::Mongodb) => Ok(Notified::WithinSeconds(settings.catalogue.cache_seconds)),
    }
}

/// Notifies the nodes of something new. They find it by themselves soon, so that a failure is only reported.
pub(super) async fn notify_nodes_of_new(settings: &Settings, project: &ProjectName) {
    if let Err(failure) = notify_nodes(settings, project).await {
        report(format_args!("carillon: {failure}"));
    }
}

/// Where the catalogue is, in an operator's terms.
fn place(settings: &Settings) -> String {
    let CatalogueSettings { kind, mongodb, .. } = &settings.catalogue;
    match kind {
        CatalogueKind::Embedded => settings.data.dir.display().to_string(),
        CatalogueKind::Mongodb => format!("the database {} of {}", mongodb.database, mongodb.uri),
    }
}
