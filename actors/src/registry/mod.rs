//! The registry: all subscriptions of this node, and the matching of publications with them.
//!
//! One actor on the bus arbiter. Hubs send it the requests of their sessions (`Requests`), and the bus sends it
//! publications. It finds the matching subscriptions with `index/`, builds one frame per distinct delivery, and sends
//! each hub one message (`Dispatch`). It never writes to sockets.

mod channels;
mod deliveries;
mod dispatch;
pub mod index;
mod matches;
mod on_missed;
mod on_published;

use crate::backpressure::FanOut;
use crate::bus::{BusError, ChannelKey, SharedBus, Subscriber};
use crate::counters::Counters;
use crate::hub::SessionHub;
use crate::hub::messages::{Answer, Answers, HubStarted, Requests};
use crate::ids::SessionRef;
use crate::ids::SubscriptionId;
use crate::protocol::codes::ErrorCode;
use crate::session::request::{Registration, Request, SubscribeResult};
use actix::prelude::*;
use channels::Channels;
use deliveries::Deliveries;
use dispatch::Waiting;
use futures::future::{FutureExt, LocalBoxFuture, join_all};
use index::{ChannelId, SubscriptionIndex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Interval of the check for empty channels. A channel that is empty at two checks, and in between, is left. A client
/// that reconnects at once finds its channel still joined.
const LEAVE_INTERVAL: Duration = Duration::from_secs(1);

type JoinResult = Result<(), BusError>;

/// The actor that owns the subscriptions of this node.
pub struct SessionRegistry {
    bus: SharedBus,
    hubs: Vec<Option<Addr<SessionHub>>>,
    channels: Channels,
    deliveries: Deliveries,
    index: SubscriptionIndex,
    /// Input from the bus that waits for room in the hubs, in order.
    waiting: VecDeque<Waiting>,
    /// Requests of sessions that arrived while a publication was partly dispatched.
    deferred: VecDeque<Requests>,
    /// `Some` once the actor has started.
    fan_out: Option<FanOut>,
    queued_bytes: usize,
    /// The number of the publication that is being dispatched. Sessions tell emits apart by it.
    publication: u64,
    counters: Arc<Counters>,
}

impl SessionRegistry {
    /// A registry that subscribes to `bus` and has at most about `queued_bytes` in flight to the hubs.
    pub fn new(bus: SharedBus, queued_bytes: usize, counters: Arc<Counters>) -> SessionRegistry {
        SessionRegistry {
            bus,
            hubs: Vec::new(),
            channels: Channels::default(),
            deliveries: Deliveries::default(),
            index: SubscriptionIndex::default(),
            waiting: VecDeque::new(),
            deferred: VecDeque::new(),
            fan_out: None,
            queued_bytes,
            publication: 0,
            counters,
        }
    }

    fn hub(&self, worker: u16) -> Option<&Addr<SessionHub>> {
        self.hubs.get(usize::from(worker))?.as_ref()
    }

    fn answer(&self, worker: u16, answers: Vec<Answer>) {
        if answers.is_empty() {
            return;
        }
        if let Some(hub) = self.hub(worker) {
            // The message must not be refused. There are only as many answers as requests.
            hub.do_send(Answers(answers));
        }
    }

    /// Adds the subscriptions to the index, except those whose channel could not be joined. `joins` has the result of
    /// each join with the position of its spec.
    fn subscribe(
        &mut self,
        registration: Registration,
        channels: &[ChannelId],
        joins: &[(usize, JoinResult)],
    ) -> Answer {
        let Registration { session, specs, answer, .. } = registration;
        let mut results: Vec<SubscribeResult> = Vec::with_capacity(specs.len());
        let mut joins = joins.iter().peekable();
        for (position, (spec, channel)) in specs.into_iter().zip(channels).enumerate() {
            let joined = joins.next_if(|(joined, _)| *joined == position).map(|(_, joined)| joined);
            if joined.is_some_and(Result::is_err) {
                self.channels.remove_subscriber(*channel);
                results.push(Err(ErrorCode::TemporarilyUnavailable));
                continue;
            }
            self.channels.note_joined(*channel);
            let delivery = self.deliveries.intern(&spec.delivery);
            results.push(Ok(self.index.insert(*channel, spec.condition, delivery, session)));
        }
        self.update_gauges();
        Answer::Subscribed { session, results, answer }
    }

    fn unsubscribe(&mut self, session: SessionRef, ids: &[SubscriptionId]) {
        for id in ids {
            if let Some((channel, delivery)) = self.index.remove(*id, session) {
                self.channels.remove_subscriber(channel);
                self.deliveries.release(delivery);
            }
        }
        self.update_gauges();
    }

    fn update_gauges(&self) {
        self.counters.subscriptions.set(self.index.len() as u64);
        self.counters.channels.set(self.channels.len() as u64);
    }

    /// Joins the channels that are not joined yet, then adds the subscriptions. If a join has to wait, returns `None`
    /// and sends the answer later.
    fn on_subscribe(&mut self, worker: u16, registration: Registration, ctx: &mut Context<Self>) -> Option<Answer> {
        let mut channels = Vec::with_capacity(registration.specs.len());
        let mut joins: Vec<LocalBoxFuture<'static, (usize, JoinResult)>> = Vec::new();
        for (position, spec) in registration.specs.iter().enumerate() {
            let key = ChannelKey { project: registration.project.clone(), event: spec.event.clone() };
            let channel = self.channels.add_subscriber(&key);
            if !self.channels.is_joined(channel) {
                joins.push(Box::pin(FutureExt::map(self.bus.join(&key), move |joined| (position, joined))));
            }
            channels.push(channel);
        }
        let mut joins = join_all(joins);
        if let Some(joins) = (&mut joins).now_or_never() {
            return Some(self.subscribe(registration, &channels, &joins));
        }
        ctx.spawn(joins.into_actor(self).map(move |joins, registry, _| {
            let answer = registry.subscribe(registration, &channels, &joins);
            registry.answer(worker, vec![answer]);
        }));
        None
    }

    fn on_requests(&mut self, message: Requests, ctx: &mut Context<Self>) {
        let worker = message.worker;
        let mut answers = Vec::new();
        for request in message.requests {
            match request {
                Request::Subscribe(registration) => answers.extend(self.on_subscribe(worker, registration, ctx)),
                Request::Unsubscribe { session, ids, answer } => {
                    self.unsubscribe(session, &ids);
                    answers.extend(answer.map(|answer| Answer::Unsubscribed { session, answer }));
                }
            }
        }
        self.answer(worker, answers);
    }

    fn run_deferred(&mut self, ctx: &mut Context<Self>) {
        for requests in std::mem::take(&mut self.deferred) {
            self.on_requests(requests, ctx);
        }
    }

    fn leave_empty_channels(&mut self) {
        for key in self.channels.take_empty() {
            self.bus.leave(&key);
        }
        self.update_gauges();
    }
}

impl Actor for SessionRegistry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.fan_out = Some(FanOut::new(self.queued_bytes, ctx.address().recipient()));
        let (published, missed) = (ctx.address().recipient(), ctx.address().recipient());
        self.bus.attach(Subscriber { published, missed });
        ctx.run_interval(LEAVE_INTERVAL, |registry, _| registry.leave_empty_channels());
    }
}

impl Handler<HubStarted> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, message: HubStarted, _: &mut Context<Self>) {
        let index = usize::from(message.worker);
        if self.hubs.len() <= index {
            self.hubs.resize(index + 1, None);
        }
        self.hubs[index] = Some(message.hub);
    }
}

impl Handler<Requests> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, message: Requests, ctx: &mut Context<Self>) {
        if self.is_partly_dispatched() {
            // A subscription that is being removed is still in the remainder, and nothing may follow the answer to
            // UNREGISTER.
            self.deferred.push_back(message);
        } else {
            self.on_requests(message, ctx);
        }
    }
}
