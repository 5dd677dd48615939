//! The counters and timings of one process. They are plain numbers, since every notification updates some.

use crate::counts::{Counter, Counts, Timing, Timings};
use crate::instructions::Report;
use crate::wire::mark::Mark;
use crate::worker::sequence::SequenceTracker;
use std::collections::BTreeMap;

/// The number of counters.
const COUNTERS: usize = Counter::Expected as usize + 1;

/// The counters and timings of a process.
#[derive(Debug)]
pub struct Stats {
    counters: [(Option<Counter>, u64); COUNTERS],
    closes: BTreeMap<u16, u64>,
    statuses: BTreeMap<u16, u64>,
    timings: Timings,
    pub live: u64,
    run: u32,
    late: u64,
}

impl Stats {
    pub fn new(run: u32, late: u64) -> Stats {
        let (closes, statuses) = (BTreeMap::new(), BTreeMap::new());
        Stats { counters: [(None, 0); COUNTERS], closes, statuses, timings: Timings::new(), live: 0, run, late }
    }

    pub fn count(&mut self, counter: Counter) {
        self.count_many(counter, 1);
    }

    pub fn count_many(&mut self, counter: Counter, many: u64) {
        let (name, count) = &mut self.counters[counter as usize];
        *name = Some(counter);
        *count += many;
    }

    pub fn of(&self, counter: Counter) -> u64 {
        self.counters[counter as usize].1
    }

    pub fn count_close(&mut self, code: u16) {
        *self.closes.entry(code).or_default() += 1;
    }

    pub fn count_status(&mut self, status: u16) {
        *self.statuses.entry(status).or_default() += 1;
    }

    pub fn time(&mut self, timing: Timing, nanoseconds: u64) {
        self.timings.record(timing, nanoseconds);
    }

    /// Counts a notification that a client received.
    pub fn record_notification(&mut self, mark: Mark, sequence: &mut SequenceTracker, now: u64) {
        if mark.run != self.run {
            return self.count(Counter::OtherRuns);
        }
        self.count(Counter::Received);
        if sequence.record(mark.number) {
            return self.count(Counter::Duplicates);
        }
        let age = now.saturating_sub(mark.time);
        self.time(Timing::Delivery, age);
        if age > self.late {
            self.count(Counter::Late);
        }
    }

    /// Clears the timings.
    pub fn clear_timings(&mut self) {
        self.timings.clear();
    }

    pub fn counts(&self) -> Counts {
        Counts {
            counters: self.counters.iter().filter_map(|(name, count)| Some(((*name)?, *count))).collect(),
            closes: self.closes.clone(),
            statuses: self.statuses.clone(),
            live: self.live,
        }
    }

    pub fn report(&self) -> Report {
        Report { counts: self.counts(), timings: self.timings.export() }
    }
}
