//! `carillon project …`: lists, adds, switches off and on, and says which events a project knows.

use std::path::Path;

use clap::{Subcommand, ValueEnum};

use super::Failure;
use super::catalogue::{AccessFailure, answer_from_catalogue, read_project, tell_nodes, tell_nodes_of_new};
use crate::catalogue::{Catalogue, EventMode, Key, KeyUse, Project, ProjectName};
use crate::settings::Settings;

#[derive(Debug, Subcommand)]
pub(super) enum ProjectCommand {
    /// Prints every project, one a line: name, state, which events it knows.
    List,
    /// Adds a project with a random key for each use.
    Add {
        name: ProjectName,
        /// Which events it knows.
        #[arg(long, value_name = "WHICH", default_value = "open")]
        events: Events,
    },
    /// Switches a project off: its tokens are refused and its sessions closed, on all nodes.
    Disable { name: ProjectName },
    /// Switches it on again.
    Enable { name: ProjectName },
    /// Says which events a project knows from now on.
    Events { name: ProjectName, events: Events },
}

/// [`EventMode`] as an argument.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Events {
    /// Every name is an event.
    Open,
    /// Only what `carillon event` has defined is one.
    Defined,
}

impl From<Events> for EventMode {
    fn from(events: Events) -> EventMode {
        match events {
            Events::Open => EventMode::Open,
            Events::Defined => EventMode::Defined,
        }
    }
}

impl ProjectCommand {
    pub(super) fn run(&self, file: Option<&Path>) -> Result<(), Failure> {
        answer_from_catalogue(file, async |settings, catalogue| self.work(settings, catalogue).await)
    }

    async fn work(&self, settings: &Settings, catalogue: &dyn Catalogue) -> Result<String, AccessFailure> {
        match self {
            Self::List => list(catalogue).await,
            Self::Add { name, events } => {
                let mut project = Project::new(name.clone());
                project.events = (*events).into();
                project.keys = vec![Key::random(KeyUse::Api)?, Key::random(KeyUse::User)?];
                catalogue.create_project(&project).await?;
                tell_nodes_of_new(settings, name).await;
                Ok(format!("added the project {name}\n"))
            }
            Self::Disable { name } => change(settings, catalogue, name, |project| project.active = false).await,
            Self::Enable { name } => change(settings, catalogue, name, |project| project.active = true).await,
            Self::Events { name, events } => {
                change(settings, catalogue, name, |project| project.events = (*events).into()).await
            }
        }
    }
}

async fn list(catalogue: &dyn Catalogue) -> Result<String, AccessFailure> {
    let mut text = String::new();
    for name in catalogue.projects().await? {
        // Nobody removes projects but by hand.
        if let Some(project) = catalogue.project(&name).await? {
            text.push_str(&line(&project));
        }
    }
    Ok(text)
}

async fn change(
    settings: &Settings,
    catalogue: &dyn Catalogue,
    name: &ProjectName,
    change: impl FnOnce(&mut Project),
) -> Result<String, AccessFailure> {
    let mut project = read_project(settings, catalogue, name).await?;
    change(&mut project);
    catalogue.put_project(&project).await?;
    let told = tell_nodes(settings, name).await?;
    Ok(format!("{}: {told}\n", line(&project).trim_end()))
}

fn line(project: &Project) -> String {
    let state = if project.active { "active" } else { "disabled" };
    format!("{} {state} {}\n", project.name, project.events.as_str())
}
