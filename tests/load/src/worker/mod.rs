//! One worker process of a run: an epoll with its clients and publishers. It executes instructions and reports its
//! counts.
//!
//! It exits when its standard input ends, which means that the coordinator has ended.

mod client;
mod clients;
mod emitter;
mod instruction_reader;
mod publisher;
mod random;
mod sequence;
pub mod socket;
mod stats;

use crate::instructions::{Instruction, Message, WorkerSpec};
use clients::Clients;
use emitter::Emitter;
use instruction_reader::InstructionReader;
use rustix::event::epoll::{self, Event, EventFlags};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::time::Timespec;
use stats::Stats;
use std::io::Write as _;
use thiserror::Error;

/// The interval of progress messages, in nanoseconds.
const PROGRESS: u64 = 200_000_000;
/// Maximum events per wait.
const EVENTS: usize = 1024;
/// Maximum bytes per read: the initial size of a socket buffer.
const SCRATCH: usize = 256 << 10;
/// Keys in the epoll: clients by their index, publishers from this key on, and the last key for instructions.
const PUBLISHERS: u64 = 1 << 32;
const INSTRUCTIONS: u64 = u64::MAX;

/// Why a worker fails.
#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("the system refused: {0}")]
    System(#[from] Errno),
    #[error("an instruction can't be read: {0}")]
    Instruction(#[from] serde_json::Error),
    #[error("a report can't be written: {0}")]
    Report(#[from] std::io::Error),
}

/// A worker process.
struct Worker {
    spec: WorkerSpec,
    epoll: OwnedFd,
    clients: Clients,
    emitter: Option<Emitter>,
    stats: Stats,
    scratch: Vec<u8>,
    /// Number of publisher connections that were started, which selects the next server.
    dialed: usize,
}

/// Runs a worker on the instructions from standard input.
///
/// # Errors
/// [`WorkerError`], which is also reported to the coordinator.
pub fn run() -> Result<(), WorkerError> {
    let result = InstructionReader::open().and_then(|(spec, reader)| Worker::new(spec)?.run(reader));
    if let Err(error) = &result {
        let _ = send(&Message::Failed(error.to_string()));
    }
    result
}

fn send(message: &Message) -> Result<(), WorkerError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}

impl Worker {
    fn new(spec: WorkerSpec) -> Result<Worker, WorkerError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let stats = Stats::new(spec.run, spec.late);
        let clients = Clients::new(&spec);
        Ok(Worker { epoll, clients, emitter: None, stats, scratch: vec![0; SCRATCH], dialed: 0, spec })
    }

    fn run(mut self, mut reader: InstructionReader) -> Result<(), WorkerError> {
        epoll::add(&self.epoll, &reader, epoll::EventData::new_u64(INSTRUCTIONS), EventFlags::IN)?;
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        let mut progress_at = 0;
        // The first instructions may have arrived together with the settings. The epoll reports only later ones.
        for instruction in reader.complete()? {
            self.execute(instruction)?;
        }
        loop {
            let due = self.turn();
            let now = socket::now();
            if now >= progress_at {
                send(&Message::Progress(self.stats.counts()))?;
                progress_at = now + PROGRESS;
            }
            self.wait(&mut events, due.unwrap_or(u64::MAX).min(progress_at).saturating_sub(now))?;
            for event in events.drain(..) {
                let key = event.data.u64();
                if key == INSTRUCTIONS {
                    let Some(instructions) = reader.read()? else { return Ok(()) };
                    for instruction in instructions {
                        self.execute(instruction)?;
                    }
                } else {
                    self.on_ready(key, event.flags);
                }
            }
        }
    }

    /// Starts what is due. Returns when the next thing is due.
    fn turn(&mut self) -> Option<u64> {
        let return_at = self.clients.dial_due(self.epoll.as_fd(), &mut self.stats);
        let Some(emitter) = &mut self.emitter else { return return_at };
        for index in emitter.missing() {
            let target = self.spec.emit_targets[self.dialed % self.spec.emit_targets.len()];
            match socket::dial(self.epoll.as_fd(), PUBLISHERS + index as u64, target, None) {
                Ok(socket) => emitter.dialed(index, socket),
                Err(_) => self.stats.count(crate::counts::Counter::Failed),
            }
            self.dialed += 1;
        }
        let emit_at = emitter.tick(self.clients.protocol(), &mut self.stats);
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
            self.clients.on_ready(key as usize, is_writable, &mut self.stats, &mut self.scratch);
        } else if let Some(emitter) = &mut self.emitter {
            let index = (key - PUBLISHERS) as usize;
            emitter.on_ready(index, is_writable, self.clients.protocol(), &mut self.stats, &mut self.scratch);
        }
    }

    fn execute(&mut self, instruction: Instruction) -> Result<(), WorkerError> {
        match instruction {
            Instruction::Hold { clients, at_once, returns } => self.clients.hold(clients, at_once, returns),
            Instruction::Churn { at_once } => self.clients.churn(at_once),
            Instruction::Emit(spec) => self.emitter = Some(Emitter::new(spec, self.spec.run)),
            Instruction::Measure => {
                self.stats.clear_timings();
                send(&Message::Report(self.stats.report()))?;
            }
            Instruction::Pause => {
                self.clients.pause();
                self.emitter.iter_mut().for_each(Emitter::pause);
            }
            Instruction::Leave => self.clients.leave(),
            Instruction::Report => send(&Message::Report(self.stats.report()))?,
        }
        Ok(())
    }
}
