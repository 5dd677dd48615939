//! Reads the settings again at SIGHUP. Some keys take effect at once, and the log names those that need a restart.
//!
//! A file with a problem changes nothing. A SIGHUP never ends the node.

use crate::http::AppState;
use crate::logging;
use crate::settings::{Problems, Settings};
use std::convert::Infallible;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Handles SIGHUP in place of the system's default, which kills the process.
pub(super) fn listen_for_hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// Reloads the settings at each SIGHUP, for as long as it is polled.
pub(super) async fn reload_at_hangup(
    mut hangups: Signal,
    load: impl Fn() -> Result<Settings, Problems>,
    app_state: &AppState,
) -> Infallible {
    while hangups.recv().await.is_some() {
        match load() {
            Ok(settings) => apply(&settings, app_state),
            Err(Problems(problems)) => {
                for problem in problems {
                    log::error!(problem:%; "SIGHUP: the settings are refused; the old ones stay in force");
                }
            }
        }
    }
    std::future::pending().await
}

/// Puts the keys of `new` in force that can change while the node runs: those that are copied here. Each is read for
/// every call, or takes effect below.
fn apply(new: &Settings, app_state: &AppState) {
    let old = app_state.settings();
    let mut settings = Settings::clone(&old);
    settings.http.allowed_origins.clone_from(&new.http.allowed_origins);
    settings.limits.emit_batch = new.limits.emit_batch;
    settings.limits.emit_bytes = new.limits.emit_bytes;
    settings.log = new.log.clone();
    let (live, waiting) = (old.changed_keys(&settings), settings.changed_keys(new));
    let problems = settings.validate();
    if !problems.is_empty() {
        // For example, a new limits.emit_bytes above the old session.send_buffer_bytes.
        let problem = Problems(problems);
        return log::error!(problem:%; "SIGHUP: the settings need a restart; the old ones stay in force");
    }
    logging::start(&settings.log);
    app_state.replace_settings(settings);
    log::info!("SIGHUP: the settings were read again; changed: {}", list(&live));
    if !waiting.is_empty() {
        log::warn!("SIGHUP: needs a restart: {}", list(&waiting));
    }
    if live.iter().any(|key| key == "log.level") && logging::is_level_overridden() {
        log::warn!("SIGHUP: log.level has no effect while RUST_LOG is set");
    }
}

fn list(keys: &[String]) -> String {
    if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") }
}
