//! How fast a project may emit: a bucket of tokens each, as deep as one second's worth.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

/// See the module. Projects are as many as the catalogue has: only verified tokens get here.
pub(super) struct Rates {
    per_second: u32,
    buckets: HashMap<Arc<str>, Bucket>,
}

impl Rates {
    /// `per_second` 0: no limit.
    pub fn new(per_second: u32) -> Rates {
        Rates { per_second, buckets: HashMap::new() }
    }

    /// Takes one token of the project's, if there is one.
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
    fn a_project_gets_its_rate_and_others_their_own() {
        let (mut rates, start) = (Rates::new(2), Instant::now());
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        assert_eq!([(); 3].map(|()| rates.take(&one, start)), [true, true, false]);
        assert!(rates.take(&other, start));
        assert!(rates.take(&one, start + Duration::from_millis(500)));
        assert!(!rates.take(&one, start + Duration::from_millis(501)));
    }
}
