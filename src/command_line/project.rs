//! `carillon project …`: lists, adds, disables, enables and removes projects, and sets which events they accept.

use std::path::Path;

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::Failure;
use super::catalogue::{AccessFailure, answer_from_catalogue, notify_nodes, notify_nodes_of_new, read_project};
use super::confirm::confirm;
use super::output::{Answer, Format};
use crate::catalogue::{Catalogue, EventMode, Key, KeyUse, Project, ProjectName};
use crate::settings::Settings;

pub(super) const EXAMPLES: &str = "\
Examples:
  carillon project list --json
  carillon project add shop --events defined
  carillon project disable shop
  carillon project remove shop --yes";

#[derive(Debug, Subcommand)]
pub(super) enum ProjectCommand {
    /// Prints the projects, one per line: name, state, which events it accepts.
    List,
    /// Adds a project with a random key for each use.
    Add {
        name: ProjectName,
        /// Which events the project accepts.
        #[arg(long, value_name = "WHICH", default_value = "open")]
        events: Events,
    },
    /// Disables a project: all nodes refuse its tokens and close its sessions.
    Disable { name: ProjectName },
    /// Enables a project again.
    Enable { name: ProjectName },
    /// Sets which events a project accepts.
    Events { name: ProjectName, events: Events },
    /// Removes a project with its keys and events, for good: all nodes refuse its tokens and close its sessions.
    Remove {
        name: ProjectName,
        /// Removes it without asking.
        #[arg(long)]
        yes: bool,
    },
}

/// [`EventMode`] as an argument.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Events {
    /// Every name is an event.
    Open,
    /// Only the names that `carillon event define` has defined are events.
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
    pub(super) fn run(&self, file: Option<&Path>, format: Format) -> Result<(), Failure> {
        answer_from_catalogue(file, format, async |settings, catalogue| self.work(settings, catalogue).await)
    }

    async fn work(&self, settings: &Settings, catalogue: &dyn Catalogue) -> Result<Answer, AccessFailure> {
        match self {
            Self::List => list(catalogue).await,
            Self::Add { name, events } => {
                let mut project = Project::new(name.clone());
                project.events = (*events).into();
                project.keys = vec![Key::random(KeyUse::Api)?, Key::random(KeyUse::User)?];
                catalogue.create_project(&project).await?;
                notify_nodes_of_new(settings, name).await;
                Ok(Answer::new(format!("added the project {name}\n"), json!({"project": to_json(&project)})))
            }
            Self::Disable { name } => change(settings, catalogue, name, |project| project.active = false).await,
            Self::Enable { name } => change(settings, catalogue, name, |project| project.active = true).await,
            Self::Events { name, events } => {
                change(settings, catalogue, name, |project| project.events = (*events).into()).await
            }
            Self::Remove { name, yes } => {
                read_project(settings, catalogue, name).await?;
                if !yes {
                    confirm(&format!("The project {name}, its keys and its events are removed for good."))?;
                }
                catalogue.remove_project(name).await?;
                let notified = notify_nodes(settings, name).await?;
                let text = format!("removed the project {name}: {notified}\n");
                Ok(Answer::new(text, notified.add_to(json!({"removed": name.as_str()}))))
            }
        }
    }
}

async fn list(catalogue: &dyn Catalogue) -> Result<Answer, AccessFailure> {
    let (mut text, mut projects) = (String::new(), Vec::new());
    for name in catalogue.projects().await? {
        // A project may have been removed in the meantime.
        if let Some(project) = catalogue.project(&name).await? {
            text.push_str(&format!("{}\n", line(&project)));
            projects.push(to_json(&project));
        }
    }
    Ok(Answer::new(text, json!({"projects": projects})))
}

async fn change(
    settings: &Settings,
    catalogue: &dyn Catalogue,
    name: &ProjectName,
    change: impl FnOnce(&mut Project),
) -> Result<Answer, AccessFailure> {
    let mut project = read_project(settings, catalogue, name).await?;
    change(&mut project);
    catalogue.put_project(&project).await?;
    let notified = notify_nodes(settings, name).await?;
    let text = format!("{}: {notified}\n", line(&project));
    Ok(Answer::new(text, notified.add_to(json!({"project": to_json(&project)}))))
}

fn line(project: &Project) -> String {
    let state = if project.active { "active" } else { "disabled" };
    format!("{} {state} {}", project.name, project.events.as_str())
}

fn to_json(project: &Project) -> Value {
    json!({"name": project.name.as_str(), "active": project.active, "events": project.events.as_str()})
}
