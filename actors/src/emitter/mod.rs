//! Handles emits: checks the project's rate, then publishes once on the bus, under the idempotency key if there is one.
//!
//! One actor on the bus arbiter, behind the HTTP API. It does not know sessions. The registry finds the receivers,
//! behind the bus.

mod batcher;
mod rate;

pub use crate::bus::EmitId;
pub use batcher::EmitBatcher;

use crate::bus::{Accepted, BusError, ChannelKey, IdempotencyKey, Publication, SharedBus};
use crate::counters::{Counters, Limit};
use crate::protocol::codes::ErrorCode;
use actix::{Actor, Context, Handler, Message};
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, TryFutureExt, ready};
use rate::Rates;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// One emit of a backend. Its form is checked.
#[derive(Debug)]
pub struct Emit {
    pub event: Arc<str>,
    /// Valid JSON.
    pub data: Bytes,
    pub idempotency_key: Option<Box<str>>,
}

/// The emits of one HTTP call, in order. The answers come in the same order. Where the emitter ends, no answer comes,
/// and the outcome is unknown.
#[derive(Message)]
#[rtype(result = "()")]
pub struct EmitCall {
    pub project: Arc<str>,
    pub emits: Vec<Emit>,
    pub answer: oneshot::Sender<Vec<EmitResult>>,
}

/// The calls of one worker's turn, in order.
#[derive(Message)]
#[rtype(result = "()")]
struct EmitBatch(Vec<EmitCall>);

/// A published emit, or an earlier one with the same idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    pub id: EmitId,
    pub is_duplicate: bool,
}

impl Emitted {
    fn of(accepted: Accepted, id: EmitId) -> Emitted {
        match accepted {
            Accepted::First => Emitted { id, is_duplicate: false },
            Accepted::Duplicate(id) => Emitted { id, is_duplicate: true },
        }
    }
}

/// Why an emit was not published, or may not have been. The caller may try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    #[error("the project emits faster than its limit: try again in a second")]
    RateLimited,
    #[error("the node has reached its limit of idempotency keys: try again later, or without a key")]
    TooManyKeys,
    #[error("the project has reached its limit of idempotency keys: try again later, or without a key")]
    TooManyKeysOfProject,
    #[error("the bus is out of reach, the event was not published: try again")]
    BusUnavailable,
    #[error("whether the event was published is unknown: give an idempotency key and send it again")]
    OutcomeUnknown,
}

impl EmitError {
    /// The code that a backend reads.
    pub fn code(self) -> ErrorCode {
        match self {
            EmitError::RateLimited | EmitError::TooManyKeys | EmitError::TooManyKeysOfProject => ErrorCode::RateLimited,
            EmitError::BusUnavailable => ErrorCode::BusUnavailable,
            EmitError::OutcomeUnknown => ErrorCode::OutcomeUnknown,
        }
    }
}

impl From<BusError> for EmitError {
    fn from(error: BusError) -> EmitError {
        match error {
            BusError::Unavailable => EmitError::BusUnavailable,
            BusError::OutcomeUnknown => EmitError::OutcomeUnknown,
            BusError::TooManyKeys => EmitError::TooManyKeys,
            BusError::TooManyKeysOfProject => EmitError::TooManyKeysOfProject,
        }
    }
}

/// The answer to one emit.
pub type EmitResult = Result<Emitted, EmitError>;

/// The actor that publishes emits.
pub struct Emitter {
    bus: SharedBus,
    node: u64,
    last_number: u64,
    rates: Rates,
    counters: Arc<Counters>,
}

impl Emitter {
    /// An emitter that publishes on `bus`. `node` is random, so ids of different nodes differ. A project may emit
    /// `emits_per_second` times a second. 0 means no limit.
    pub fn new(bus: SharedBus, node: u64, emits_per_second: u32, counters: Arc<Counters>) -> Emitter {
        Emitter { bus, node, last_number: 0, rates: Rates::new(emits_per_second), counters }
    }

    /// Checks one emit and publishes it. The returned future resolves to the outcome.
    fn prepare(&mut self, project: &Arc<str>, emit: Emit, now: Instant) -> LocalBoxFuture<'static, EmitResult> {
        if !self.rates.take(project, now) {
            self.counters.count_limit(Limit::EmitsPerSecond);
            return Box::pin(ready(Err(EmitError::RateLimited)));
        }
        let channel = ChannelKey { project: project.clone(), event: emit.event };
        let publication = Publication { channel, data: emit.data };
        let id = self.next_id();
        match emit.idempotency_key {
            None => {
                let publish = self.bus.publish(publication);
                Box::pin(publish.map_ok(move |()| Emitted { id, is_duplicate: false }).err_into())
            }
            Some(key) => {
                let publish = self.bus.publish_once(publication, IdempotencyKey { key, id });
                Box::pin(publish.map_ok(move |accepted| Emitted::of(accepted, id)).err_into())
            }
        }
    }

    fn next_id(&mut self) -> EmitId {
        self.last_number += 1;
        EmitId::new(self.node, self.last_number)
    }
}

impl Actor for Emitter {
    type Context = Context<Self>;
}

impl Handler<EmitBatch> for Emitter {
    type Result = ();

    fn handle(&mut self, batch: EmitBatch, _: &mut Context<Self>) {
        let now = Instant::now();
        let mut answers = Vec::with_capacity(batch.0.len());
        for EmitCall { project, emits, answer } in batch.0 {
            let prepared: Vec<_> = emits.into_iter().map(|emit| self.prepare(&project, emit, now)).collect();
            let mut publishing = Box::pin(publish_all(prepared));
            match (&mut publishing).now_or_never() {
                Some(results) => answers.push((answer, results)),
                None => drop(actix::spawn(async move { drop(answer.send(publishing.await)) })),
            }
        }
        if !answers.is_empty() {
            // In a separate task, after the registry has handled the publications. The worker is then woken once for
            // both the deliveries and the answers.
            actix::spawn(async move {
                for (answer, results) in answers {
                    // The caller may be gone.
                    drop(answer.send(results));
                }
            });
        }
    }
}

/// Awaits the emits one after another, so their order on a channel is their order in the call.
async fn publish_all(prepared: Vec<LocalBoxFuture<'static, EmitResult>>) -> Vec<EmitResult> {
    let mut results = Vec::with_capacity(prepared.len());
    for emit in prepared {
        results.push(emit.await);
    }
    results
}
