//! What `carillon …` does on the command line: serve, show and check settings, issue tokens, change and migrate the
//! catalogue, plan.
//!
//! It reads arguments, hands over to the room in question and turns what comes back into text and an exit code: 0 all is
//! well, 1 something is wrong (one line on standard error says what to do), 2 the arguments make no sense. What a command
//! answers goes to standard output, everything else to standard error.

mod catalogue;
mod config;
mod event;
mod key;
mod lifetime;
mod migrate;
mod plan;
mod project;
mod token;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::catalogue::CatalogueError;
use crate::logging;
use crate::node;
use crate::settings::{Loaded, LogFormat, Problems};

/// A real-time broker: backends emit events over HTTP, WebSocket clients are told what matches their condition.
#[derive(Debug, Parser)]
#[command(name = "carillon", version, about)]
struct CommandLine {
    /// A settings file (TOML); without it the defaults and the environment count.
    #[arg(long, value_name = "FILE", global = true, env = "CARILLON_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a node until it is told to stop (what `carillon` alone does too).
    Serve,
    /// Shows or checks settings.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Brings the catalogue's database to what this version expects (the start of a node does it too).
    Migrate,
    /// Lists, adds and switches projects.
    #[command(subcommand)]
    Project(project::ProjectCommand),
    /// Lists, adds and revokes keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Lists, defines and removes events of projects that know defined ones only.
    #[command(subcommand)]
    Event(event::EventCommand),
    /// Says how many nodes so many users need, and what each machine must allow.
    Plan(plan::PlanCommand),
    /// Issues tokens.
    #[command(subcommand)]
    Token(token::TokenCommand),
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Settings(#[from] Problems),
    #[error("{0}")]
    Token(#[from] token::TokenFailure),
    #[error("{0}")]
    Access(#[from] catalogue::AccessFailure),
    #[error("{0}")]
    Catalogue(#[from] CatalogueError),
    #[error("the runtime can't start: {0}")]
    Runtime(std::io::Error),
    #[error("{0}")]
    Node(String),
    #[error("cannot write to standard output: {0}")]
    Output(std::io::Error),
    /// What is wrong has been said already.
    #[error("")]
    Told,
}

/// Runs the command that the arguments of this process name.
pub fn run() -> ExitCode {
    let CommandLine { config, command } = CommandLine::parse();
    let file = config.as_deref();
    let outcome = match command.unwrap_or(Command::Serve) {
        Command::Serve => serve(file),
        Command::Config(command) => command.run(file),
        Command::Migrate => migrate::migrate(file),
        Command::Project(command) => command.run(file),
        Command::Key(command) => command.run(file),
        Command::Event(command) => command.run(file),
        Command::Plan(command) => command.run(),
        Command::Token(command) => command.run(file),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Told) => ExitCode::FAILURE,
        Err(failure) => {
            // Several settings can be wrong: one line for each.
            for line in failure.to_string().lines() {
                tell(format_args!("carillon: {line}"));
            }
            ExitCode::FAILURE
        }
    }
}

fn serve(file: Option<&Path>) -> Result<(), Failure> {
    let settings = Loaded::from_process(file)?.settings;
    logging::start(&settings.log);
    let format = settings.log.format;
    let load = || Loaded::from_process(file).map(|loaded| loaded.settings);
    node::serve(settings, load).map_err(|failure| match format {
        LogFormat::Text => Failure::Node(failure.to_string()),
        // Whatever reads JSON lines can't read any other.
        LogFormat::Json => {
            log::error!(cause:% = failure; "the node did not start, or stopped by itself");
            Failure::Told
        }
    })
}

/// Runs a command's asynchronous part.
fn run_to_end<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
    let outcome = runtime.block_on(work);
    // A look-up of a name that still runs on a thread of its own is not waited for.
    runtime.shutdown_background();
    Ok(outcome)
}

/// Writes what a command answers.
fn answer(text: impl fmt::Display) -> Result<(), Failure> {
    // Not `println!`: it panics where the reader of a pipe has gone.
    let mut output = std::io::stdout().lock();
    write!(output, "{text}").and_then(|()| output.flush()).map_err(Failure::Output)
}

/// Writes a line for the operator.
fn tell(text: impl fmt::Display) {
    // Where standard error is closed, nobody is left to be told.
    let _ = writeln!(std::io::stderr(), "{text}");
}
