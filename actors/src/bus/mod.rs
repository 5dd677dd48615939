//! The bus. Every emit goes through it, including a node's own emits, so a channel has one order on all nodes.
//!
//! This file is the contract. `local.rs` implements it for a single node, `redis/` for many nodes. A bus lives on the
//! bus arbiter. The `Emitter` publishes on it. The `SessionRegistry` joins and leaves channels and receives
//! publications. The bus does not know sessions or conditions.

mod control;
mod emit_id;
mod health;
mod idempotency;
pub mod local;
pub mod redis;

pub use control::{Control, ControlListeners, NodeFacts};
pub use emit_id::EmitId;
pub use health::BusHealth;

use crate::backpressure::QueuePermit;
use crate::protocol::codes::GapReason;
use actix::prelude::*;
use bytes::Bytes;
use futures::future::LocalBoxFuture;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes that a publication costs in addition to its data: names, messages and lists.
const PUBLICATION_OVERHEAD_BYTES: usize = 256;

/// The name of a channel: one event of one project.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChannelKey {
    pub project: Arc<str>,
    pub event: Arc<str>,
}

/// One emit on its way to every node.
#[derive(Clone, Debug)]
pub struct Publication {
    pub channel: ChannelKey,
    /// The event data as the backend wrote it: valid JSON, at most `limits.emit_bytes`.
    pub data: Bytes,
}

impl Publication {
    /// The bytes that it takes of a queue of `capacity` bytes. A publication larger than the whole queue passes alone.
    fn cost(&self, capacity: u32) -> u32 {
        let bytes = self.data.len().saturating_add(PUBLICATION_OVERHEAD_BYTES);
        u32::try_from(bytes).unwrap_or(u32::MAX).min(capacity)
    }
}

/// The bus delivered an emit to this node.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Published {
    pub publication: Publication,
    pub queue_permit: QueuePermit,
}

/// Publications on these channels may not have arrived here. All of them were published before this message.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Missed {
    pub channels: Vec<ChannelKey>,
    pub reason: GapReason,
}

/// The receiver of the publications and gaps of a bus, in one order.
#[derive(Clone)]
pub struct Subscriber {
    pub published: Recipient<Published>,
    pub missed: Recipient<Missed>,
}

/// The idempotency key of an emit, and the id that answers later emits with the same key.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    pub key: Box<str>,
    pub id: EmitId,
}

/// The outcome of a publication with an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    First,
    /// The key was used before, by the emit with this id. Nothing was published.
    Duplicate(EmitId),
}

/// The reason why the bus did not accept something, or may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// It is certain that nothing was published.
    #[error("the bus is out of reach")]
    Unavailable,
    /// The publication was sent to the bus, and the answer did not arrive.
    #[error("the bus did not answer: whether it published is unknown")]
    OutcomeUnknown,
    #[error("the bus remembers as many idempotency keys as limits.idempotency_keys allows: try again later")]
    TooManyKeys,
    #[error(
        "the bus remembers as many keys of the project as limits.idempotency_keys_per_project allows: try again later"
    )]
    TooManyKeysOfProject,
}

/// The contract of a bus. The publications of one channel arrive on every node in the order in which the bus accepted
/// them. If some may be missing, the bus sends `Missed` for the channel, after everything that arrived before.
pub trait Bus {
    /// Sets the receiver of publications on joined channels. Called once, before anything else.
    fn attach(&self, subscriber: Subscriber);

    /// The health of the bus.
    fn health(&self) -> Arc<BusHealth>;

    /// Publishes; resolves when the bus has accepted the publication. Every node that joined the channel then receives
    /// it.
    ///
    /// # Errors
    /// Only [`BusError::OutcomeUnknown`] leaves open whether it was published; after any other error it was not.
    fn publish(&self, publication: Publication) -> LocalBoxFuture<'static, Result<(), BusError>>;

    /// Publishes, unless the project used the key within the time for which the bus remembers keys.
    fn publish_once(
        &self,
        publication: Publication,
        key: IdempotencyKey,
    ) -> LocalBoxFuture<'static, Result<Accepted, BusError>>;

    /// Joins a channel. Resolves once every later publication on it will arrive here. Joining twice is the same as
    /// once.
    fn join(&self, channel: &ChannelKey) -> LocalBoxFuture<'static, Result<(), BusError>>;

    /// Adds a receiver of control messages.
    fn attach_control(&self, listener: Recipient<Control>);

    /// Sends a message to all nodes, this one included. Resolves to the number of nodes that receive it, and need not
    /// be awaited. A node that is cut off from the bus at that moment never receives it.
    fn announce(&self, message: &Control) -> LocalBoxFuture<'static, Result<u64, BusError>>;

    /// Leaves a channel.
    fn leave(&self, channel: &ChannelKey);
}

/// A bus, shared by the actors of the bus arbiter.
pub type SharedBus = Rc<dyn Bus>;
