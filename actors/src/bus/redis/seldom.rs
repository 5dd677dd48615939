//! Keeps a line from filling the log: what repeats is told once a second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Seldom {
    last: Mutex<Option<Instant>>,
}

impl Seldom {
    /// Whether it may be told now; if so, not again for a second.
    pub fn may_tell(&self) -> bool {
        let now = Instant::now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.duration_since(last) >= Duration::from_secs(1));
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}
