//! The messages between coordinator and workers, as lines of JSON: instructions to the workers, reports back.

use crate::counts::{Counts, Timing};
use crate::protocols::ProtocolSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The first line that a worker reads: its settings.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct WorkerSpec {
    pub protocol: ProtocolSpec,
    /// Servers that clients are spread over.
    pub targets: Vec<SocketAddrV4>,
    /// Servers that events are published to.
    pub emit_targets: Vec<SocketAddrV4>,
    /// Source addresses of clients, used in turn. If empty, the system chooses.
    pub sources: Vec<Ipv4Addr>,
    /// The number of the first client of this process.
    pub first: u32,
    /// Clients per audience.
    pub audience_size: u32,
    /// Identifies the events of this run.
    pub run: u32,
    /// Nanoseconds after which a notification counts as late.
    pub late: u64,
}

/// An instruction to a worker, carried out at once. When the instructions end, the worker exits.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Instruction {
    /// Connect and hold this many clients, at most `at_once` connecting at the same time. With `returns`, clients that
    /// lose their connection reconnect.
    Hold { clients: u32, at_once: u32, returns: bool },
    /// Connect and disconnect clients over and over, `at_once` at the same time.
    Churn { at_once: u32 },
    /// Publish events.
    Emit(EmitSpec),
    /// Report all counts and clear the timings, so that the measurement starts now. This is one instruction: between
    /// two, an event could be counted and not timed, or timed and not counted.
    Measure,
    /// Start no new connection of a churn, and publish no more events.
    Pause,
    /// Close all clients with a close frame.
    Leave,
    /// Report all counts and timings.
    Report,
}

/// The settings of publishing.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct EmitSpec {
    /// The first audience of this process, and the number of its audiences.
    pub first: u32,
    pub audiences: u32,
    /// Clients per audience in total, and in this process.
    pub members: u32,
    pub own_members: u32,
    /// Events per second. `None`: as fast as the server accepts them.
    pub rate: Option<f64>,
    pub connections: u32,
    /// Events per request.
    pub batch: u32,
    /// Without a rate: maximum number of events that are emitted and not yet received by the clients of this process.
    pub window: u32,
}

/// A message from a worker.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Message {
    /// Sent a few times per second.
    Progress(Counts),
    /// The answer to [`Instruction::Report`] and [`Instruction::Measure`].
    Report(Report),
    /// The worker can't continue.
    Failed(String),
}

/// The counts of a worker since its start, and its timings since [`Instruction::Measure`].
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Report {
    pub counts: Counts,
    pub timings: BTreeMap<Timing, Vec<(u64, u64)>>,
}
