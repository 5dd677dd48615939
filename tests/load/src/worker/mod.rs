//! One process of a run: an epoll, its clients, its publishers. It does what its orders say and reports what it counts.
//!
//! It ends when its orders do: when whoever gave them is gone.

mod account;
mod client;
mod clients;
mod emitter;
mod inbox;
mod publisher;
mod random;
pub mod socket;
mod tally;

use crate::orders::{Message, Order, WorkerSpec};
use clients::Clients;
use emitter::Emitter;
use inbox::Inbox;
use rustix::event::epoll::{self, Event, EventFlags};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::time::Timespec;
use std::io::Write as _;
use tally::Tally;
use thiserror::Error;

/// How often progress is told, in nanoseconds.
const PROGRESS: u64 = 200_000_000;
/// Events of one wait.
const EVENTS: usize = 1024;
/// Bytes of one read: as many as a socket's buffer holds at first.
const SCRATCH: usize = 256 << 10;
/// Keys of the poll: clients by their place, publishers from here on, orders last.
const PUBLISHERS: u64 = 1 << 32;
const ORDERS: u64 = u64::MAX;

/// Why a worker ends before its orders do.
#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("the system refused: {0}")]
    System(#[from] Errno),
    #[error("a line of orders can't be read: {0}")]
    Order(#[from] serde_json::Error),
    #[error("nobody listens to reports: {0}")]
    Report(#[from] std::io::Error),
}

/// A process of a run.
struct Worker {
    spec: WorkerSpec,
    epoll: OwnedFd,
    clients: Clients,
    emitter: Option<Emitter>,
    tally: Tally,
    scratch: Vec<u8>,
    /// Connections to publish over that were dialled, for the choice of a server.
    dialled: usize,
}

/// Runs a worker on the orders of standard input.
///
/// # Errors
/// [`WorkerError`], which is told to whoever gave the orders too.
pub fn run() -> Result<(), WorkerError> {
    let result = Inbox::open().and_then(|(spec, inbox)| Worker::new(spec)?.run(inbox));
    if let Err(error) = &result {
        let _ = tell(&Message::Failed(error.to_string()));
    }
    result
}

fn tell(message: &Message) -> Result<(), WorkerError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}

impl Worker {
    fn new(spec: WorkerSpec) -> Result<Worker, WorkerError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let tally = Tally::new(spec.run, spec.late);
        let clients = Clients::new(&spec);
        Ok(Worker { epoll, clients, emitter: None, tally, scratch: vec![0; SCRATCH], dialled: 0, spec })
    }

    fn run(mut self, mut inbox: Inbox) -> Result<(), WorkerError> {
        epoll::add(&self.epoll, &inbox, epoll::EventData::new_u64(ORDERS), EventFlags::IN)?;
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let mut progress_at = 0;
        // The first orders may have come with the line that says what to be; the poll tells only of later ones.
        for order in inbox.whole()? {
            self.obey(order)?;
        }
        loop {
            let due = self.turn();
            let now = socket::now();
            if now >= progress_at {
                tell(&Message::Progress(self.tally.counts()))?;
                progress_at = now + PROGRESS;
            }
            self.wait(&mut events, due.unwrap_or(u64::MAX).min(progress_at).saturating_sub(now))?;
            for event in events.drain(..) {
                let key = event.data.u64();
                if key == ORDERS {
                    let Some(orders) = inbox.read()? else { return Ok(()) };
                    for order in orders {
                        self.obey(order)?;
                    }
                } else {
                    self.on_ready(key, event.flags);
                }
            }
        }
    }

    /// Begins what is due; when the next thing is.
    fn turn(&mut self) -> Option<u64> {
        let return_at = self.clients.dial_due(self.epoll.as_fd(), &mut self.tally);
        let Some(emitter) = &mut self.emitter else { return return_at };
        for place in emitter.missing() {
            let target = self.spec.emit_targets[self.dialled % self.spec.emit_targets.len()];
            match socket::dial(self.epoll.as_fd(), PUBLISHERS + place as u64, target, None) {
                Ok(socket) => emitter.dialled(place, socket),
                Err(_) => self.tally.count(crate::counts::Counter::Failed),
            }
            self.dialled += 1;
        }
        let emit_at = emitter.tick(self.clients.dialect(), &mut self.tally);
        return_at.into_iter().chain(emit_at).min()
    }

    fn wait(&self, events: &mut Vec<Event>, nanoseconds: u64) -> Result<(), WorkerError> {
        let timeout =
            Timespec { tv_sec: (nanoseconds / 1_000_000_000) as _, tv_nsec: (nanoseconds % 1_000_000_000) as _ };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn on_ready(&mut self, key: u64, flags: EventFlags) {
        let is_writable = flags.intersects(EventFlags::OUT | EventFlags::ERR | EventFlags::HUP);
        if key < PUBLISHERS {
            self.clients.on_ready(key as usize, is_writable, &mut self.tally, &mut self.scratch);
        } else if let Some(emitter) = &mut self.emitter {
            let place = (key - PUBLISHERS) as usize;
            emitter.on_ready(place, is_writable, self.clients.dialect(), &mut self.tally, &mut self.scratch);
        }
    }

    fn obey(&mut self, order: Order) -> Result<(), WorkerError> {
        match order {
            Order::Hold { clients, at_once, returns } => self.clients.hold(clients, at_once, returns),
            Order::Churn { at_once } => self.clients.churn(at_once),
            Order::Emit(order) => self.emitter = Some(Emitter::new(order, self.spec.run)),
            Order::Measure => {
                self.tally.forget_timings();
                tell(&Message::Report(self.tally.report()))?;
            }
            Order::Pause => {
                self.clients.pause();
                self.emitter.iter_mut().for_each(Emitter::pause);
            }
            Order::Leave => self.clients.leave(),
            Order::Report => tell(&Message::Report(self.tally.report()))?,
        }
        Ok(())
    }
}
