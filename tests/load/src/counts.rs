//! Counts and timings, of one process or of all.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counters.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Connections that were started.
    Dialed,
    /// TCP connections that were established.
    Connected,
    /// WebSocket upgrades that were answered 101.
    Upgraded,
    /// Clients whose subscription was confirmed.
    Registered,
    /// Clients that closed their connection with a close frame, which the server answered.
    Left,
    /// Clients that the server refused: a status other than 101, or an error before they were registered.
    Refused,
    /// Connections that could not be established.
    Failed,
    /// Clients whose connection ended although they had not closed it.
    Lost,
    /// Clients that reconnected after they had lost their connection.
    Returned,
    /// Notifications of this run.
    Received,
    /// Of those, the ones that had been received before.
    Duplicates,
    /// Of those, the ones that were received after the allowed time.
    Late,
    /// Notifications of other runs.
    OtherRuns,
    /// Messages of the server that notifications may have been missed.
    Gaps,
    /// Events that the server accepted.
    Accepted,
    /// Events that the server rejected.
    Rejected,
    /// Events without an answer.
    Unanswered,
    /// Events that were emitted, accepted or not.
    Emitted,
    /// Requests or frames that carried events.
    Publishes,
    /// Notifications that the accepted events must cause.
    Expected,
}

/// The timings.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// From the start of a connection to the TCP connection.
    Tcp,
    /// From there to the first message of the server.
    Connected,
    /// From there to the confirmed subscription.
    Registered,
    /// From the close frame to its answer.
    Left,
    /// All four together.
    Cycle,
    /// From the scheduled time of an event to its notification.
    Delivery,
    /// From the scheduled time of an event to the answer of the server.
    Answer,
    /// From a lost connection to the next confirmed subscription.
    Away,
}

/// Counts by name.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub counters: BTreeMap<Counter, u64>,
    /// Closed connections by the close code of the server.
    pub closes: BTreeMap<u16, u64>,
    /// HTTP answers by status, including refused upgrades.
    pub statuses: BTreeMap<u16, u64>,
    /// Clients that are registered at the moment.
    pub live: u64,
}

impl Counts {
    pub fn of(&self, counter: Counter) -> u64 {
        self.counters.get(&counter).copied().unwrap_or(0)
    }

    pub fn add(&mut self, other: &Counts) {
        other.counters.iter().for_each(|(name, count)| *self.counters.entry(*name).or_default() += count);
        other.closes.iter().for_each(|(code, count)| *self.closes.entry(*code).or_default() += count);
        other.statuses.iter().for_each(|(status, count)| *self.statuses.entry(*status).or_default() += count);
        self.live += other.live;
    }

    /// The counts since `earlier`. `live` stays unchanged.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let mut counts = self.clone();
        counts.counters.iter_mut().for_each(|(name, count)| *count -= earlier.of(*name));
        for (map, before) in [(&mut counts.closes, &earlier.closes), (&mut counts.statuses, &earlier.statuses)] {
            map.iter_mut().for_each(|(key, count)| *count -= before.get(key).unwrap_or(&0));
            map.retain(|_, count| *count > 0);
        }
        counts
    }

    /// Notifications of this run without duplicates.
    pub fn received_once(&self) -> u64 {
        self.of(Counter::Received) - self.of(Counter::Duplicates)
    }
}

/// Durations in nanoseconds, with three significant digits.
#[derive(Debug)]
pub struct Timings(BTreeMap<Timing, Histogram<u64>>);

/// The shortest and the longest duration that a histogram distinguishes, in nanoseconds.
const BOUNDS: (u64, u64) = (1 << 7, 600 * 1_000_000_000);

impl Timings {
    pub fn new() -> Timings {
        Timings(BTreeMap::new())
    }

    pub fn record(&mut self, timing: Timing, nanoseconds: u64) {
        self.histogram(timing).saturating_record(nanoseconds);
    }

    fn histogram(&mut self, timing: Timing) -> &mut Histogram<u64> {
        let (shortest, longest) = BOUNDS;
        self.0
            .entry(timing)
            .or_insert_with(|| Histogram::new_with_bounds(shortest, longest, 3).expect("the bounds are in order"))
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn of(&self, timing: Timing) -> Option<&Histogram<u64>> {
        self.0.get(&timing)
    }

    /// Exports each value with its count, for another process.
    pub fn export(&self) -> BTreeMap<Timing, Vec<(u64, u64)>> {
        let values = |histogram: &Histogram<u64>| {
            histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
        };
        self.0.iter().map(|(timing, histogram)| (*timing, values(histogram))).collect()
    }

    pub fn import(&mut self, exported: &BTreeMap<Timing, Vec<(u64, u64)>>) {
        for (timing, values) in exported {
            let histogram = self.histogram(*timing);
            values.iter().for_each(|(value, count)| histogram.saturating_record_n(*value, *count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_timings_can_be_imported_and_added() {
        let (mut here, mut there) = (Timings::new(), Timings::new());
        (1..=1000).for_each(|value| here.record(Timing::Away, value * 1_000_000));
        there.import(&here.export());
        there.import(&here.export());
        let (here, there) = (here.of(Timing::Away).unwrap(), there.of(Timing::Away).unwrap());
        assert_eq!((there.len(), there.max()), (2 * here.len(), here.max()));
        assert_eq!(there.value_at_quantile(0.99), here.value_at_quantile(0.99));
    }

    #[test]
    fn earlier_counts_are_subtracted() {
        let mut before = Counts { live: 1, ..Counts::default() };
        before.counters.insert(Counter::Received, 3);
        before.closes.insert(1000, 2);
        let mut after = before.clone();
        after.add(&before);
        let since = after.since(&before);
        assert_eq!((since.of(Counter::Received), since.closes[&1000], since.live), (3, 2, 2));
        assert!(after.since(&after).closes.is_empty());
    }
}
