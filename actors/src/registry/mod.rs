//! Who subscribes to what on this node, and what each is told of an emit.
//!
//! One actor on the bus arbiter. Sessions ask through their hubs (`Requests`), the bus hands it what was published; it
//! matches through `index/`, builds each frame once per distinct delivery and tells each hub in one message. It
//! never writes to sockets.

mod channels;
mod deliveries;
pub mod index;
mod matches;
mod on_missed;
mod on_published;

use crate::backpressure::FanOut;
use crate::bus::{BusError, ChannelKey, Missed, Published, SharedBus, Subscriber};
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
use futures::future::{FutureExt, LocalBoxFuture, join_all};
use index::{ChannelId, SubscriptionIndex};
use on_published::Rest;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How often channels are looked at. One that has no subscriber at two looks, and had none between them, is left: a client
/// that comes back at once finds its channel joined.
const LEAVE_INTERVAL: Duration = Duration::from_secs(1);

type JoinResult = Result<(), BusError>;

/// What the bus handed over.
enum Waiting {
    Published(Published),
    /// Only ever at the front.
    Rest(Rest),
    Missed(Missed),
}

/// See the module.
pub struct SessionRegistry {
    bus: SharedBus,
    hubs: Vec<Option<Addr<SessionHub>>>,
    channels: Channels,
    deliveries: Deliveries,
    index: SubscriptionIndex,
    /// What the bus handed over and waits until the hubs have caught up, in order.
    waiting: VecDeque<Waiting>,
    /// What sessions asked while an emit was told in part.
    deferred: VecDeque<Requests>,
    /// There once the actor has started.
    fan_out: Option<FanOut>,
    queued_bytes: usize,
    counters: Arc<Counters>,
}

impl SessionRegistry {
    /// A registry that hears `bus`, and has at most about `queued_bytes` on the way to the hubs.
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
            // An answer must not be refused; there are as many as there are requests.
            hub.do_send(Answers(answers));
        }
    }

    /// Takes the specs; those whose channel could not be joined, as `joins` say by their place, let it go.
    fn subscribe(
        &mut self,
        registration: Registration,
        channels: &[ChannelId],
        joins: &[(usize, JoinResult)],
    ) -> Answer {
        let Registration { session, specs, answer, .. } = registration;
        let mut results: Vec<SubscribeResult> = Vec::with_capacity(specs.len());
        let mut joins = joins.iter().peekable();
        for (place, (spec, channel)) in specs.into_iter().zip(channels).enumerate() {
            let joined = joins.next_if(|(joined, _)| *joined == place).map(|(_, joined)| joined);
            if joined.is_some_and(Result::is_err) {
                self.channels.exit(*channel);
                results.push(Err(ErrorCode::TemporarilyUnavailable));
                continue;
            }
            self.channels.note_joined(*channel);
            let delivery = self.deliveries.intern(&spec.delivery);
            results.push(Ok(self.index.insert(*channel, spec.condition, delivery, session)));
        }
        self.count();
        Answer::Subscribed { session, results, answer }
    }

    fn unsubscribe(&mut self, session: SessionRef, ids: &[SubscriptionId]) {
        for id in ids {
            if let Some((channel, delivery)) = self.index.remove(*id, session) {
                self.channels.exit(channel);
                self.deliveries.release(delivery);
            }
        }
        self.count();
    }

    fn count(&self) {
        self.counters.subscriptions.set(self.index.len() as u64);
        self.counters.channels.set(self.channels.len() as u64);
    }

    /// Joins what is not joined yet, then takes the specs; the answer follows by itself when it has to wait.
    fn on_subscribe(&mut self, worker: u16, registration: Registration, ctx: &mut Context<Self>) -> Option<Answer> {
        let mut channels = Vec::with_capacity(registration.specs.len());
        let mut joins: Vec<LocalBoxFuture<'static, (usize, JoinResult)>> = Vec::new();
        for (place, spec) in registration.specs.iter().enumerate() {
            let key = ChannelKey { project: registration.project.clone(), event: spec.event.clone() };
            let channel = self.channels.enter(&key);
            if !self.channels.is_joined(channel) {
                joins.push(Box::pin(FutureExt::map(self.bus.join(&key), move |joined| (place, joined))));
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

    fn take_deferred(&mut self, ctx: &mut Context<Self>) {
        for requests in std::mem::take(&mut self.deferred) {
            self.on_requests(requests, ctx);
        }
    }

    fn leave_empty_channels(&mut self) {
        for key in self.channels.take_empty() {
            self.bus.leave(&key);
        }
        self.count();
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
        let place = usize::from(message.worker);
        if self.hubs.len() <= place {
            self.hubs.resize(place + 1, None);
        }
        self.hubs[place] = Some(message.hub);
    }
}

impl Handler<Requests> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, message: Requests, ctx: &mut Context<Self>) {
        if self.is_halfway() {
            // Who leaves is still on the list of what is being told, and its answer must be the last that it hears.
            self.deferred.push_back(message);
        } else {
            self.on_requests(message, ctx);
        }
    }
}
