//! Which events a project knows: any name, or those that are defined; and what a definition allows.

use std::str::FromStr;

use super::CatalogueError;

/// Which events of a project exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EventMode {
    /// Every name is an event; definitions are not read.
    #[default]
    Open,
    /// Only what is defined is an event.
    Defined,
}

impl EventMode {
    /// Every mode.
    pub const ALL: [EventMode; 2] = [EventMode::Open, EventMode::Defined];

    /// The mode as text, as the catalogue keeps it.
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
            .ok_or(CatalogueError::Unreadable("which events a project knows"))
    }
}

/// One event of a project that knows defined ones only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDefinition {
    /// 1 to 200 bytes; unique within the project.
    pub name: String,
    /// An inactive definition is none.
    pub active: bool,
    /// The applications (`sub` of API tokens) whose clients may subscribe; `None`: all of the project.
    pub subscribers: Option<Vec<String>>,
    /// The applications that may emit; `None`: all of the project.
    pub emitters: Option<Vec<String>>,
}

impl EventDefinition {
    /// An active event that every application of the project may use.
    pub fn new(name: impl Into<String>) -> Self {
        EventDefinition { name: name.into(), active: true, subscribers: None, emitters: None }
    }
}
