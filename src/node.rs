//! One running node.

use crate::settings::Settings;

/// Runs a node until it is told to stop.
pub fn serve(settings: Settings) -> Result<(), String> {
    Err(format!("no node to bind to {} yet", settings.http.bind))
}
