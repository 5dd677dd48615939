//! Merges the three sources of settings: the defaults, a file, the environment. Each overrides those before it, key by
//! key.
//!
//! All problems are found at once: each override is tried alone on the defaults, so one bad value does not hide
//! another.

use std::collections::BTreeMap;
use std::path::Path;

use config::builder::DefaultState;
use config::{Config, ConfigBuilder, ConfigError, File, FileFormat, Source as _, Value};

use super::known_keys::{DEFAULTS, KnownKeys, Override};
use super::source::Source;
use super::values::innermost;
use super::{Problem, Problems, Settings};

/// Settings that passed every check, with the source of each overridden key.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub settings: Settings,
    /// By `section.key`. A key that is missing here has its default.
    overridden: BTreeMap<String, Source>,
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
        let known = KnownKeys::from_defaults();
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
