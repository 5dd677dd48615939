//! The connection on which this node hears: joined channels, signs of life, and the way back after a loss.
//!
//! One task for the life of the bus. It is the only one that says what the node hears (`BusHealth::set_receives`): from the
//! moment that all wanted channels are confirmed and their gaps are told, until the connection is lost.

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

/// The time that an answer may take; no later is a silent death found, [`PING_INTERVAL`] added.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the connection is asked for a sign of life.
const PING_INTERVAL: Duration = Duration::from_secs(3);

/// The most channels of one command: some 250 KB of names at the longest.
const BATCH: usize = 1000;

/// How often it is looked whether there is room again after an overflow.
const OPEN_INTERVAL: Duration = Duration::from_millis(50);

/// A connection that held so long was a good one: the next loss is a new one.
const STEADY: Duration = Duration::from_secs(10);

/// The name of this connection in the log.
const CONNECTION: &str = "subscriber";

/// A channel to join, and who waits for it.
type Joining = (ChannelKey, oneshot::Sender<Result<(), BusError>>);

/// What the bus asks for. Commands run in their order.
pub(super) enum ChannelCommand {
    Join(ChannelKey, oneshot::Sender<Result<(), BusError>>),
    Leave(ChannelKey),
}

/// See the module.
pub(super) struct SubscriberTask {
    connector: Connector,
    names: Names,
    inbox: Arc<Inbox>,
    commands: mpsc::UnboundedReceiver<ChannelCommand>,
    /// A command that was taken and not carried out yet.
    held: Option<ChannelCommand>,
    /// What is joined on each connection anew. Invariant: changed here only, as commands are carried out.
    wanted: HashSet<ChannelKey>,
    health: Arc<BusHealth>,
    outage: Arc<Outage>,
    counters: Arc<Counters>,
}

impl SubscriberTask {
    /// Hears what `commands` ask for on connections of `connector`, whose pushes go to `inbox`.
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

    /// Hears until the task is ended.
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
                    if since.elapsed() >= STEADY {
                        backoff.reset();
                    }
                }
                Err(cause) => self.outage.on_failure(CONNECTION, &cause),
            }
            sleep(backoff.next_wait()).await;
        }
    }

    /// Connects, joins every wanted channel and tells their gaps.
    async fn connect(&mut self) -> Result<MultiplexedConnection, String> {
        self.inbox.renew();
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

    /// Without a connection: who waits to join is refused, and what was left is not wanted any more.
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

    /// Does what is asked until the connection is lost; says why it was.
    async fn serve(&mut self, mut connection: MultiplexedConnection) -> String {
        let mut ping = interval(PING_INTERVAL);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let inbox = self.inbox.clone();
        loop {
            let is_open = inbox.open();
            let outcome = tokio::select! {
                biased;
                () = inbox.lost() => return "the connection ended".to_owned(),
                _ = ping.tick() => cmd("PING").query_async::<()>(&mut connection).await,
                () = inbox.shutting(), if is_open => Ok(()),
                () = sleep(OPEN_INTERVAL), if !is_open => Ok(()),
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

    /// Carries out a command and those right behind it: each run of one kind is one command.
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

    /// Joins channels; who waits is answered, or, when the connection fails, dropped, which is an answer too.
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
            // Redis has answered: its user may not hear these channels.
            Err(error) if error.code().is_some() => {
                log::error!("Redis refuses to let this node hear channels: {error}");
                Err(BusError::Unavailable)
            }
            Err(error) => return Err(error),
        };
        for answer in answers {
            // Who asked may be gone.
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
