//! Puts load on a node and reports what it measured. It has its own implementation of the protocol and imports no code
//! of the node, so that it measures what a client sees.
//!
//! A run is one coordinator (`commands/`) that sends instructions (`instructions.rs`) to worker processes (`worker/`),
//! and samples the server from outside (`sampling/`). `protocols/` has the messages of each server, `wire/` the
//! encodings.

mod commands;
mod counts;
mod credentials;
mod instructions;
mod interrupt;
mod options;
mod plan;
mod progress;
mod protocols;
mod report;
mod run;
mod sampling;
mod server;
mod wire;
mod worker;
mod worker_pool;

use clap::Parser as _;
use options::{Command, Options};
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    if !matches!(options.command, Command::Worker) {
        interrupt::watch();
    }
    match execute(&options.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("carillon-load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn execute(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Fill(options) => commands::fill::run(options)?,
        Command::Churn(options) => commands::churn::run(options)?,
        Command::Listen(options) => commands::listen::run(options)?,
        Command::Emit(options) => commands::emit::run(options)?,
        Command::Restart(options) => commands::restart::run(options)?,
        Command::Worker => worker::run()?,
    }
    Ok(())
}
