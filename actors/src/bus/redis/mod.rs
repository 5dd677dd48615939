//! The bus of many nodes: one Redis that they share.
//!
//! One Redis channel for each (project, event) with subscribers on a node; nothing in Redis for a client. Two
//! connections: `subscriber.rs` hears, `publisher.rs` publishes, each with its own way back after a loss. What arrives
//! goes through `inbox.rs`, which bounds it. The drivers are named in this folder only.
//!
//! Invariants:
//! 1. What Redis has taken arrives on every joined channel of every node, or `Missed` is said of the channel.
//! 2. While one of the two connections is lost, an emit is refused: never accepted and lost. `BusError::Unavailable`
//!    means that nothing was written to Redis or that Redis refused it; anything else that fails is `OutcomeUnknown`.
//! 3. A publication goes over one connection in the order of the calls, and Redis tells all nodes in that order.

mod address;
mod announcement;
mod backoff;
mod inbox;
mod log_rate_limit;
mod names;
mod outage;
mod publisher;
mod subscriber;

pub use address::{RedisAddress, RedisAddressError};
pub use announcement::announce_once;

use super::{
    Accepted, Bus, BusError, BusHealth, ChannelKey, Control, ControlListeners, IdempotencyKey, Publication, Subscriber,
};
use crate::counters::Counters;
use actix::Recipient;
use futures::future::{LocalBoxFuture, TryFutureExt, ready};
use inbox::Inbox;
use log_rate_limit::LogRateLimit;
use names::Names;
use outage::Outage;
use publisher::{Call, Command, PublisherTask, Reply};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use subscriber::{ChannelCommand, SubscriberTask};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

/// Where Redis is and how it is used.
#[derive(Clone)]
pub struct RedisBusSettings {
    pub address: RedisAddress,
    /// What every channel and key begins with.
    pub prefix: String,
    /// Event data on its way to the sessions of this node, in bytes (`limits.queued_bytes`).
    pub queued_bytes: u32,
    /// How long an idempotency key is remembered.
    pub idempotency_window: Duration,
}

/// See the module.
pub struct RedisBus {
    settings: RedisBusSettings,
    names: Names,
    health: Arc<BusHealth>,
    outage: Arc<Outage>,
    counters: Arc<Counters>,
    channel_commands: mpsc::UnboundedSender<ChannelCommand>,
    calls: mpsc::UnboundedSender<Call>,
    /// What the tasks take with them when they start.
    ends: RefCell<Option<(mpsc::UnboundedReceiver<ChannelCommand>, mpsc::UnboundedReceiver<Call>)>>,
    tasks: RefCell<Vec<JoinHandle<()>>>,
    listeners: ControlListeners,
}

impl RedisBus {
    /// A bus that connects when it is attached, and is not ready before it has.
    pub fn new(settings: RedisBusSettings, counters: Arc<Counters>) -> RedisBus {
        let (channel_commands, commands) = mpsc::unbounded_channel();
        let (calls, called) = mpsc::unbounded_channel();
        RedisBus {
            names: Names::new(&settings.prefix),
            outage: Arc::new(Outage::new(settings.address.clone())),
            settings,
            health: Arc::default(),
            counters,
            channel_commands,
            calls,
            ends: RefCell::new(Some((commands, called))),
            tasks: RefCell::default(),
            listeners: ControlListeners::default(),
        }
    }

    fn subscriber_task(
        &self,
        subscriber: Subscriber,
        channel_commands: mpsc::UnboundedReceiver<ChannelCommand>,
    ) -> SubscriberTask {
        let (names, counters) = (self.names.clone(), self.counters.clone());
        let inbox = Arc::new(Inbox::new(
            subscriber,
            self.listeners.clone(),
            names.clone(),
            self.settings.queued_bytes,
            counters.clone(),
        ));
        let pushes = inbox.clone();
        let address = &self.settings.address;
        let connector = address.connector(move |push| pushes.on_push(push), subscriber::RESPONSE_TIMEOUT);
        SubscriberTask::new(
            connector,
            names,
            inbox,
            channel_commands,
            self.health.clone(),
            self.outage.clone(),
            counters,
        )
    }

