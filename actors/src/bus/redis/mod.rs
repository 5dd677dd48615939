//! The bus of many nodes: one Redis that they share.
//!
//! There is one Redis channel for each (project, event) with subscribers on a node. Clients have no state in Redis.
//! There are two connections: `subscriber.rs` receives, `publisher.rs` publishes. Each reconnects by itself. Incoming
//! publications go through `inbox.rs`, which bounds them. Only this folder uses the Redis drivers.
//!
//! Invariants:
//! 1. A publication that Redis accepted arrives on every node that joined the channel, or that node gets `Missed` for
//!    it.
//! 2. While one of the two connections is lost, emits are refused. None is accepted and lost. `BusError::Unavailable`
//!    means that nothing was written to Redis or that Redis refused it. Any other failure is `OutcomeUnknown`.
//! 3. Publications go over one connection in the order of the calls, and Redis delivers them to all nodes in that
//!    order.

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

/// The settings of the bus.
#[derive(Clone)]
pub struct RedisBusSettings {
    pub address: RedisAddress,
    /// The prefix of every channel and key.
    pub prefix: String,
    /// Maximum bytes of event data that wait for the sessions of this node (`limits.queued_bytes`).
    pub queued_bytes: u32,
    /// How long an idempotency key is remembered.
    pub idempotency_window: Duration,
}

/// A [`Bus`] over Redis.
pub struct RedisBus {
    settings: RedisBusSettings,
    names: Names,
    health: Arc<BusHealth>,
    outage: Arc<Outage>,
    counters: Arc<Counters>,
    channel_commands: mpsc::UnboundedSender<ChannelCommand>,
    calls: mpsc::UnboundedSender<Call>,
    /// The receiving ends, which the tasks take when they start.
    ends: RefCell<Option<(mpsc::UnboundedReceiver<ChannelCommand>, mpsc::UnboundedReceiver<Call>)>>,
    tasks: RefCell<Vec<JoinHandle<()>>>,
    listeners: ControlListeners,
}

impl RedisBus {
    /// A bus that connects when it is attached. It is not ready before.
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
        // This connection joins no channel. The only push is the end of the connection.
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
        // Bounded by the callers: each waits for the answer to its publication.
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
                log::error!(cause:% = error; "a control message cannot be serialized");
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
