//! Collects the emit calls of a worker within a turn and sends them to the emitter in one message.
//!
//! One actor per worker. Without it each call would wake the bus arbiter, which is a fifth of the cost of an emit.
//! Calls that arrive together are answered together, so the next calls of a backend arrive together again. A single
//! call does not wait.

use super::{EmitBatch, EmitCall, Emitter};
use actix::fut::ActorFuture;
use actix::{Actor, Addr, AsyncContext as _, Context, Handler};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

/// The actor that collects the emit calls of a worker.
pub struct EmitBatcher {
    emitter: Addr<Emitter>,
    /// Bounded by the connections of the worker: each has at most one call.
    calls: Vec<EmitCall>,
}

impl EmitBatcher {
    /// A batcher in front of `emitter`.
    pub fn new(emitter: Addr<Emitter>) -> EmitBatcher {
        EmitBatcher { emitter, calls: Vec::new() }
    }
}

impl Actor for EmitBatcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.spawn(EndOfTurn);
    }
}

impl Handler<EmitCall> for EmitBatcher {
    type Result = ();

    fn handle(&mut self, call: EmitCall, _: &mut Context<Self>) {
        self.calls.push(call);
    }
}

/// Sends the collected calls after the messages of the mailbox. Never ends.
struct EndOfTurn;

impl ActorFuture<EmitBatcher> for EndOfTurn {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        batcher: &mut EmitBatcher,
        _: &mut Context<EmitBatcher>,
        _: &mut TaskContext<'_>,
    ) -> Poll<()> {
        if !batcher.calls.is_empty() {
            // If the emitter has stopped, the calls are dropped, which tells the callers.
            batcher.emitter.do_send(EmitBatch(std::mem::take(&mut batcher.calls)));
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Emit, EmitResult};
    use super::*;
    use crate::bus::{
        Accepted, Bus, BusError, BusHealth, ChannelKey, Control, IdempotencyKey, Publication, Subscriber,
        local::IdempotencySettings, local::LocalBus, local::LocalBusSettings,
    };
    use crate::counters::Counters;
    use actix::Recipient;
    use bytes::Bytes;
    use futures::future::{FutureExt as _, LocalBoxFuture, pending, ready};
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    /// Records publications. Those on `stuck` are never accepted.
    struct Recorder {
        events: Events,
        rest: LocalBus,
    }

    impl Bus for Recorder {
        fn attach(&self, subscriber: Subscriber) {
            self.rest.attach(subscriber);
        }

        fn health(&self) -> Arc<BusHealth> {
            self.rest.health()
        }

        fn publish(&self, publication: Publication) -> LocalBoxFuture<'static, Result<(), BusError>> {
            let event = publication.channel.event;
            let is_stuck = &*event == "stuck";
            self.events.borrow_mut().push(event);
            if is_stuck { pending().boxed_local() } else { ready(Ok(())).boxed_local() }
        }

        fn publish_once(
            &self,
            publication: Publication,
            key: IdempotencyKey,
        ) -> LocalBoxFuture<'static, Result<Accepted, BusError>> {
            self.rest.publish_once(publication, key)
        }

        fn join(&self, channel: &ChannelKey) -> LocalBoxFuture<'static, Result<(), BusError>> {
            self.rest.join(channel)
        }

        fn attach_control(&self, listener: Recipient<Control>) {
            self.rest.attach_control(listener);
        }

        fn announce(&self, message: &Control) -> LocalBoxFuture<'static, Result<u64, BusError>> {
            self.rest.announce(message)
        }

        fn leave(&self, channel: &ChannelKey) {
            self.rest.leave(channel);
        }
    }

    type Events = Rc<RefCell<Vec<Arc<str>>>>;

    fn batcher() -> (Addr<EmitBatcher>, Events) {
        let events = Rc::default();
        let counters = Arc::new(Counters::default());
        let settings = LocalBusSettings {
            queued_bytes: 1 << 20,
            idempotency: IdempotencySettings { node: 1, keys: 8, keys_per_project: 8, window: Duration::from_secs(60) },
        };
        let rest = LocalBus::new(settings, counters.clone());
        let bus = Rc::new(Recorder { events: Rc::clone(&events), rest });
        (EmitBatcher::new(Emitter::new(bus, 1, 0, counters).start()).start(), events)
    }

    fn call(batcher: &Addr<EmitBatcher>, events: &[&str]) -> oneshot::Receiver<Vec<EmitResult>> {
        let (answer, results) = oneshot::channel();
        let emit =
            |event: &&str| Emit { event: (*event).into(), data: Bytes::from_static(b"1"), idempotency_key: None };
        batcher.do_send(EmitCall { project: "demo".into(), emits: events.iter().map(emit).collect(), answer });
        results
    }

    async fn count_accepted(results: oneshot::Receiver<Vec<EmitResult>>) -> usize {
        let results = timeout(Duration::from_secs(10), results).await.expect("in time").expect("answered");
        results.into_iter().filter(Result::is_ok).count()
    }

    #[actix::test]
    async fn calls_of_one_turn_are_published_in_order_and_each_is_answered() {
        let (batcher, events) = batcher();
        let calls = [call(&batcher, &["a", "b"]), call(&batcher, &["c"]), call(&batcher, &["d", "e", "f"])];
        let mut accepted = Vec::new();
        for results in calls {
            accepted.push(count_accepted(results).await);
        }
        assert_eq!(accepted, [2, 1, 3]);
        assert_eq!(events.borrow().iter().map(|event| &**event).collect::<String>(), "abcdef");
    }

    #[actix::test]
    async fn a_call_that_waits_for_the_bus_does_not_delay_others() {
        let (batcher, _) = batcher();
        let mut stuck = call(&batcher, &["stuck", "a"]);
        assert_eq!(count_accepted(call(&batcher, &["b"])).await, 1);
        assert!(stuck.try_recv().is_err());
    }
}
