//! `carillon config …`: shows the settings in force, or says what is wrong with them.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{Failure, answer, tell};
use crate::settings::{Loaded, Problems};

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Prints every key, its value and its source, as a settings file.
    Print,
    /// Prints "ok", or every problem found to standard error, one per line.
    Check {
        /// The settings file to check; without it, that of --config, if any, and the environment.
        file: Option<PathBuf>,
    },
}

impl ConfigCommand {
    pub(super) fn run(&self, file: Option<&Path>) -> Result<(), Failure> {
        match self {
            Self::Print => answer(Loaded::from_process(file)?.to_toml()),
            Self::Check { file: named } => check(named.as_deref().or(file)),
        }
    }
}

fn check(file: Option<&Path>) -> Result<(), Failure> {
    match Loaded::from_process(file) {
        Ok(_) => answer("ok\n"),
        Err(Problems(problems)) => {
            for problem in problems {
                tell(problem);
            }
            Err(Failure::Told)
        }
    }
}
