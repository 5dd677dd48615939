//! The events of a project: every name, or only defined ones, and the permissions of a definition.

use std::str::FromStr;

use super::CatalogueError;

/// Whether the events of a project must be defined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventMode {
    /// Every name is an event. Definitions are ignored.
    #[default]
    Open,
    /// Only defined names are events.
    Defined,
}

impl EventMode {
    /// Every mode.
    pub const ALL: [EventMode; 2] = [EventMode::Open, EventMode::Defined];

    /// The name of the mode in the catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            EventMode::Open => "open",
            EventMode::Defined => "defined",
        }
    }
}

impl FromStr for EventMode {
    type Err = CatalogueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        EventMode::ALL
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or(CatalogueError::Unreadable("a project's mode of events"))
    }
}

/// An event of a project in the mode [`EventMode::Defined`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDefinition {
    /// 1 to 200 bytes, unique within the project.
    pub name: String,
    /// An inactive definition counts as missing.
    pub active: bool,
    /// The applications (`sub` of API tokens) whose clients may subscribe. `None` means all applications of the
    /// project.
    pub subscribers: Option<Vec<String>>,
    /// The applications that may emit. `None` means all applications of the project.
    pub emitters: Option<Vec<String>>,
}

impl EventDefinition {
    /// An active event that every application of the project may use.
    pub fn new(name: impl Into<String>) -> Self {
        EventDefinition { name: name.into(), active: true, subscribers: None, emitters: None }
    }
}
