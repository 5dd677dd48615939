//! `carillon event …`: lists, defines and removes the events of a project that accepts only defined events.

use std::path::Path;

use clap::Subcommand;
use serde_json::{Value, json};

use actors::session::request::{EVENT_NAME_RULE, is_event_name};

use super::Failure;
use super::catalogue::{AccessFailure, answer_from_catalogue, notify_nodes, read_project};
use super::output::{Answer, Format};
use crate::catalogue::{Catalogue, EventDefinition, EventMode, ProjectName};
use crate::settings::Settings;

pub(super) const EXAMPLES: &str = "\
Examples:
  carillon event define --project shop order-updates
  carillon event define --project shop --subscribers web,app --emitters backend order-updates
  carillon event list --project shop
  carillon event remove --project shop order-updates";

#[derive(Debug, Subcommand)]
pub(super) enum EventCommand {
    /// Prints a project's events, one JSON object per line.
    List {
        /// The project.
        #[arg(long)]
        project: ProjectName,
    },
    /// Defines an event, or replaces its definition.
    Define {
        /// The project.
        #[arg(long)]
        project: ProjectName,
        /// Applications whose clients may subscribe, separated by commas. Without it, all applications of the project.
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        subscribers: Option<Vec<String>>,
        /// Applications that may emit, separated by commas. Without it, all applications of the project.
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        emitters: Option<Vec<String>>,
        /// The event's name.
        name: String,
    },
    /// Removes the definition of an event.
    Remove {
        /// The project.
        #[arg(long)]
        project: ProjectName,
        /// The event's name.
        name: String,
    },
}

impl EventCommand {
    pub(super) fn run(&self, file: Option<&Path>, format: Format) -> Result<(), Failure> {
        answer_from_catalogue(file, format, async |settings, catalogue| self.work(settings, catalogue).await)
    }

    async fn work(&self, settings: &Settings, catalogue: &dyn Catalogue) -> Result<Answer, AccessFailure> {
        match self {
            Self::List { project } => {
                read_project(settings, catalogue, project).await?;
                let mut events = catalogue.events(project).await?;
                events.retain(|event| event.active);
                let events: Vec<_> = events.iter().map(to_json).collect();
                let text: String = events.iter().map(|event| format!("{event}\n")).collect();
                Ok(Answer::new(text, json!({"events": events})))
            }
            Self::Define { project, subscribers, emitters, name } => {
                if !is_event_name(name) {
                    return Err(AccessFailure::Argument(EVENT_NAME_RULE.to_owned()));
                }
                let found = read_project(settings, catalogue, project).await?;
                let (subscribers, emitters) = (subscribers.clone(), emitters.clone());
                let event = EventDefinition { subscribers, emitters, ..EventDefinition::new(name) };
                catalogue.put_event(project, &event).await?;
                let notified = notify_nodes(settings, project).await?;
                let hint = match found.events {
                    EventMode::Open => format!(
                        "; the project is open, so the definition takes effect after `carillon project events {project} defined`"
                    ),
                    EventMode::Defined => String::new(),
                };
                let text = format!("defined the event {name:?} of project {project}: {notified}{hint}\n");
                Ok(Answer::new(text, notified.add_to(json!({"event": to_json(&event)}))))
            }
            Self::Remove { project, name } => {
                read_project(settings, catalogue, project).await?;
                let found = catalogue.event(project, name).await?.filter(|event| event.active);
                let event = found
                    .ok_or_else(|| AccessFailure::Argument(format!("the project {project} has no event {name:?}")))?;
                catalogue.put_event(project, &EventDefinition { active: false, ..event }).await?;
                let notified = notify_nodes(settings, project).await?;
                let text = format!("removed the event {name:?} of project {project}: {notified}\n");
                Ok(Answer::new(text, notified.add_to(json!({"removed": name}))))
            }
        }
    }
}

fn to_json(event: &EventDefinition) -> Value {
    let mut fields = json!({"name": event.name});
    for (rule, names) in [("subscribers", &event.subscribers), ("emitters", &event.emitters)] {
        if let Some(names) = names {
            fields[rule] = names.as_slice().into();
        }
    }
    fields
}
