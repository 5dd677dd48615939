//! Publishes events over its connections: paced, each event at its own moment whether the server keeps up or not, or as
//! fast as they are taken, with so many under way.

use crate::counts::Counter;
use crate::dialects::{Dialect, Event};
use crate::orders::EmitOrder;
use crate::wire::mark::Mark;
use crate::worker::publisher::{Outcome, Publisher};
use crate::worker::random::Random;
use crate::worker::socket::now;
use crate::worker::tally::Tally;
use rustix::fd::OwnedFd;

/// The events of one process.
#[derive(Debug)]
pub struct Emitter {
    order: EmitOrder,
    run: u32,
    publishers: Vec<Option<Publisher>>,
    idle: Vec<usize>,
    /// How many each audience was emitted.
    numbers: Vec<u32>,
    random: Random,
    /// When the first event was due; none until every connection stands.
    start: Option<u64>,
    /// Requests that were published.
    published: u64,
    /// Notifications to this process's own clients that are to come for events not rejected.
    promised: u64,
    is_paused: bool,
    events: Vec<Event>,
}

impl Emitter {
    pub fn new(order: EmitOrder, run: u32) -> Emitter {
        let numbers = vec![0; order.audiences as usize];
        let publishers = (0..order.connections).map(|_| None).collect();
        let (idle, events) = (Vec::new(), Vec::new());
        Emitter {
            order,
            run,
            publishers,
            idle,
            numbers,
            random: Random::new(run),
            start: None,
            published: 0,
            promised: 0,
            is_paused: false,
            events,
        }
    }

    /// The places of connections that are to be dialled.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.publishers.len())
            .filter(|place| self.publishers[*place].as_ref().is_none_or(Publisher::is_over))
            .collect()
    }

    pub fn dialled(&mut self, place: usize, socket: OwnedFd) {
        match &mut self.publishers[place] {
            Some(publisher) => publisher.dialled_again(socket),
            none => *none = Some(Publisher::new(socket)),
        }
    }

    /// Publishes no further event.
    pub fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Takes a connection's readiness.
    pub fn on_ready(
        &mut self,
        place: usize,
        is_writable: bool,
        dialect: &dyn Dialect,
        tally: &mut Tally,
        scratch: &mut [u8],
    ) {
        let Some(publisher) = self.publishers.get_mut(place).and_then(Option::as_mut) else { return };
        let was_idle = publisher.is_idle();
        let outcome = publisher.on_ready(is_writable, dialect, tally, scratch);
        if publisher.is_over() {
            self.idle.retain(|idle| *idle != place);
        } else if publisher.is_idle() && !was_idle {
            self.idle.push(place);
        }
        if let Some(Outcome { accepted, rejected }) = outcome {
            tally.count_many(Counter::Expected, accepted * u64::from(self.order.members));
            self.promised = self.promised.saturating_sub(rejected * u64::from(self.order.own_members));
        }
    }

    /// Publishes what is due; when the next event is due, if there is a pace.
    pub fn tick(&mut self, dialect: &dyn Dialect, tally: &mut Tally) -> Option<u64> {
        if self.is_paused || self.numbers.is_empty() {
            return None;
        }
        if self.start.is_none() && self.idle.len() == self.publishers.len() {
            self.start = Some(now());
        }
        let start = self.start?;
        while let Some(intended) = self.due(start, tally) {
            let place = self.idle.pop()?;
            self.publish(place, intended, dialect, tally);
        }
        self.order.rate.map(|rate| start + self.offset(rate))
    }

    /// The moment that the next request is meant for, if it has come.
    fn due(&self, start: u64, tally: &Tally) -> Option<u64> {
        let now = now();
        match self.order.rate {
            Some(rate) => Some(start + self.offset(rate)).filter(|intended| *intended <= now),
            None => {
                let told = tally.of(Counter::Told) - tally.of(Counter::Twice);
                let window = u64::from(self.order.window) * u64::from(self.order.own_members);
                let is_open = self.order.own_members == 0 || self.promised.saturating_sub(told) < window;
                (is_open && !self.idle.is_empty()).then_some(now)
            }
        }
    }

    fn offset(&self, rate: f64) -> u64 {
        (self.published as f64 * f64::from(self.order.batch) / rate * 1e9) as u64
    }

    fn publish(&mut self, place: usize, intended: u64, dialect: &dyn Dialect, tally: &mut Tally) {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        events.extend((0..self.order.batch).map(|_| self.next_event(intended)));
        if let Some(publisher) = &mut self.publishers[place] {
            dialect.publish(&events, publisher.request());
            publisher.publish(events.len(), intended);
            self.published += 1;
            self.promised += u64::from(self.order.own_members) * events.len() as u64;
            tally.count(Counter::Publishes);
            tally.count_many(Counter::Emitted, events.len() as u64);
        }
        self.events = events;
    }

    fn next_event(&mut self, time: u64) -> Event {
        let place = self.random.below(self.numbers.len() as u64) as usize;
        let number = self.numbers[place];
        self.numbers[place] += 1;
        Event { audience: self.order.first + place as u32, mark: Mark { run: self.run, time, number } }
    }
}
