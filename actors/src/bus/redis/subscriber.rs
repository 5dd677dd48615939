//! The connection on which this node receives: it joins channels, sends pings, and reconnects after a loss.
//!
//! One task for the life of the bus. Only this task sets `BusHealth::set_receives`. The node receives from the moment
//! when all wanted channels are confirmed and their gaps are sent, until the connection is lost.

use super::address::Connector;
use super::backoff::Backoff;
use super::inbox::Inbox;
use super::names::Names;
use super::outage::Outage;
use crate::bus::{BusError, BusHealth, ChannelKey};
use crate::counters::Counters;
use crate::protocol::codes::GapReason;
use deadpool_redis::redis::{RedisError, aio::MultiplexedConnection, cmd};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

/// Maximum time for an answer. A dead connection is noticed within this time plus [`PING_INTERVAL`].
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval of the pings on this connection.
const PING_INTERVAL: Duration = Duration::from_secs(3);

/// Maximum number of channels in one command: up to 250 KB of names.
const BATCH: usize = 1000;

/// Interval of the check whether there is room again after an overflow.
const RECOVERY_INTERVAL: Duration = Duration::from_millis(50);

/// A connection that lasted this long was stable, so the backoff starts over after it is lost.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// The name of this connection in the log.
const CONNECTION: &str = "subscriber";

/// A channel to join, and the caller that waits.
type Joining = (ChannelKey, oneshot::Sender<Result<(), BusError>>);

/// The commands of the bus. They run in order.
pub(super) enum ChannelCommand {
    Join(ChannelKey, oneshot::Sender<Result<(), BusError>>),
    Leave(ChannelKey),
}

/// The task that owns the receiving connection.
pub(super) struct SubscriberTask {
    connector: Connector,
    names: Names,
    inbox: Arc<Inbox>,
    commands: mpsc::UnboundedReceiver<ChannelCommand>,
    /// A command that was received and is not executed yet.
    held: Option<ChannelCommand>,
    /// The channels to join on each new connection. Invariant: changed only here, when a command is executed.
    wanted: HashSet<ChannelKey>,
    health: Arc<BusHealth>,
    outage: Arc<Outage>,
    counters: Arc<Counters>,
}

impl SubscriberTask {
    /// A task that executes `commands` on connections of `connector`, whose push messages go to `inbox`.
    pub fn new(
        connector: Connector,
        names: Names,
        inbox: Arc<Inbox>,
        commands: mpsc::UnboundedReceiver<ChannelCommand>,
        health: Arc<BusHealth>,
        outage: Arc<Outage>,
        counters: Arc<Counters>,
    ) -> SubscriberTask {
        SubscriberTask {
            connector,
            names,
            inbox,
            commands,
            held: None,
            wanted: HashSet::new(),
            health,
            outage,
            counters,
        }
    }

    /// Runs until the task is aborted.
    pub async fn run(mut self) {
        let mut backoff = Backoff::default();
        loop {
            match self.connect().await {
                Ok(connection) => {
                    let since = Instant::now();
                    self.health.set_receives(true);
                    self.outage.on_connected(CONNECTION);
                    let cause = self.serve(connection).await;
                    self.health.set_receives(false);
                    self.discard_commands();
                    self.counters.bus_losses.add(1);
                    self.outage.on_lost(CONNECTION, &cause);
                    if since.elapsed() >= STABLE_AFTER {
                        backoff.reset();
                    }
                }
                Err(cause) => self.outage.on_failure(CONNECTION, &cause),
            }
            sleep(backoff.next_wait()).await;
        }
    }

    /// Connects, joins every wanted channel and sends their gaps.
    async fn connect(&mut self) -> Result<MultiplexedConnection, String> {
        self.inbox.reset();
        let mut connection = self.connector.connect().await?;
        self.discard_commands();
        connection.subscribe(self.names.control()).await.map_err(|error| error.to_string())?;
        self.inbox.send_missed_control();
        let wanted: Vec<ChannelKey> = self.wanted.iter().cloned().collect();
        for channels in wanted.chunks(BATCH) {
            self.subscribe(&mut connection, channels).await.map_err(|error| error.to_string())?;
        }
        if !wanted.is_empty() {
            self.inbox.send_missed(wanted, GapReason::BusReconnected);
        }
        Ok(connection)
    }

