//! How long to wait before the next try to connect: longer each time, and never the same on two nodes.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// The first wait, at most.
const SHORTEST: Duration = Duration::from_millis(100);

/// Every later wait, at most: after the return of Redis, delivery is to be back within five seconds, of which the
/// connection and thousands of channels take some.
const LONGEST: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    tries: u32,
}

impl Backoff {
    /// Starts anew, after a connection that held.
    pub fn reset(&mut self) {
        self.tries = 0;
    }

    /// The next wait: between a half of its bound and the bound, which doubles each time.
    pub fn next_wait(&mut self) -> Duration {
        let bound = SHORTEST.saturating_mul(1 << self.tries.min(16)).min(LONGEST);
        self.tries = self.tries.saturating_add(1);
        // Std's only source of randomness; enough to spread nodes apart.
        let jitter = RandomState::new().hash_one(self.tries) % 1024;
        bound / 2 + (bound / 2).mul_f64(jitter as f64 / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_their_bound_and_start_anew() {
        let mut backoff = Backoff::default();
        for _ in 0..2 {
            let waits: Vec<Duration> = (0..40).map(|_| backoff.next_wait()).collect();
            assert!(waits[0] >= SHORTEST / 2 && waits[0] <= SHORTEST, "{waits:?}");
            assert!(waits[39] >= LONGEST / 2 && waits[39] <= LONGEST, "{waits:?}");
            backoff.reset();
        }
    }
}
