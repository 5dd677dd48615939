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
    let with_source = |(key, value): (String, _)| {
        let source = loaded.source(&key).to_string();
        (key, json!({"value": value, "source": source}))
    };
    let keys: Map<_, _> = loaded.settings.values().into_iter().map(with_source).collect();
    json!({"settings": keys})
}
