//! Puts load on a node and reports what it measured. Speaks the wire by itself and imports nothing of the node, so that
//! what it says is what a client sees.
//!
//! A run is one coordinator (`commands/`) that gives orders (`orders.rs`) to worker processes (`worker/`), and looks at the
//! server from outside (`sampling/`). `dialects/` knows the servers' languages, `wire/` the bytes.

mod commands;
mod counts;
mod credentials;
mod crew;
mod dialects;
mod interrupt;
mod options;
mod orders;
mod plan;
mod progress;
mod report;
mod run;
mod sampling;
mod server;
mod wire;
mod worker;

use clap::Parser as _;
use options::{Command, Options};
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    if !matches!(options.command, Command::Worker) {
        interrupt::watch();
    }
    match obey(&options.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("carillon-load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn obey(command: &Command) -> Result<(), Box<dyn Error>> {
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
