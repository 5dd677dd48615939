//! The command line: runs a node, shows and checks settings, issues and inspects tokens, changes and migrates the
//! catalogue, plans a deployment.
//!
//! This module parses arguments, calls the module of the command, and turns the result into text or JSON and an exit
//! code. 0: success. 1: something is wrong, and a message on standard error says what to do. 2: the arguments are not
//! valid. Results go to standard output, everything else to standard error.

mod catalogue;
mod config;
mod confirm;
mod event;
mod health;
mod inspect;
mod key;
mod lifetime;
mod manual;
mod migrate;
mod numbers;
mod output;
mod plan;
mod project;
mod serve;
mod token;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::output::{Format, WithFormat, report};
use crate::catalogue::CatalogueError;
use crate::settings::Problems;

const EXAMPLES: &str = "\
Examples:
  carillon                                       run a node with the defaults
  carillon serve --config /etc/carillon.toml     run a node with a settings file
  eval \"$(carillon token env)\"                   set API_TOKEN and USER_TOKEN for the project demo
  carillon plan --users 1000000                  how many nodes and how much memory
  carillon completions bash > /etc/bash_completion.d/carillon";

/// A real-time broker. Backends emit events over HTTP; WebSocket clients receive the events that match their
/// conditions.
#[derive(Debug, Parser)]
#[command(name = "carillon", version, about, after_help = EXAMPLES)]
struct CommandLine {
    /// A settings file (TOML). Without it, the defaults and the environment apply.
    #[arg(long, value_name = "FILE", global = true, env = "CARILLON_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a node until it is stopped. `carillon` without a command does the same.
    #[command(after_help = "Examples:\n  carillon serve\n  carillon serve --port 9000 --config carillon.toml")]
    Serve(serve::ServeCommand),
    /// Prints or checks settings.
    #[command(after_help = "Examples:\n  carillon config print\n  carillon config check carillon.toml")]
    Config(WithFormat<config::ConfigCommand>),
    /// Upgrades the catalogue's database to this version. The start of a node does it too.
    #[command(after_help = "Example:\n  carillon migrate --config cluster.toml")]
    Migrate(Format),
    /// Lists, adds, disables and removes projects.
    #[command(after_help = project::EXAMPLES)]
    Project(WithFormat<project::ProjectCommand>),
    /// Lists, adds, shows and revokes keys.
    #[command(after_help = key::EXAMPLES)]
    Key(WithFormat<key::KeyCommand>),
    /// Lists, defines and removes events of projects that accept only defined events.
    #[command(after_help = event::EXAMPLES)]
    Event(WithFormat<event::EventCommand>),
    /// Asks the node that runs with the same data.dir whether it is alive. Exit code 1 if it is not.
    #[command(after_help = "Examples:\n  carillon health\n  carillon health --ready --config /etc/carillon.toml")]
    Health(health::HealthCommand),
    /// Estimates how many nodes a number of users needs, and what each machine must allow.
    #[command(after_help = plan::EXAMPLES)]
    Plan(plan::PlanCommand),
    /// Issues and inspects tokens.
    #[command(after_help = token::EXAMPLES)]
    Token(WithFormat<token::TokenCommand>),
    /// Prints a script that completes commands and options in a shell.
    #[command(after_help = "Example:\n  carillon completions bash > /etc/bash_completion.d/carillon")]
    Completions(manual::CompletionsCommand),
    /// Prints the manual page, or writes a page for each command into a folder.
    #[command(after_help = "Examples:\n  carillon man | man -l -\n  carillon man /usr/local/share/man/man1")]
    Man(manual::ManCommand),
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
    Health(#[from] health::HealthFailure),
    #[error("{0}")]
    Catalogue(#[from] CatalogueError),
    #[error("the runtime cannot start: {0}")]
    Runtime(std::io::Error),
    #[error("{0}")]
    Node(String),
    #[error("cannot write to standard output: {0}")]
    Output(std::io::Error),
    #[error("cannot write manual pages to {}: {source}", folder.display())]
    ManualPages { folder: PathBuf, source: std::io::Error },
    /// The command has already said what is wrong.
    #[error("")]
    AlreadyReported,
}

/// Runs the command in the arguments of this process.
pub fn run() -> ExitCode {
    let CommandLine { config, command } = CommandLine::parse();
    let file = config.as_deref();
    let outcome = match command.unwrap_or(Command::Serve(serve::ServeCommand::default())) {
        Command::Serve(command) => command.run(file),
        Command::Config(WithFormat { format, command }) => command.run(file, format),
        Command::Migrate(format) => migrate::migrate(file, format),
        Command::Project(WithFormat { format, command }) => command.run(file, format),
        Command::Key(WithFormat { format, command }) => command.run(file, format),
        Command::Event(WithFormat { format, command }) => command.run(file, format),
        Command::Health(command) => command.run(file),
        Command::Plan(command) => command.run(),
        Command::Token(WithFormat { format, command }) => command.run(file, format),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::AlreadyReported) => ExitCode::FAILURE,
        Err(failure) => {
            // Several settings can be wrong: one line for each.
            for line in failure.to_string().lines() {
                report(format_args!("carillon: {line}"));
            }
            ExitCode::FAILURE
        }
    }
}

/// Runs the asynchronous part of a command.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
    let outcome = runtime.block_on(work);
    // Do not wait for a DNS lookup that still runs on its own thread.
    runtime.shutdown_background();
    Ok(outcome)
}
