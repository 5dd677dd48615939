//! The time of day. Tests inject a clock, so that they do not wait for an expiry.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The time since 1970-01-01T00:00:00Z.
    fn now(&self) -> Duration;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        // A clock set before 1970 is read as 1970.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}
