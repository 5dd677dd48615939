//! Merges the three sources of settings: the defaults, a file, the environment. Each overrides those before it, key by
//! key.
//!
//! All problems are found at once: each override is tried alone on the defaults, so one bad value does not hide
//! another.

use std::collections::BTreeMap;
use std::path::Path;

use config::builder::DefaultState;
use config::{Config, ConfigBuilder, ConfigError, File, FileFormat, Source as _, Value, ValueKind};

use super::nearest::nearest;
use super::source::{PREFIX, Source, key_of_variable, variable_of_key};
use super::values::{innermost, mismatch, parse_as};
use super::{Problem, Problems, Settings};

/// The settings file that is compiled in.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// Settings that passed every check, with the source of each overridden key.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// By `section.key`. A key that is missing here has its default.
    overridden: BTreeMap<String, Source>,
}

/// A value that replaces a default.
struct Override {
    key: String,
    value: Value,
    from: Source,
}

impl Loaded {
    /// Loads the settings. `environment` holds names and values. Names that do not begin with `CARILLON__` are ignored,
    /// unless they are a setting with single underscores.
    ///
    /// # Errors
    /// All problems of the file, the variables and the values.
    pub fn from(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Problems> {
        let known = Known::from_defaults();
        let mut problems = Vec::new();
        let mut overrides = Vec::new();
        if let Some(file) = file {
            match read_file(file) {
                Ok(sections) => known.sort_file(file, sections, &mut overrides, &mut problems),
                Err(problem) => problems.push(problem),
            }
        }
        known.sort_environment(environment, &mut overrides, &mut problems);
        overrides.retain(|candidate| match try_alone(candidate) {
            Ok(()) => true,
            Err(problem) => {
                problems.push(problem);
                false
            }
        });
        let settings = apply(&overrides).expect("each of the overrides was tried on the defaults");
        problems.extend(settings.validate());
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let overridden = overrides.into_iter().map(|each| (each.key, each.from)).collect();
        Ok(Self { settings, overridden })
    }

    /// Loads the settings with the environment of this process.
    ///
    /// # Errors
    /// As [`Loaded::from`].
    pub fn from_process(file: Option<&Path>) -> Result<Self, Problems> {
        // A variable that is not UTF-8 is a problem only if it is one of ours: `parse_as` refuses its value.
        let environment = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        Self::from(file, environment)
    }

    /// The source of the value of `section.key`.
    pub fn source(&self, key: &str) -> &Source {
        self.overridden.get(key).unwrap_or(&Source::Default)
    }
}

/// The known keys, by `section.key`. The default of each defines the type of its value.
struct Known(BTreeMap<String, Value>);

impl Known {
    fn from_defaults() -> Self {
        let sections = File::from_str(DEFAULTS, FileFormat::Toml).collect().expect("the compiled-in defaults are TOML");
        Self(flatten(sections))
    }

    fn sort_file(
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

    fn sort_environment(
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

/// The settings of the compiled-in file.
pub(super) fn defaults() -> Settings {
    apply(&[]).expect("the compiled-in defaults are settings")
}

fn read_file(path: &Path) -> Result<config::Map<String, Value>, Problem> {
    let file = || Source::File(path.to_owned());
    let text = std::fs::read_to_string(path)
        .map_err(|error| Problem::Unreadable { file: file(), cause: error.to_string() })?;
    File::from_str(&text, FileFormat::Toml)
        .collect()
        .map_err(|error| Problem::NotToml { file: file(), cause: one_line(&error.to_string()) })
}

/// The position and the cause in an error of the TOML parser, without the excerpt of the file between them.
fn one_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(position), Some(cause)) => format!("{position}: {cause}"),
        (position, _) => position.unwrap_or_default().to_owned(),
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

fn try_alone(candidate: &Override) -> Result<(), Problem> {
    apply(std::slice::from_ref(candidate)).map(drop).map_err(|error| Problem::Malformed {
        key: candidate.key.clone(),
        cause: innermost(error),
        from: candidate.from.clone(),
    })
}

fn apply(overrides: &[Override]) -> Result<Settings, ConfigError> {
    let defaults: ConfigBuilder<DefaultState> =
        Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
    overrides
        .iter()
        .try_fold(defaults, |builder, each| builder.set_override(&each.key, each.value.clone()))?
        .build()?
        .try_deserialize()
}
