//! The connection on which this node publishes: pipelined, in the order of the calls.
//!
//! One task for the life of the bus. It sends a call and all calls that wait behind it in one pipeline. Several
//! pipelines are under way at once, so no emit waits for the answer to another one. Only this task sets
//! `BusHealth::set_accepts`.

use super::address::Connector;
use super::backoff::Backoff;
use super::log_rate_limit::LogRateLimit;
use super::names::Names;
use super::outage::Outage;
use crate::bus::{BusError, BusHealth, EmitId, IdempotencyKey, Publication};
use crate::counters::Counters;
use deadpool_redis::redis::{Pipeline, RedisError, Value, aio::ConnectionLike as _, aio::MultiplexedConnection};
use futures::FutureExt as _;
use futures::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

/// Maximum time for the answer to a publication. Backends that wait longer would give up.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval of the pings on an idle connection. They find a dead connection before an emit does.
const PING_INTERVAL: Duration = Duration::from_secs(3);

/// Maximum number of pipelines under way. It is less than the driver's queue, so the driver does not change their
/// order.
const PIPELINES: usize = 16;

/// Maximum number of publications in one pipeline.
const PIPELINE_LENGTH: usize = 256;

/// Approximate maximum of event data in one pipeline, in bytes. A single publication may be larger.
const PIPELINE_BYTES: usize = 256 * 1024;

/// A connection that lasted this long was stable, so the backoff starts over after it is lost.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Publishes once for a key. It is one atomic step, so that of two nodes at the same moment one is first.
///
/// The key is written before the publication: a Redis without memory refuses `SET`, and then nothing was published. If
/// `PUBLISH` is refused, the key expires at once, so that the next try is not mistaken for a duplicate. `SET` does that
/// too, because the access list of an operator may not allow `DEL`.
///
/// The script is sent whole each time. With its digest alone, a Redis that has forgotten the script would have to be
/// asked again, after later publications.
const PUBLISH_ONCE: &str = "local before = redis.call('GET', KEYS[1]) if before then return before end \
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) local reply = redis.pcall('PUBLISH', ARGV[3], ARGV[4]) \
    if type(reply) == 'table' then redis.call('SET', KEYS[1], '', 'PX', 1) return reply end return false";

/// The name of this connection in the log.
const CONNECTION: &str = "publisher";

/// A publication, and the caller that waits for its outcome.
pub(super) struct Call {
    pub command: Command,
    pub answer: oneshot::Sender<Result<Reply, BusError>>,
}

/// What Redis replied to a command that it ran.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reply {
    /// `receivers` is 0 for an emit with an idempotency key, whose script does not say.
    Published { receivers: u64 },
    /// The key was used before, by the emit with this id.
    Duplicate(EmitId),
}

/// A publication or a control message.
pub(super) enum Command {
    Emit(Publication),
    EmitOnce(Publication, IdempotencyKey),
    /// The text of a control message.
    Control(String),
}

/// The task that owns the publishing connection.
pub(super) struct PublisherTask {
    pub connector: Connector,
    pub names: Names,
    /// Notified when the connection is lost.
    pub lost: Arc<Notify>,
    pub calls: mpsc::UnboundedReceiver<Call>,
    /// How long idempotency keys are remembered.
    pub window: Duration,
    pub refusals: LogRateLimit,
    pub outage: Arc<Outage>,
    pub health: Arc<BusHealth>,
    pub counters: Arc<Counters>,
}

type Answers = Vec<oneshot::Sender<Result<Reply, BusError>>>;

impl PublisherTask {
    /// Publishes until the task is ended.
    pub async fn run(mut self) {
        let mut backoff = Backoff::default();
        loop {
            // A notification about the previous connection.
            let _ = self.lost.notified().now_or_never();
            match self.connector.connect().await {
                Ok(connection) => {
                    let since = Instant::now();
                    self.health.set_accepts(true);
                    self.outage.on_connected(CONNECTION);
                    let cause = self.serve(connection).await;
                    self.health.set_accepts(false);
                    self.counters.bus_losses.add(1);
                    self.outage.on_lost(CONNECTION, &cause);
                    if since.elapsed() >= STABLE_AFTER {
                        backoff.reset();
                    }
                }
                Err(cause) => self.outage.on_failure(CONNECTION, &cause),
            }
            self.refuse_waiting();
            sleep(backoff.next_wait()).await;
        }
    }

