//! The wait before the next attempt to connect. It grows with each attempt and differs between nodes.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// Upper bound of the first wait.
const SHORTEST: Duration = Duration::from_millis(100);

/// Upper bound of every wait. After Redis is back, delivery must work within five seconds, and connecting and joining
/// thousands of channels takes a part of them.
const LONGEST: Duration = Duration::from_secs(2);

/// The waits between attempts to connect.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Starts over, after a stable connection.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    /// The next wait: between half of its bound and the bound. The bound doubles each time.
    pub fn next_wait(&mut self) -> Duration {
        let bound = SHORTEST.saturating_mul(1 << self.attempts.min(16)).min(LONGEST);
        self.attempts = self.attempts.saturating_add(1);
        // The only randomness in std. It is good enough to spread nodes.
        let jitter = RandomState::new().hash_one(self.attempts) % 1024;
        bound / 2 + (bound / 2).mul_f64(jitter as f64 / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_bound_and_start_over_after_a_reset() {
        let mut backoff = Backoff::default();
        for _ in 0..2 {
            let waits: Vec<Duration> = (0..40).map(|_| backoff.next_wait()).collect();
            assert!(waits[0] >= SHORTEST / 2 && waits[0] <= SHORTEST, "{waits:?}");
            assert!(waits[39] >= LONGEST / 2 && waits[39] <= LONGEST, "{waits:?}");
            backoff.reset();
        }
    }
}
