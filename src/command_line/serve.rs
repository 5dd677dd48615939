//! `carillon serve`: runs a node.

use std::path::Path;

use clap::Args;

use super::Failure;
use super::numbers::whole_number;
use crate::settings::{Loaded, LogFormat, Problems, Settings};
use crate::{logging, node};

#[derive(Debug, Default, Args)]
pub(super) struct ServeCommand {
    /// The port to listen on, instead of the one in http.bind. 0 picks a free port.
    #[arg(long, value_name = "PORT", value_parser = whole_number(0_u16..=65_535))]
    port: Option<u16>,
    /// Print tokens of the project demo, valid for a day, once the node is ready. Without it, they are printed only on
    /// a terminal, and only if the node listens on a loopback address.
    #[arg(long)]
    show_demo_tokens: bool,
}

impl ServeCommand {
    pub(super) fn run(&self, file: Option<&Path>) -> Result<(), Failure> {
        let settings = self.load(file)?;
        logging::start(&settings.log);
        let format = settings.log.format;
        node::serve(settings, self.show_demo_tokens, || self.load(file)).map_err(|failure| match format {
            LogFormat::Text => Failure::Node(failure.to_string()),
            // A reader of JSON lines cannot read any other line.
            LogFormat::Json => {
                log::error!(cause:% = failure; "the node did not start, or stopped by itself");
                Failure::AlreadyReported
            }
        })
    }

    fn load(&self, file: Option<&Path>) -> Result<Settings, Problems> {
        let mut settings = Loaded::from_process(file)?.settings;
        if let Some(port) = self.port {
            settings.http.bind.set_port(port);
        }
        Ok(settings)
    }
}
