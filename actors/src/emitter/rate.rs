//! The emit rate of projects: one token bucket per project, which holds the tokens of one second.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

/// The token buckets of all projects. Bounded by the projects of the catalogue, because only verified tokens get here.
pub(super) struct Rates {
    per_second: u32,
    buckets: HashMap<Arc<str>, Bucket>,
}

impl Rates {
    /// With `per_second` 0 there is no limit.
    pub fn new(per_second: u32) -> Rates {
        Rates { per_second, buckets: HashMap::new() }
    }

    /// Takes a token of the project, if there is one.
    pub fn take(&mut self, project: &Arc<str>, now: Instant) -> bool {
        if self.per_second == 0 {
            return true;
        }
        let depth = f64::from(self.per_second);
        let bucket = self.buckets.entry(project.clone()).or_insert(Bucket { tokens: depth, filled_at: now });
        let elapsed = now.saturating_duration_since(bucket.filled_at).as_secs_f64();
        bucket.tokens = (bucket.tokens + elapsed * depth).min(depth);
        bucket.filled_at = now;
        if bucket.tokens < 1.0 {
            return false;
        }
        bucket.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_project_has_its_own_rate() {
        let (mut rates, start) = (Rates::new(2), Instant::now());
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        assert_eq!([(); 3].map(|()| rates.take(&one, start)), [true, true, false]);
        assert!(rates.take(&other, start));
        assert!(rates.take(&one, start + Duration::from_millis(500)));
        assert!(!rates.take(&one, start + Duration::from_millis(501)));
    }
}
