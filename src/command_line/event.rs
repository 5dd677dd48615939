//! `carillon event …`: lists, defines and removes the events of a project that knows defined ones only.

use std::path::Path;

use clap::Subcommand;

use actors::session::request::{EVENT_NAME_RULE, is_event_name};

use super::Failure;
use super::catalogue::{AccessFailure, answer_from_catalogue, read_project, tell_nodes};
use crate::catalogue::{Catalogue, EventDefinition, EventMode, ProjectName};
use crate::settings::Settings;

#[derive(Debug, Subcommand)]
pub(super) enum EventCommand {
    /// Prints a project's events, one a line, as JSON.
    List {
        /// The project.
        #[arg(long)]
        project: ProjectName,
    },
    /// Defines an event, or defines it anew.
    Define {
        /// The project.
        #[arg(long)]
        project: ProjectName,
        /// The applications whose clients may subscribe, with commas between them; without it, all of the project.
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        subscribers: Option<Vec<String>>,
        /// The applications that may emit; without it, all of the project.
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        emitters: Option<Vec<String>>,
        /// The event's name.
        name: String,
    },
    /// Makes an event unknown again.
    Remove {
        /// The project.
        #[arg(long)]
        project: ProjectName,
        /// The event's name.
        name: String,
    },
}

impl EventCommand {
    pub(super) fn run(&self, file: Option<&Path>) -> Result<(), Failure> {
        answer_from_catalogue(file, async |settings, catalogue| self.work(settings, catalogue).await)
    }

    async fn work(&self, settings: &Settings, catalogue: &dyn Catalogue) -> Result<String, AccessFailure> {
        match self {
            Self::List { project } => {
                read_project(settings, catalogue, project).await?;
                Ok(catalogue.events(project).await?.iter().filter(|event| event.active).map(line).collect())
            }
            Self::Define { project, subscribers, emitters, name } => {
                if !is_event_name(name) {
                    return Err(AccessFailure::Argument(EVENT_NAME_RULE.to_owned()));
                }
                let found = read_project(settings, catalogue, project).await?;
                let (subscribers, emitters) = (subscribers.clone(), emitters.clone());
                let event = EventDefinition { subscribers, emitters, ..EventDefinition::new(name) };
                catalogue.put_event(project, &event).await?;
                let told = tell_nodes(settings, project).await?;
                let hint = match found.events {
                    EventMode::Open => format!(
                        "; the project is open, so that it counts only after `carillon project events {project} defined`"
                    ),
                    EventMode::Defined => String::new(),
                };
                Ok(format!("defined the event {name:?} of project {project}: {told}{hint}\n"))
            }
            Self::Remove { project, name } => {
                read_project(settings, catalogue, project).await?;
                let found = catalogue.event(project, name).await?.filter(|event| event.active);
                let event = found
                    .ok_or_else(|| AccessFailure::Argument(format!("the project {project} has no event {name:?}")))?;
                catalogue.put_event(project, &EventDefinition { active: false, ..event }).await?;
                let told = tell_nodes(settings, project).await?;
                Ok(format!("removed the event {name:?} of project {project}: {told}\n"))
            }
        }
    }
}

fn line(event: &EventDefinition) -> String {
    let mut fields = serde_json::json!({"name": event.name});
    for (rule, names) in [("subscribers", &event.subscribers), ("emitters", &event.emitters)] {
        if let Some(names) = names {
            fields[rule] = names.as_slice().into();
        }
    }
    format!("{fields}\n")
}