    /// Discards the commands that arrived without a connection: joins are refused, and left channels are not joined
    /// again.
    fn discard_commands(&mut self) {
        while let Some(command) = self.held.take().or_else(|| self.commands.try_recv().ok()) {
            if let ChannelCommand::Leave(channel) = command {
                self.wanted.remove(&channel);
            }
        }
    }

    async fn subscribe(
        &self,
        connection: &mut MultiplexedConnection,
        channels: &[ChannelKey],
    ) -> Result<(), RedisError> {
        let names: Vec<String> = channels.iter().map(|channel| self.names.channel(channel)).collect();
        connection.subscribe(names).await
    }

    /// Executes commands until the connection is lost. Returns the cause.
    async fn serve(&mut self, mut connection: MultiplexedConnection) -> String {
        let mut ping = interval(PING_INTERVAL);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let inbox = self.inbox.clone();
        loop {
            let has_recovered = inbox.recover();
            let outcome = tokio::select! {
                biased;
                () = inbox.lost() => return "the connection ended".to_owned(),
                _ = ping.tick() => cmd("PING").query_async::<()>(&mut connection).await,
                () = inbox.overflow(), if has_recovered => Ok(()),
                () = sleep(RECOVERY_INTERVAL), if !has_recovered => Ok(()),
                command = self.commands.recv() => match command {
                    Some(command) => self.run_command(command, &mut connection).await,
                    None => return "the node stops".to_owned(),
                },
            };
            if let Err(error) = outcome {
                return error.to_string();
            }
        }
    }

    /// Executes a command and those that follow it. Consecutive commands of one kind are sent as one.
    async fn run_command(
        &mut self,
        first: ChannelCommand,
        connection: &mut MultiplexedConnection,
    ) -> Result<(), RedisError> {
        let mut next = Some(first);
        while let Some(command) = next {
            match command {
                ChannelCommand::Join(channel, answer) => self.join((channel, answer), connection).await?,
                ChannelCommand::Leave(channel) => self.leave(channel, connection).await?,
            }
            next = self.held.take();
        }
        Ok(())
    }

    /// Joins channels and answers the callers. If the connection fails, the answers are dropped, which tells the
    /// callers.
    async fn join(&mut self, first: Joining, connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
        let (mut channels, mut answers) = (vec![first.0], vec![first.1]);
        while channels.len() < BATCH {
            match self.commands.try_recv() {
                Ok(ChannelCommand::Join(channel, answer)) => {
                    channels.push(channel);
                    answers.push(answer);
                }
                other => {
                    self.held = other.ok();
                    break;
                }
            }
        }
        let refusal = match self.subscribe(connection, &channels).await {
            Ok(()) => {
                self.wanted.extend(channels);
                Ok(())
            }
            // Redis answered: the user may not subscribe to these channels.
            Err(error) if error.code().is_some() => {
                log::error!(cause:% = error; "Redis does not allow this node to subscribe to channels");
                Err(BusError::Unavailable)
            }
            Err(error) => return Err(error),
        };
        for answer in answers {
            // The caller may be gone.
            let _ = answer.send(refusal);
        }
        Ok(())
    }

    async fn leave(&mut self, first: ChannelKey, connection: &mut MultiplexedConnection) -> Result<(), RedisError> {
        let mut channels = vec![first];
        while channels.len() < BATCH {
            match self.commands.try_recv() {
                Ok(ChannelCommand::Leave(channel)) => channels.push(channel),
                other => {
                    self.held = other.ok();
                    break;
                }
            }
        }
        let names: Vec<String> = channels.iter().map(|channel| self.names.channel(channel)).collect();
        for channel in &channels {
            self.wanted.remove(channel);
        }
        connection.unsubscribe(names).await
    }
}
