//! `carillon completions` and `carillon man`: shell completions and manual pages, generated from the command line
//! itself.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;

use super::{CommandLine, Failure, output};

#[derive(Debug, Args)]
pub(super) struct CompletionsCommand {
    /// The shell.
    shell: Shell,
}

impl CompletionsCommand {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut CommandLine::command(), "carillon", &mut script);
        output::print(String::from_utf8_lossy(&script))
    }
}

#[derive(Debug, Args)]
pub(super) struct ManCommand {
    /// An existing folder. With it, one page for each command is written there; without it, the page of `carillon` is
    /// printed.
    folder: Option<PathBuf>,
}

impl ManCommand {
    pub(super) fn run(&self) -> Result<(), Failure> {
        match &self.folder {
            Some(folder) => write_pages(CommandLine::command(), folder),
            None => print_page(CommandLine::command()),
        }
    }
}

fn print_page(command: Command) -> Result<(), Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(Failure::Output)?;
    output::print(String::from_utf8_lossy(&page))
}

fn write_pages(command: Command, folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(command, folder)
        .map_err(|source| Failure::ManualPages { folder: folder.to_path_buf(), source })
}
