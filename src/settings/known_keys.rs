//! The known keys, which are those of `config/default.toml`, and the overrides of them in a file and the environment.

use std::collections::BTreeMap;
use std::path::Path;

use config::{File, FileFormat, Source as _, Value, ValueKind};

use super::Problem;
use super::nearest::nearest;
use super::source::{PREFIX, Source, key_of_variable, variable_of_key};
use super::values::{mismatch, parse_as};

/// The settings file that is compiled in.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// A value that replaces a default.
pub(super) struct Override {
    pub key: String,
    pub value: Value,
    pub from: Source,
}

/// The known keys, by `section.key`. The default of each defines the type of its value.
pub(super) struct KnownKeys(BTreeMap<String, Value>);

impl KnownKeys {
    pub fn from_defaults() -> Self {
        let sections = File::from_str(DEFAULTS, FileFormat::Toml).collect().expect("the compiled-in defaults are TOML");
        Self(flatten(sections))
    }

    /// Adds the values of a file to `overrides`, and their problems to `problems`.
    pub fn sort_file(
        &self,
        file: &Path,
        sections: config::Map<String, Value>,
        overrides: &mut Vec<Override>,
        problems: &mut Vec<Problem>,
    ) {
        for (key, value) in flatten(sections) {
            let from = Source::File(file.to_owned());
            match self.0.get(&key) {
                None => problems.push(self.unknown(key, from)),
                Some(default) => match mismatch(default, &value) {
                    Some(cause) => problems.push(Problem::Malformed { key, cause, from }),
                    None => overrides.push(Override { key, value, from }),
                },
            }
        }
    }

    /// Adds our variables of an environment to `overrides`, and their problems to `problems`.
    pub fn sort_environment(
        &self,
        environment: impl IntoIterator<Item = (String, String)>,
        overrides: &mut Vec<Override>,
        problems: &mut Vec<Problem>,
    ) {
        let (ours, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            environment.into_iter().partition(|(name, _)| name.starts_with(PREFIX));
        problems.extend(others.into_keys().filter_map(|name| self.misspelled_variable(name)));
        for (name, text) in ours {
            let key = key_of_variable(&name);
            let from = Source::Environment(name.clone());
            match self.0.get(&key).filter(|_| variable_of_key(&key) == name) {
                None => problems.push(self.unknown(key, from)),
                Some(default) => match parse_as(default, &text) {
                    Err(cause) => problems.push(Problem::Malformed { key, cause, from }),
                    Ok(value) => overrides.push(Override { key, value, from }),
                },
            }
        }
    }

    /// The problem of a variable such as `CARILLON_HTTP_BIND`, with single underscores in place of double ones.
    fn misspelled_variable(&self, variable: String) -> Option<Problem> {
        let with_single = |name: &str| name.replace("__", "_");
        let name = with_single(&variable);
        let meant = self.0.keys().map(|key| variable_of_key(key)).find(|known| with_single(known) == name)?;
        Some(Problem::SingleUnderscore { variable, meant })
    }

    fn unknown(&self, key: String, from: Source) -> Problem {
        let nearest = nearest(&key, self.0.keys().map(String::as_str));
        let nearest = match from {
            Source::Environment(_) => variable_of_key(nearest),
            _ => nearest.to_owned(),
        };
        Problem::UnknownKey { key, nearest, from }
    }
}

/// Every value with its `section.key` or `section.section.key`, in order. A value outside a section, or nested deeper
/// than that, keeps its name and is refused later as an unknown key or as a value of the wrong type.
fn flatten(sections: config::Map<String, Value>) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (section, value) in sections {
        for (key, value) in keys_of(section, value) {
            values.extend(if key.contains('.') { keys_of(key, value) } else { vec![(key, value)] });
        }
    }
    values
}

/// The keys of a section, each with the section's name in front. A value that is not a section is returned unchanged.
fn keys_of(name: String, value: Value) -> Vec<(String, Value)> {
    match value.kind {
        ValueKind::Table(keys) => keys.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)).collect(),
        kind => vec![(name, Value::new(None, kind))],
    }
}
