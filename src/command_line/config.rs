//! `carillon config …`: prints the settings in force, or reports what is wrong with them.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::Failure;
use super::output::{Answer, Format, report};
use crate::settings::{Loaded, Problems};

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Prints every key with its value and its source, as a settings file. Passwords are hidden.
    Print,
    /// Prints "ok", or every problem on standard error, one per line.
    Check {
        /// The settings file to check. Without it, the file of --config, if any, and the environment are checked.
        file: Option<PathBuf>,
    },
}

impl ConfigCommand {
    pub(super) fn run(&self, file: Option<&Path>, format: Format) -> Result<(), Failure> {
        match self {
            Self::Print => {
                let loaded = Loaded::from_process(file)?;
                Answer::new(loaded.to_toml(), to_json(&loaded)).print(format)
            }
            Self::Check { file: named } => check(named.as_deref().or(file), format),
        }
    }
}

fn check(file: Option<&Path>, format: Format) -> Result<(), Failure> {
    let problems = match Loaded::from_process(file) {
        Ok(_) => return Answer::new("ok\n", json!({"problems": []})).print(format),
        Err(Problems(problems)) => problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    };
    problems.iter().for_each(report);
    Answer::new("", json!({"problems": problems})).print(format)?;
    Err(Failure::AlreadyReported)
}

/// Every key by its `section.key`, with `value` and `source`.
fn to_json(loaded: &Loaded) -> Value {
    let settings = serde_json::to_value(&loaded.settings).expect("settings are plain values");
    let mut keys = Map::new();
    add_keys("", &settings, loaded, &mut keys);
    json!({"settings": keys})
}

/// Adds the keys of a section, and of the sections in it: settings nest as deep as their structs.
fn add_keys(section: &str, value: &Value, loaded: &Loaded, keys: &mut Map<String, Value>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let key = if section.is_empty() { name.clone() } else { format!("{section}.{name}") };
        if value.is_object() {
            add_keys(&key, value, loaded, keys);
        } else {
            let source = loaded.source(&key).to_string();
            keys.insert(key, json!({"value": value, "source": source}));
        }
    }
}
