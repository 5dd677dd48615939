//! The catalogue as commands use it: opened where the settings say, read, changed, and the nodes told of the change.

use std::path::{Path, PathBuf};

use actors::bus::Control;
use actors::bus::redis::{RedisAddress, announce_once};

use super::{Failure, answer, run_to_end, tell};
use crate::catalogue::{Catalogue, CatalogueError, EmbeddedCatalogue, MongoCatalogue, Project, ProjectName};
use crate::settings::{BusKind, CatalogueKind, CatalogueSettings, Loaded, Settings};

/// Why a command could not do its work on the catalogue.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccessFailure {
    #[error("there is no data folder {}: start `carillon` once, or name its settings with --config", .0.display())]
    NoFolder(PathBuf),
    #[error("there is no project {project} in {place}: mend --project, or name the node's settings with --config")]
    NoProject { project: ProjectName, place: String },
    #[error("the project {project} has no key {key}: `carillon key list --project {project}` shows them")]
    NoKey { project: ProjectName, key: String },
    #[error("{0}")]
    Argument(String),
    #[error(
        "done, but the nodes could not be told over Redis: they see it when they hear it again, or after catalogue.cache_seconds: {0}"
    )]
    NotTold(String),
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

/// Opens the catalogue that a node with these settings serves from.
pub(super) async fn open(settings: &Settings) -> Result<Box<dyn Catalogue>, AccessFailure> {
    let CatalogueSettings { kind, mongodb, .. } = &settings.catalogue;
    Ok(match kind {
        // Opening makes what is missing: in a wrong folder that would end in an empty catalogue that nobody serves from.
        CatalogueKind::Embedded if !settings.data.dir.is_dir() => {
            return Err(AccessFailure::NoFolder(settings.data.dir.clone()));
        }
        CatalogueKind::Embedded => Box::new(EmbeddedCatalogue::open(&settings.data.dir)?),
        CatalogueKind::Mongodb => Box::new(MongoCatalogue::connect(&mongodb.uri, &mongodb.database).await?),
    })
}

/// Reads a project that must be there.
pub(super) async fn read_project(
    settings: &Settings,
    catalogue: &dyn Catalogue,
    name: &ProjectName,
) -> Result<Project, AccessFailure> {
    let found = catalogue.project(name).await?;
    found.ok_or_else(|| AccessFailure::NoProject { project: name.clone(), place: place(settings) })
}

/// Runs a command's work on the catalogue.
pub(super) fn with_catalogue<T>(
    settings: &Settings,
    work: impl AsyncFnOnce(&dyn Catalogue) -> Result<T, AccessFailure>,
) -> Result<T, Failure> {
    Ok(run_to_end(async { work(open(settings).await?.as_ref()).await })??)
}

/// The same with the process's settings, and prints what the work answers.
pub(super) fn answer_from_catalogue(
    file: Option<&Path>,
    work: impl AsyncFnOnce(&Settings, &dyn Catalogue) -> Result<String, AccessFailure>,
) -> Result<(), Failure> {
    let settings = Loaded::from_process(file)?.settings;
    answer(with_catalogue(&settings, async |catalogue| work(&settings, catalogue).await)?)
}

/// Tells the nodes that a project was changed, and answers how they come to know, as an end of a sentence.
///
/// On the embedded catalogue a node sees changes by itself; a cluster is told over its Redis.
pub(super) async fn tell_nodes(settings: &Settings, project: &ProjectName) -> Result<String, AccessFailure> {
    let seconds = settings.catalogue.cache_seconds;
    match (settings.bus.kind, settings.catalogue.kind) {
        (BusKind::Redis, _) => {
            let redis = &settings.bus.redis;
            let address = RedisAddress::parse(redis.url.expose())
                .map_err(|error| AccessFailure::NotTold(format!("bus.redis.url: {error}")))?;
            let message = Control::ProjectChanged { project: project.to_string() };
            let heard = announce_once(&address, &redis.prefix, &message).await.map_err(AccessFailure::NotTold)?;
            Ok(format!("{heard} nodes were told"))
        }
        (BusKind::Local, CatalogueKind::Embedded) => Ok("a node that runs on it sees it within a second".to_owned()),
        (BusKind::Local, CatalogueKind::Mongodb) => Ok(format!("the node sees it within {seconds} s")),
    }
}

/// Tells the nodes of something new, which they find by themselves soon: that they could not be told is no failure.
pub(super) async fn tell_nodes_of_new(settings: &Settings, project: &ProjectName) {
    if let Err(failure) = tell_nodes(settings, project).await {
        tell(format_args!("carillon: {failure}"));
    }
}

/// Where the catalogue is, as an operator knows it.
fn place(settings: &Settings) -> String {
    let CatalogueSettings { kind, mongodb, .. } = &settings.catalogue;
    match kind {
        CatalogueKind::Embedded => settings.data.dir.display().to_string(),
        CatalogueKind::Mongodb => format!("the database {} of {}", mongodb.database, mongodb.uri),
    }
}
