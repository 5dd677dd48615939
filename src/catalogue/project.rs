//! A project (a tenant) and its name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

use super::{EventMode, Key};

/// A project's name: 1 to 63 bytes, `[a-z0-9][a-z0-9_-]{0,62}`, which is safe in a path and in a channel name. It is
/// cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectName(Arc<str>);

/// The text is not a valid name of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a project's name has 1 to 63 characters: a-z, 0-9, and after the first one also `_` and `-`")]
pub struct ProjectNameError;

impl ProjectName {
    /// The longest name in bytes. It is the longest DNS label.
    pub const MAX_BYTES: usize = 63;

    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, ProjectNameError> {
        let mut bytes = text.bytes();
        let is_first_valid = bytes.next().is_some_and(is_letter_or_digit);
        let is_rest_valid = bytes.all(|byte| is_letter_or_digit(byte) || matches!(byte, b'_' | b'-'));
        if is_first_valid && is_rest_valid && text.len() <= Self::MAX_BYTES {
            Ok(ProjectName(Arc::from(text)))
        } else {
            Err(ProjectNameError)
        }
    }

    /// The name of the project that a first start creates.
    pub fn demo() -> Self {
        ProjectName(Arc::from("demo"))
    }

    /// The name as a shared text.
    pub fn to_shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_letter_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

impl FromStr for ProjectName {
    type Err = ProjectNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for ProjectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ProjectName({})", self.0)
    }
}

/// A tenant: the requirements for its tokens, and the keys that sign them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub name: ProjectName,
    /// The tokens of an inactive project are refused.
    pub active: bool,
    /// The value that a token's `aud` must contain. `None` ignores `aud`.
    pub audience: Option<String>,
    /// The value that a token's `iss` must have. `None` ignores `iss`.
    pub issuer: Option<String>,
    /// Whether events must be defined.
    pub events: EventMode,
    /// All keys, including inactive ones, in the order in which they were added.
    pub keys: Vec<Key>,
}

impl Project {
    /// An active project without keys that ignores `aud` and `iss` and allows every event.
    pub fn new(name: ProjectName) -> Self {
        Project { name, active: true, audience: None, issuer: None, events: EventMode::Open, keys: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_letters_digits_underscore_and_hyphen() {
        for good in ["a", "0", "demo", "a_b-c9", &"x".repeat(63)] {
            assert_eq!(ProjectName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "_a", "-a", "A", "aB", "a.b", "a/b", "..", "a b", "é", "a\0", "a\n", &"x".repeat(64)] {
            assert_eq!(ProjectName::parse(bad), Err(ProjectNameError), "{bad:?}");
        }
    }

    #[test]
    fn demo_is_a_valid_name() {
        assert_eq!(ProjectName::parse("demo").unwrap(), ProjectName::demo());
    }
}
