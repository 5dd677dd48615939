//! The output of commands: text for people, JSON for scripts.

use std::fmt;
use std::io::Write as _;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::Failure;

/// Chooses between text and JSON.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Format {
    /// Prints JSON instead of text. docs/operations.md describes its members.
    #[arg(long, global = true)]
    pub json: bool,
}

/// A group of commands that all take `--json`.
#[derive(Debug, Args)]
pub(super) struct WithFormat<C: Subcommand> {
    #[command(flatten)]
    pub format: Format,
    #[command(subcommand)]
    pub command: C,
}

/// The result of a command, in both forms.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    text: String,
    json: Value,
}

impl Answer {
    pub fn new(text: impl Into<String>, json: Value) -> Answer {
        Answer { text: text.into(), json }
    }

    /// Writes the chosen form to standard output.
    pub fn print(&self, format: Format) -> Result<(), Failure> {
        if format.json { print(format_args!("{:#}\n", self.json)) } else { print(&self.text) }
    }
}

/// Writes to standard output.
pub(super) fn print(text: impl fmt::Display) -> Result<(), Failure> {
    // `println!` would panic if the reader of a pipe has gone.
    let mut output = std::io::stdout().lock();
    write!(output, "{text}").and_then(|()| output.flush()).map_err(Failure::Output)
}

/// Writes a line to standard error.
pub(super) fn report(text: impl fmt::Display) {
    // If standard error is closed, nobody can read the message.
    let _ = writeln!(std::io::stderr(), "{text}");
}
