//! Publishes events over several connections: on a fixed schedule, even if the server falls behind, or as fast as the
//! server accepts them, with a limited number in flight.

use crate::counts::Counter;
use crate::instructions::EmitSpec;
use crate::protocols::{Event, ServerProtocol};
use crate::wire::mark::Mark;
use crate::worker::publisher::{Outcome, Publisher};
use crate::worker::random::Random;
use crate::worker::socket::now;
use crate::worker::stats::Stats;
use rustix::fd::OwnedFd;

/// The publishers of one process.
#[derive(Debug)]
pub struct Emitter {
    spec: EmitSpec,
    run: u32,
    publishers: Vec<Option<Publisher>>,
    idle: Vec<usize>,
    /// The number of events emitted to each audience.
    numbers: Vec<u32>,
    random: Random,
    /// The scheduled time of the first event. `None` until every connection is established.
    start: Option<u64>,
    /// The number of requests sent.
    published: u64,
    /// Notifications that the clients of this process should receive for all events that were not rejected.
    awaited: u64,
    is_paused: bool,
    events: Vec<Event>,
}

impl Emitter {
    pub fn new(spec: EmitSpec, run: u32) -> Emitter {
        let numbers = vec![0; spec.audiences as usize];
        let publishers = (0..spec.connections).map(|_| None).collect();
        let (idle, events) = (Vec::new(), Vec::new());
        Emitter {
            spec,
            run,
            publishers,
            idle,
            numbers,
            random: Random::new(run),
            start: None,
            published: 0,
            awaited: 0,
            is_paused: false,
            events,
        }
    }

    /// The indexes of connections that must be started.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.publishers.len())
            .filter(|index| self.publishers[*index].as_ref().is_none_or(Publisher::is_closed))
            .collect()
    }

    pub fn dialed(&mut self, index: usize, socket: OwnedFd) {
        match &mut self.publishers[index] {
            Some(publisher) => publisher.redialed(socket),
            none => *none = Some(Publisher::new(socket)),
        }
    }

    /// Publishes no more events.
    pub fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Handles the readiness of a connection.
    pub fn on_ready(
        &mut self,
        index: usize,
        is_writable: bool,
        protocol: &dyn ServerProtocol,
        stats: &mut Stats,
        scratch: &mut [u8],
    ) {
        let Some(publisher) = self.publishers.get_mut(index).and_then(Option::as_mut) else { return };
        let was_idle = publisher.is_idle();
        let outcome = publisher.on_ready(is_writable, protocol, stats, scratch);
        if publisher.is_closed() {
            self.idle.retain(|idle| *idle != index);
        } else if publisher.is_idle() && !was_idle {
            self.idle.push(index);
        }
        if let Some(Outcome { accepted, rejected }) = outcome {
            stats.count_many(Counter::Expected, accepted * u64::from(self.spec.members));
            self.awaited = self.awaited.saturating_sub(rejected * u64::from(self.spec.own_members));
        }
    }

    /// Publishes the events that are due. With a rate, returns when the next event is due.
    pub fn tick(&mut self, protocol: &dyn ServerProtocol, stats: &mut Stats) -> Option<u64> {
        if self.is_paused || self.numbers.is_empty() {
            return None;
        }
        if self.start.is_none() && self.idle.len() == self.publishers.len() {
            self.start = Some(now());
        }
        let start = self.start?;
        while let Some(intended) = self.due(start, stats) {
            let index = self.idle.pop()?;
            self.publish(index, intended, protocol, stats);
        }
        self.spec.rate.map(|rate| start + self.offset(rate))
    }

    /// The scheduled time of the next request, if it is due.
    fn due(&self, start: u64, stats: &Stats) -> Option<u64> {
        let now = now();
        match self.spec.rate {
            Some(rate) => Some(start + self.offset(rate)).filter(|intended| *intended <= now),
            None => {
                let received = stats.of(Counter::Received) - stats.of(Counter::Duplicates);
                let window = u64::from(self.spec.window) * u64::from(self.spec.own_members);
                let is_open = self.spec.own_members == 0 || self.awaited.saturating_sub(received) < window;
                (is_open && !self.idle.is_empty()).then_some(now)
            }
        }
    }

    fn offset(&self, rate: f64) -> u64 {
        (self.published as f64 * f64::from(self.spec.batch) / rate * 1e9) as u64
    }

    fn publish(&mut self, index: usize, intended: u64, protocol: &dyn ServerProtocol, stats: &mut Stats) {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        events.extend((0..self.spec.batch).map(|_| self.next_event(intended)));
        if let Some(publisher) = &mut self.publishers[index] {
            protocol.publish(&events, publisher.request());
            publisher.publish(events.len(), intended);
            self.published += 1;
            self.awaited += u64::from(self.spec.own_members) * events.len() as u64;
            stats.count(Counter::Publishes);
            stats.count_many(Counter::Emitted, events.len() as u64);
        }
        self.events = events;
    }

    fn next_event(&mut self, time: u64) -> Event {
        let index = self.random.below(self.numbers.len() as u64) as usize;
        let number = self.numbers[index];
        self.numbers[index] += 1;
        Event { audience: self.spec.first + index as u32, mark: Mark { run: self.run, time, number } }
    }
}
