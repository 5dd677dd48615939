//! The bus: every emit goes through it, a node's own included, so that a channel has one order for all.
//!
//! A contract with its implementations beside it: `local.rs` for a node alone, `redis/` for many. A bus lives on the bus
//! arbiter; its neighbours are the `Emitter`, which publishes, and the `SessionRegistry`, which joins, leaves and is
//! handed what was published. It never knows sessions or conditions.

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

/// What a publication costs on its way beside its data, in bytes: names, messages and lists.
const PUBLICATION_OVERHEAD_BYTES: usize = 256;

/// Names a channel: one event of one project.
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
    /// The bytes that it takes of a room of `capacity`: one that is larger than the whole room passes alone.
    fn cost(&self, capacity: u32) -> u32 {
        let bytes = self.data.len().saturating_add(PUBLICATION_OVERHEAD_BYTES);
        u32::try_from(bytes).unwrap_or(u32::MAX).min(capacity)
    }
}

/// The fact that the bus has handed an emit to this node.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Published {
    pub publication: Publication,
    pub queue_permit: QueuePermit,
}

/// The fact that publications on these channels may not have arrived here, all of them published before this was said.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Missed {
    pub channels: Vec<ChannelKey>,
    pub reason: GapReason,
}

/// Where a bus hands what it has, in one order.
#[derive(Clone)]
pub struct Subscriber {
    pub published: Recipient<Published>,
    pub missed: Recipient<Missed>,
}

/// Under which key an emit is told once, and the id that later ones are answered.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    pub key: Box<str>,
    pub id: EmitId,
}

/// What became of a publication that is told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    First,
    /// The key was used before, by the emit with this id; nothing was published.
    Duplicate(EmitId),
}

/// Why the bus did not accept something, or may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// It is certain that nothing was published.
    #[error("the bus is out of reach")]
    Unavailable,
    /// The publication was handed to the bus, and the answer did not arrive.
    #[error("the bus did not answer: whether it published is unknown")]
    OutcomeUnknown,
    #[error("the bus remembers as many idempotency keys as limits.idempotency_keys allows: try again later")]
    TooManyKeys,
    #[error(
        "the bus remembers as many keys of the project as limits.idempotency_keys_per_project allows: try again later"
    )]
    TooManyKeysOfProject,
}

/// What a bus does. Publications of one channel arrive in the order in which they were taken, on every node alike; or
/// `Missed` is said of their channel after what arrived before.
pub trait Bus {
    /// Says where publications of joined channels go. Called once, before anything else.
    fn attach(&self, subscriber: Subscriber);

    /// Whether the bus does its work.
    fn health(&self) -> Arc<BusHealth>;

    /// Publishes; resolves when the bus has accepted the publication. Every node that joined the channel then receives it.
    ///
    /// # Errors
    /// Only [`BusError::OutcomeUnknown`] leaves open whether it was published; after any other error it was not.
    fn publish(&self, publication: Publication) -> LocalBoxFuture<'static, Result<(), BusError>>;

    /// Publishes, unless the project's key was used within the window of time that the bus remembers keys.
    fn publish_once(
        &self,
        publication: Publication,
        key: IdempotencyKey,
    ) -> LocalBoxFuture<'static, Result<Accepted, BusError>>;

    /// Joins a channel; resolves when every later publication on it will arrive here. Joining twice is joining once.
    fn join(&self, channel: &ChannelKey) -> LocalBoxFuture<'static, Result<(), BusError>>;

    /// Adds one to whom what nodes tell each other goes.
    fn attach_control(&self, listener: Recipient<Control>);

    /// Sends a message to all nodes, this one included. Resolves to the number of nodes that receive it, and need not be
    /// awaited. A node that is cut off from the bus at that moment never receives it.
    fn announce(&self, message: &Control) -> LocalBoxFuture<'static, Result<u64, BusError>>;

    /// Leaves a channel.
    fn leave(&self, channel: &ChannelKey);
}

/// A bus as the actors of the bus arbiter share it.
pub type SharedBus = Rc<dyn Bus>;
