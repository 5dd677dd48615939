//! The log lines of an outage of Redis: one warning at the first failure, then one with the count after growing pauses.
//! Both connections share this, so an outage causes one warning.

use super::RedisAddress;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between the first warning of an outage and the second one. It doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(30);

/// The longest time between two warnings of one outage.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The failures of one Redis, as the log reports them.
pub(super) struct Outage {
    address: RedisAddress,
    failures: Mutex<Failures>,
}

impl Outage {
    /// No outage yet, of the Redis at this address.
    pub fn new(address: RedisAddress) -> Outage {
        Outage { address, failures: Mutex::default() }
    }

    /// Records that a connection could not be made.
    pub fn on_failure(&self, connection: &str, cause: &str) {
        let attempts = self.failures.lock().unwrap_or_else(PoisonError::into_inner).add(Instant::now());
        if let Some(attempts) = attempts {
            log::warn!(
                address:% = self.address, connection, attempts, cause;
                "Redis cannot be reached; the node is not ready and keeps trying"
            );
        }
    }

    /// Records that a connection was made, which ends the outage.
    pub fn on_connected(&self, connection: &str) {
        let failures = std::mem::take(&mut *self.failures.lock().unwrap_or_else(PoisonError::into_inner));
        log::info!(address:% = self.address, connection, attempts = failures.count + 1; "connected to Redis");
    }

    /// Records that a connection was lost.
    pub fn on_lost(&self, connection: &str, cause: &str) {
        log::error!(
            address:% = self.address, connection, cause;
            "the connection to Redis was lost; the node is not ready"
        );
    }
}

/// The failed attempts of one outage.
#[derive(Debug, Default)]
struct Failures {
    count: u64,
    /// When the last warning was logged, and the pause after it.
    warned: Option<(Instant, Duration)>,
}

impl Failures {
    /// Counts a failure. Returns the count if a warning is due.
    fn add(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        let pause = match self.warned {
            None => FIRST_PAUSE,
            Some((at, pause)) if now.saturating_duration_since(at) >= pause => (pause * 2).min(LONGEST_PAUSE),
            Some(_) => return None,
        };
        self.warned = Some((now, pause));
        Some(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_of_an_hour_causes_a_warning_at_once_and_then_after_growing_pauses() {
        let (mut failures, start) = (Failures::default(), Instant::now());
        let warned: Vec<u64> =
            (0..3600).filter(|second| failures.add(start + Duration::from_secs(*second)).is_some()).collect();
        assert_eq!(warned[..6], [0, 30, 90, 210, 450, 750]);
        assert!(warned[5..].windows(2).all(|pair| pair[1] - pair[0] == LONGEST_PAUSE.as_secs()), "{warned:?}");
        assert_eq!(failures.count, 3600);
    }
}
