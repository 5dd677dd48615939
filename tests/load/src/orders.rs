//! What the processes of a run say to each other: lines of JSON, orders down, messages up.

use crate::counts::{Counts, Timing};
use crate::dialects::DialectSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

/// What a worker is told before anything else.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct WorkerSpec {
    pub dialect: DialectSpec,
    /// Servers, which clients are spread over.
    pub targets: Vec<SocketAddrV4>,
    /// Servers that events are published to.
    pub emit_targets: Vec<SocketAddrV4>,
    /// Addresses that clients come from, in turn; none: the system's choice.
    pub sources: Vec<Ipv4Addr>,
    /// The number of this process's first client.
    pub first: u32,
    /// How many clients make an audience.
    pub audience_size: u32,
    /// Tells this run's events from others'.
    pub run: u32,
    /// A notification that comes later is late, in nanoseconds.
    pub late: u64,
}

/// What a worker is to do. Each comes into force at once; where there are no more, a worker ends.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Order {
    /// Hold so many clients, of which `at_once` are being connected at a time.
    Hold { clients: u32, at_once: u32, returns: bool },
    /// Let `at_once` clients come and go, over and over.
    Churn { at_once: u32 },
    /// Publish events.
    Emit(EmitOrder),
    /// Say all that was counted, and forget timings, so that what comes counts alone. It is one order, since what happened
    /// between two would be counted and not timed, or the other way about.
    Measure,
    /// Begin no new connection of a churn, publish no further event.
    Pause,
    /// Let every client say goodbye.
    Leave,
    /// Say all that was counted and timed.
    Report,
}

/// How events are published.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct EmitOrder {
    /// The first audience of this process, and how many it has.
    pub first: u32,
    pub audiences: u32,
    /// How many clients each audience has in all, and in this process.
    pub members: u32,
    pub own_members: u32,
    /// Events a second; none: as fast as they are taken.
    pub rate: Option<f64>,
    pub connections: u32,
    /// Events in one request.
    pub batch: u32,
    /// Events that may be under way at a time to this process's own clients, where there is no rate.
    pub window: u32,
}

/// What a worker says.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub enum Message {
    /// A few times a second.
    Progress(Counts),
    /// The answer to [`Order::Report`] and [`Order::Measure`].
    Report(Report),
    /// The worker can't go on.
    Failed(String),
}

/// All that a worker has counted since its start, and timed since [`Order::Measure`].
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Report {
    pub counts: Counts,
    pub timings: BTreeMap<Timing, Vec<(u64, u64)>>,
}
