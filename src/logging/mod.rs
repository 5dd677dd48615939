//! The log of a node, on standard error: text or JSON lines, with a level that can change while the node runs.
//!
//! `log.level` is the level of Carillon's own lines. Libraries log only warnings and errors. `RUST_LOG`, if it is set,
//! replaces both. This module does not inspect what is logged: callers keep tokens, keys and event data out of their
//! lines.

mod json;
mod text;

use crate::settings::{LogFormat, LogLevel, LogSettings};
use env_logger::{Builder, Logger};
use log::{Log, Metadata, Record};
use std::sync::{PoisonError, RwLock};

/// The environment variable that takes precedence over `log.level`.
const FILTER_VARIABLE: &str = "RUST_LOG";

static LOGGER: ReloadableLogger = ReloadableLogger(RwLock::new(None));

/// A logger that can be replaced while the node runs.
struct ReloadableLogger(RwLock<Option<Logger>>);

/// Starts the log of this process. A second call replaces the settings.
pub fn start(settings: &LogSettings) {
    let logger = build(settings);
    log::set_max_level(logger.filter());
    *LOGGER.0.write().unwrap_or_else(PoisonError::into_inner) = Some(logger);
    // This fails if a logger is already set. After the first call that is ours.
    let _ = log::set_logger(&LOGGER);
}

/// Whether `RUST_LOG` decides what is logged, so that `log.level` has no effect.
pub fn is_level_overridden() -> bool {
    std::env::var_os(FILTER_VARIABLE).is_some_and(|filter| !filter.is_empty())
}

fn build(settings: &LogSettings) -> Logger {
    let mut builder = Builder::new();
    // Its lines do not help an operator: every malformed request, and at lower levels whole requests with their tokens.
    builder.filter_module("actix_http", log::LevelFilter::Off);
    match std::env::var(FILTER_VARIABLE) {
        Ok(filter) if !filter.is_empty() => builder.parse_filters(&filter),
        _ => builder.parse_filters(filter_of(settings.level)),
    };
    match settings.format {
        LogFormat::Text => builder.format(text::write),
        LogFormat::Json => builder.format(json::write),
    };
    builder.build()
}

fn filter_of(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "warn,carillon=info,actors=info",
        LogLevel::Debug => "warn,carillon=debug,actors=debug",
        LogLevel::Trace => "warn,carillon=trace,actors=trace",
    }
}

impl ReloadableLogger {
    fn with<T>(&self, default: T, read: impl FnOnce(&Logger) -> T) -> T {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(default, read)
    }
}

impl Log for ReloadableLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.with(false, |logger| logger.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        self.with((), |logger| logger.log(record));
    }

    fn flush(&self) {
        self.with((), |logger| logger.flush());
    }
}
