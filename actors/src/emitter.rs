//! An emit's way: the project's rate, the idempotency key, one publish on the bus.
//!
//! One actor on the bus arbiter, behind the HTTP API. It never knows sessions: whoever is to be told is the registry's
//! business, behind the bus.

mod idempotency;
mod rate;

use crate::bus::{ChannelKey, Publication, SharedBus};
use crate::counters::{Counters, Limit};
use crate::protocol::codes::ErrorCode;
use actix::prelude::*;
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt, Shared};
use idempotency::{IdempotencyKeys, Seen};
use rate::Rates;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The bounds of the emitter.
#[derive(Clone, Copy, Debug)]
pub struct EmitterSettings {
    /// Emits a second of one project; 0: no limit.
    pub emits_per_second: u32,
    /// Idempotency keys remembered by the node.
    pub idempotency_keys: usize,
    /// How long a key is remembered.
    pub idempotency_window: Duration,
}

/// One emit as a backend asked for it, its form checked.
#[derive(Debug)]
pub struct Emit {
    pub event: Arc<str>,
    /// Valid JSON.
    pub data: Bytes,
    pub idempotency_key: Option<Box<str>>,
}

/// Emits of one HTTP call, in order. The answers come in the same order.
#[derive(Message)]
#[rtype(result = "Vec<EmitResult>")]
pub struct EmitAll {
    pub project: Arc<str>,
    pub emits: Vec<Emit>,
}

/// Names an emit, unique among all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmitId {
    node: u64,
    number: u64,
}

impl fmt::Display for EmitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}-{:x}", self.node, self.number)
    }
}

/// What was told, or told before under the same idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    pub id: EmitId,
    pub is_duplicate: bool,
}

/// Why an emit was not told. The caller may try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    #[error("the project emits faster than it may: try again in a second")]
    RateLimited,
    #[error("the node remembers as many idempotency keys as it may: try again later")]
    TooManyKeys,
    #[error("the bus is out of reach: nothing was told, try again")]
    BusUnavailable,
}

impl EmitError {
    /// The code that a backend reads.
    pub fn code(self) -> ErrorCode {
        match self {
            EmitError::RateLimited | EmitError::TooManyKeys => ErrorCode::RateLimited,
            EmitError::BusUnavailable => ErrorCode::BusUnavailable,
        }
    }
}

/// The answer to one emit.
pub type EmitResult = Result<Emitted, EmitError>;

/// A publish under way, which emits with the same key wait for.
type Publishing = Shared<BoxFuture<'static, Result<EmitId, EmitError>>>;

/// See the module.
pub struct Emitter {
    bus: SharedBus,
    node: u64,
    last_number: u64,
    rates: Rates,
    keys: IdempotencyKeys,
    counters: Arc<Counters>,
}

impl Emitter {
    /// An emitter that publishes on `bus`; `node` is random, so that ids of different nodes differ.
    pub fn new(bus: SharedBus, node: u64, settings: EmitterSettings, counters: Arc<Counters>) -> Emitter {
        Emitter {
            bus,
            node,
            last_number: 0,
            rates: Rates::new(settings.emits_per_second),
            keys: IdempotencyKeys::new(settings.idempotency_keys, settings.idempotency_window),
            counters,
        }
    }
}
