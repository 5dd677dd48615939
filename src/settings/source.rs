//! The sources of settings, and the names of environment variables.

use std::fmt;
use std::path::PathBuf;

/// The prefix of our environment variables. With a single underscore, the variables that Kubernetes sets for a service
/// named `carillon` would be mistaken for settings.
pub const PREFIX: &str = "CARILLON__";

/// The source of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `config/default.toml`.
    Default,
    /// The settings file.
    File(PathBuf),
    /// The environment variable of this name.
    Environment(String),
}

impl fmt::Display for Source {
    /// One line, even if the file's name has line breaks.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) => {
                let path = path.display().to_string();
                path.chars().try_for_each(|each| match each.is_control() {
                    true => write!(formatter, "{}", each.escape_default()),
                    false => write!(formatter, "{each}"),
                })
            }
            Self::Environment(name) => formatter.write_str(name),
        }
    }
}

/// The environment variable of `section.key`. Each dot becomes `__`.
pub fn variable_of_key(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "__"))
}

/// The `section.key` of an environment variable with our prefix.
pub fn key_of_variable(name: &str) -> String {
    name[PREFIX.len()..].replace("__", ".").to_lowercase()
}