    fn publisher_task(&self, calls: mpsc::UnboundedReceiver<Call>) -> PublisherTask {
        let (names, counters) = (self.names.clone(), self.counters.clone());
        let lost = Arc::new(Notify::new());
        let pushes = lost.clone();
        let address = &self.settings.address;
        // It joins nothing: all that is ever pushed is its end.
        let connector = address.connector(move |_| pushes.notify_one(), publisher::RESPONSE_TIMEOUT);
        let window = self.settings.idempotency_window;
        PublisherTask {
            connector,
            names,
            lost,
            calls,
            window,
            refusals: LogRateLimit::default(),
            outage: self.outage.clone(),
            health: self.health.clone(),
            counters,
        }
    }

    fn call(&self, command: Command) -> LocalBoxFuture<'static, Result<Reply, BusError>> {
        if !self.health.is_ready() {
            return Box::pin(ready(Err(BusError::Unavailable)));
        }
        let (answer, answered) = oneshot::channel();
        // Bounded by the callers: each holds what it publishes until it is answered.
        if self.calls.send(Call { command, answer }).is_err() {
            return Box::pin(ready(Err(BusError::Unavailable)));
        }
        // The publisher refuses what it did not send. Where it drops an answer, the command may have reached Redis.
        Box::pin(async move { answered.await.unwrap_or(Err(BusError::OutcomeUnknown)) })
    }
}

impl Bus for RedisBus {
    fn attach(&self, subscriber: Subscriber) {
        let Some((channel_commands, calls)) = self.ends.take() else {
            debug_assert!(false, "a bus has one subscriber");
            return;
        };
        let subscriber_task = tokio::spawn(self.subscriber_task(subscriber, channel_commands).run());
        let publisher_task = tokio::spawn(self.publisher_task(calls).run());
        self.tasks.borrow_mut().extend([subscriber_task, publisher_task]);
    }

    fn health(&self) -> Arc<BusHealth> {
        self.health.clone()
    }

    fn publish(&self, publication: Publication) -> LocalBoxFuture<'static, Result<(), BusError>> {
        Box::pin(self.call(Command::Emit(publication)).map_ok(|_| ()))
    }

    fn publish_once(
        &self,
        publication: Publication,
        key: IdempotencyKey,
    ) -> LocalBoxFuture<'static, Result<Accepted, BusError>> {
        Box::pin(self.call(Command::EmitOnce(publication, key)).map_ok(|reply| match reply {
            Reply::Published { .. } => Accepted::First,
            Reply::Duplicate(id) => Accepted::Duplicate(id),
        }))
    }

    fn join(&self, channel: &ChannelKey) -> LocalBoxFuture<'static, Result<(), BusError>> {
        if !self.health.receives() {
            return Box::pin(ready(Err(BusError::Unavailable)));
        }
        let (answer, answered) = oneshot::channel();
        let _ = self.channel_commands.send(ChannelCommand::Join(channel.clone(), answer));
        Box::pin(async move { answered.await.unwrap_or(Err(BusError::Unavailable)) })
    }

    fn attach_control(&self, listener: Recipient<Control>) {
        self.listeners.add(listener);
    }

    fn announce(&self, message: &Control) -> LocalBoxFuture<'static, Result<u64, BusError>> {
        match serde_json::to_string(message) {
            Ok(text) => Box::pin(self.call(Command::Control(text)).map_ok(|reply| match reply {
                Reply::Published { receivers } => receivers,
                Reply::Duplicate(_) => 0,
            })),
            Err(error) => {
                log::error!("a message to the other nodes can't be written: {error}");
                Box::pin(ready(Err(BusError::Unavailable)))
            }
        }
    }

    fn leave(&self, channel: &ChannelKey) {
        let _ = self.channel_commands.send(ChannelCommand::Leave(channel.clone()));
    }
}

impl Drop for RedisBus {
    fn drop(&mut self) {
        for task in self.tasks.take() {
            task.abort();
        }
    }
}