    /// Refuses the calls that are still in the queue. Nothing of them was written to Redis.
    fn refuse_waiting(&mut self) {
        while let Ok(call) = self.calls.try_recv() {
            let _ = call.answer.send(Err(BusError::Unavailable));
        }
    }

    /// Publishes until the connection is lost; returns the cause. The calls under way are dropped with it, which
    /// answers them [`BusError::OutcomeUnknown`]: their bytes may have reached Redis.
    async fn serve(&mut self, connection: MultiplexedConnection) -> String {
        let mut ping = interval(PING_INTERVAL);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut under_way = FuturesUnordered::new();
        let lost = self.lost.clone();
        loop {
            let (pipeline, answers) = tokio::select! {
                biased;
                () = lost.notified() => return "the connection ended".to_owned(),
                Some(outcome) = under_way.next() => match self.settle(outcome) {
                    Ok(()) => continue,
                    Err(error) => return error.to_string(),
                },
                call = self.calls.recv(), if under_way.len() < PIPELINES => match call {
                    Some(call) => self.gather(call),
                    None => return "the node stops".to_owned(),
                },
                _ = ping.tick(), if under_way.is_empty() => ping_pipeline(),
            };
            let mut connection = connection.clone();
            under_way.push(async move {
                let length = pipeline.len();
                (connection.req_packed_commands(&pipeline, 0, length).await, answers)
            });
        }
    }

    /// Builds a pipeline of a call and the calls that wait behind it.
    fn gather(&mut self, first: Call) -> (Pipeline, Answers) {
        let (mut pipeline, mut answers, mut bytes) = (Pipeline::new(), Answers::new(), 0);
        let mut next = Some(first);
        while let Some(Call { command, answer }) = next {
            bytes += self.add(&mut pipeline, command);
            answers.push(answer);
            let is_full = answers.len() >= PIPELINE_LENGTH || bytes >= PIPELINE_BYTES;
            next = if is_full { None } else { self.calls.try_recv().ok() };
        }
        (pipeline, answers)
    }

    /// Adds one command. Returns the bytes of its data.
    fn add(&self, pipeline: &mut Pipeline, command: Command) -> usize {
        match command {
            Command::Emit(Publication { channel, data }) => {
                pipeline.cmd("PUBLISH").arg(self.names.channel(&channel)).arg(&data[..]);
                data.len()
            }
            Command::EmitOnce(Publication { channel, data }, IdempotencyKey { key, id }) => {
                let key = self.names.once(&channel.project, &key);
                let window = u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX);
                let eval = pipeline.cmd("EVAL").arg(PUBLISH_ONCE).arg(1).arg(key).arg(id.to_string()).arg(window);
                eval.arg(self.names.channel(&channel)).arg(&data[..]);
                data.len()
            }
            Command::Control(text) => {
                pipeline.cmd("PUBLISH").arg(self.names.control()).arg(&text);
                text.len()
            }
        }
    }

    /// Answers the callers of a pipeline. An error is the end of the connection; the outcome of its calls is unknown.
    fn settle(&self, (outcome, answers): (Result<Vec<Value>, RedisError>, Answers)) -> Result<(), RedisError> {
        for (value, answer) in outcome?.into_iter().zip(answers) {
            // The caller may be gone.
            let _ = answer.send(self.read_reply(value));
        }
        Ok(())
    }

    /// Reads the reply to one command. Redis runs a command whole or refuses it: after a refusal nothing was published.
    fn read_reply(&self, value: Value) -> Result<Reply, BusError> {
        match value {
            Value::Int(receivers) => Ok(Reply::Published { receivers: u64::try_from(receivers).unwrap_or(0) }),
            Value::Nil => Ok(Reply::Published { receivers: 0 }),
            Value::BulkString(id) => {
                let id = std::str::from_utf8(&id).ok().and_then(|id| id.parse::<EmitId>().ok());
                id.map(Reply::Duplicate).ok_or(BusError::Unavailable)
            }
            other => {
                if self.refusals.allows() {
                    log::error!(cause = refusal(other); "Redis refused a publication");
                }
                Err(BusError::Unavailable)
            }
        }
    }
}

fn ping_pipeline() -> (Pipeline, Answers) {
    let mut pipeline = Pipeline::new();
    pipeline.cmd("PING");
    (pipeline, Answers::new())
}

/// The error of Redis. Other kinds of answer may hold data, so their values are left out.
fn refusal(value: Value) -> String {
    match value.extract_error() {
        Err(error) => error.to_string(),
        Ok(_) => "an answer of another kind".to_owned(),
    }
}
