//! An emit's way: the project's rate, the idempotency key, one publish on the bus.
//!
//! One actor on the bus arbiter, behind the HTTP API. It never knows sessions: whoever is to be told is the registry's
//! business, behind the bus.

mod idempotency;
mod rate;

use crate::bus::{BusError, ChannelKey, Publication, SharedBus};
use crate::counters::{Counters, Limit};
use crate::fingerprint::Fingerprint;
use crate::protocol::codes::ErrorCode;
use actix::{Actor, Context, Handler, Message, ResponseFuture};
use bytes::Bytes;
use futures::future::{FutureExt, LocalBoxFuture, TryFutureExt, ready};
use idempotency::{IdempotencyKeys, Publishing, Seen};
use rate::Rates;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
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

/// See the module.
pub struct Emitter {
    bus: SharedBus,
    node: u64,
    last_number: u64,
    rates: Rates,
    keys: Rc<RefCell<IdempotencyKeys>>,
    counters: Arc<Counters>,
}

impl Emitter {
    /// An emitter that publishes on `bus`; `node` is random, so that ids of different nodes differ.
    pub fn new(bus: SharedBus, node: u64, settings: EmitterSettings, counters: Arc<Counters>) -> Emitter {
        let keys = IdempotencyKeys::new(settings.idempotency_keys, settings.idempotency_window);
        Emitter {
            bus,
            node,
            last_number: 0,
            rates: Rates::new(settings.emits_per_second),
            keys: Rc::new(RefCell::new(keys)),
            counters,
        }
    }

    /// Checks one emit; what is returned tells it when it is awaited.
    fn prepare(&mut self, project: &Arc<str>, emit: Emit, now: Instant) -> LocalBoxFuture<'static, EmitResult> {
        if !self.rates.take(project, now) {
            self.counters.count_limit(Limit::EmitsPerSecond);
            return Box::pin(ready(Err(EmitError::RateLimited)));
        }
        let channel = ChannelKey { project: project.clone(), event: emit.event };
        let publication = Publication { channel, data: emit.data };
        let Some(key) = emit.idempotency_key else {
            let id = self.next_id();
            return Box::pin(self.publish(publication, id).map_ok(|id| Emitted { id, is_duplicate: false }));
        };
        let name = self.keys.borrow().name(project, &key);
        let seen = self.keys.borrow_mut().look_up(name, now);
        match seen {
            Seen::Told(id) => Box::pin(ready(Ok(Emitted { id, is_duplicate: true }))),
            Seen::UnderWay(publishing) => Box::pin(publishing.map_ok(|id| Emitted { id, is_duplicate: true })),
            Seen::Full => {
                self.counters.count_limit(Limit::IdempotencyKeys);
                Box::pin(ready(Err(EmitError::TooManyKeys)))
            }
            Seen::Never => {
                let publishing = self.publish_once(publication, name, now);
                Box::pin(publishing.map_ok(|id| Emitted { id, is_duplicate: false }))
            }
        }
    }

    /// Publishes under an idempotency key that was never seen.
    fn publish_once(&mut self, publication: Publication, name: Fingerprint, now: Instant) -> Publishing {
        let id = self.next_id();
        let keys = self.keys.clone();
        let publish = self.publish(publication, id);
        let publish: LocalBoxFuture<'static, _> =
            Box::pin(FutureExt::inspect(publish, move |result| keys.borrow_mut().settle(name, result)));
        let publishing = publish.shared();
        self.keys.borrow_mut().insert(name, publishing.clone(), now);
        publishing
    }

    fn next_id(&mut self) -> EmitId {
        self.last_number += 1;
        EmitId { node: self.node, number: self.last_number }
    }

    fn publish(
        &self,
        publication: Publication,
        id: EmitId,
    ) -> impl Future<Output = Result<EmitId, EmitError>> + 'static {
        FutureExt::map(self.bus.publish(publication), move |taken| match taken {
            Ok(()) => Ok(id),
            Err(BusError::Unavailable) => Err(EmitError::BusUnavailable),
        })
    }
}

impl Actor for Emitter {
    type Context = Context<Self>;
}

impl Handler<EmitAll> for Emitter {
    type Result = ResponseFuture<Vec<EmitResult>>;

    fn handle(&mut self, message: EmitAll, _: &mut Context<Self>) -> Self::Result {
        let now = Instant::now();
        let EmitAll { project, emits } = message;
        let prepared: Vec<_> = emits.into_iter().map(|emit| self.prepare(&project, emit, now)).collect();
        Box::pin(async move {
            let mut results = Vec::with_capacity(prepared.len());
            // One after the other: the order of a batch is the order on its channels.
            for emit in prepared {
                results.push(emit.await);
            }
            results
        })
    }
}
