//! Logs that a limit was reached: one line per limit and minute, however often clients run into it.
//!
//! It reads the counters once a second, so that counting a limit stays one addition.

use actors::counters::{Counters, Limit};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How often the counters are read.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest time between two lines about one limit.
const QUIET_TIME: Duration = Duration::from_secs(60);

/// Logs the limits that are reached, for as long as it is polled.
pub(super) async fn log_limits(counters: &Counters) -> Infallible {
    let mut ticks = interval(READ_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut logged = Limit::ALL.map(|limit| Logged { limit, count: 0, at: None });
    loop {
        let now = ticks.tick().await;
        for each in &mut logged {
            if let Some(times) = each.due(counters.limits(each.limit), now) {
                log::warn!(limit = each.limit.as_str(), times; "a limit was reached");
            }
        }
    }
}

/// What was logged about a limit so far.
struct Logged {
    limit: Limit,
    count: u64,
    at: Option<Instant>,
}

impl Logged {
    /// How often the limit was reached since its last line, if that is to be logged now.
    fn due(&mut self, count: u64, now: Instant) -> Option<u64> {
        let is_quiet = self.at.is_some_and(|at| now.duration_since(at) < QUIET_TIME);
        if is_quiet || count == self.count {
            return None;
        }
        self.at = Some(now);
        Some(count - std::mem::replace(&mut self.count, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_logged_at_once_and_then_once_a_minute_with_the_count_in_between() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut logged = Logged { limit: Limit::ALL[0], count: 0, at: None };
        assert_eq!(logged.due(0, after(0)), None);
        assert_eq!(logged.due(2, after(1)), Some(2));
        assert_eq!(logged.due(9, after(2)), None);
        assert_eq!(logged.due(9, after(60)), None);
        assert_eq!(logged.due(10, after(61)), Some(8));
        assert_eq!(logged.due(10, after(200)), None);
        assert_eq!(logged.due(11, after(201)), Some(1));
    }
}
