//! The problems of settings. Each message says where the problem is.

use std::fmt;

use super::Source;

/// One problem. Its text is one line, which begins with `section.key` if the problem is about a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {cause}")]
    Unreadable { file: Source, cause: String },
    /// The file is not TOML.
    #[error("{file}: {cause}")]
    NotToml { file: Source, cause: String },
    /// No such section or key.
    #[error("{}: no such key ({from}), did you mean {nearest}?", .key.escape_debug())]
    UnknownKey { key: String, nearest: String, from: Source },
    /// The variable would be a setting if its underscores were doubled.
    #[error(
        "{variable}: no such variable, did you mean {meant}? (two underscores before the section and before the key)"
    )]
    SingleUnderscore { variable: String, meant: String },
    /// The value is not of the key's type.
    #[error("{key}: {cause} ({from})")]
    Malformed { key: String, cause: String, from: Source },
    /// The value is outside the bounds of its key.
    #[error("{key}: {cause}")]
    OutOfBounds { key: &'static str, cause: String },
}

/// All problems, never empty. The text has one line for each problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{problem}")?;
        }
        Ok(())
    }
}
