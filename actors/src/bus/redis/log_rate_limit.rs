//! Limits a repeated log line to one per second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Allows one line per second.
#[derive(Debug, Default)]
pub(super) struct LogRateLimit {
    last: Mutex<Option<Instant>>,
}

impl LogRateLimit {
    /// Whether the line may be logged now. After `true`, the next second gets `false`.
    pub fn allows(&self) -> bool {
        let now = Instant::now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.duration_since(last) >= INTERVAL);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}
