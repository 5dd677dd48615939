//! Where the value of a setting comes from, and how a key is called in the environment.

use std::fmt;
use std::path::PathBuf;

/// What the names of our environment variables begin with. With one underscore only, the variables that Kubernetes
/// sets for a service named `carillon` would be taken for settings.
pub const PREFIX: &str = "CARILLON__";

/// Where the value of a key comes from.
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
    /// One line, whatever the file is called.
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

/// The environment variable of `section.key`; a section in a section is one more dot, and one more `__`.
pub fn variable_of_key(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "__"))
}

/// The `section.key` that an environment variable with our prefix means.
pub fn key_of_variable(name: &str) -> String {
    name[PREFIX.len()..].replace("__", ".").to_lowercase()
}
