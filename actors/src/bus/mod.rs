//! The bus: every emit goes through it, a node's own included, so that a channel has one order for all.
//!
//! A contract with its implementations beside it: `local.rs` for a node alone. A bus lives on the bus arbiter; its
//! neighbours are the `Emitter`, which publishes, and the `SessionRegistry`, which joins, leaves and is handed what was
//! published. It never knows sessions or conditions.

pub mod local;

use crate::passage::Passage;
use actix::prelude::*;
use bytes::Bytes;
use futures::future::LocalBoxFuture;
use std::rc::Rc;
use std::sync::Arc;

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

/// The fact that the bus has handed an emit to this node.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Published {
    pub publication: Publication,
    pub passage: Passage,
}

/// Why the bus did not take something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    #[error("the bus is out of reach: nothing was told, try again")]
    Unavailable,
}

/// What a bus does. Publications of one channel arrive in the order in which they were taken, on every node alike.
pub trait Bus {
    /// Says where publications of joined channels go. Called once, before anything else.
    fn attach(&self, subscriber: Recipient<Published>);

    /// Publishes; resolves when the bus has taken it, after which every node that joined the channel will be handed it.
    fn publish(&self, publication: Publication) -> LocalBoxFuture<'static, Result<(), BusError>>;

    /// Joins a channel; resolves when every later publication on it will arrive here. Joining twice is joining once.
    fn join(&self, channel: &ChannelKey) -> LocalBoxFuture<'static, Result<(), BusError>>;

    /// Leaves a channel.
    fn leave(&self, channel: &ChannelKey);
}

/// A bus as the actors of the bus arbiter share it.
pub type SharedBus = Rc<dyn Bus>;
