//! The bus of a node alone: a queue in the process, bounded in bytes.
//!
//! Past the bound a publisher waits: nothing is lost, and a backend that emits faster than the node can tell is slowed
//! down to the node's pace.

use super::idempotency::{IdempotencyKeys, Publishing, Seen};
use super::{
    Bus, BusError, BusHealth, ChannelKey, Control, ControlListeners, Once, Publication, Published, Subscriber, Taken,
};
use crate::backpressure::QueuePermit;
use crate::counters::{Counters, Limit};
use actix::Recipient;
use futures::future::{FutureExt, LocalBoxFuture, TryFutureExt, ready};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The bounds of a local bus.
#[derive(Clone, Copy, Debug)]
pub struct LocalBusSettings {
    /// Event data on the way, in bytes (`limits.queued_bytes`); one publication larger than that passes alone.
    pub queued_bytes: u32,
    /// Idempotency keys remembered.
    pub idempotency_keys: usize,
    /// How long a key is remembered.
    pub idempotency_window: Duration,
}

/// How long a publisher waits for room before its caller is told to try again.
const PUBLISH_PATIENCE: Duration = Duration::from_secs(5);

/// See the module.
pub struct LocalBus {
    subscriber: OnceCell<Subscriber>,
    listeners: ControlListeners,
    room: Arc<Semaphore>,
    capacity: u32,
    keys: Rc<RefCell<IdempotencyKeys>>,
    health: Arc<BusHealth>,
    counters: Arc<Counters>,
}

impl LocalBus {
    /// A bus within these bounds.
    pub fn new(settings: LocalBusSettings, counters: Arc<Counters>) -> LocalBus {
        let keys = IdempotencyKeys::new(settings.idempotency_keys, settings.idempotency_window);
        LocalBus {
            subscriber: OnceCell::new(),
            listeners: ControlListeners::default(),
            room: Arc::new(Semaphore::new(settings.queued_bytes as usize)),
            capacity: settings.queued_bytes,
            keys: Rc::new(RefCell::new(keys)),
            health: Arc::new(BusHealth::always()),
            counters,
        }
    }
}

impl Bus for LocalBus {
    fn attach(&self, subscriber: Subscriber) {
        let attached = self.subscriber.set(subscriber);
        debug_assert!(attached.is_ok(), "a bus has one subscriber");
    }

    fn health(&self) -> Arc<BusHealth> {
        self.health.clone()
    }

    fn publish(&self, publication: Publication) -> LocalBoxFuture<'static, Result<(), BusError>> {
        let subscriber = self.subscriber.get().map(|subscriber| subscriber.published.clone());
        let Some(subscriber) = subscriber.filter(actix::Recipient::connected) else {
            return Box::pin(ready(Err(BusError::Unavailable)));
        };
        let cost = publication.cost(self.capacity);
        if self.room.available_permits() < cost as usize {
            self.counters.count_limit(Limit::QueuedBytes);
        }
        // Always through the semaphore's own queue: a `try_acquire` in front would let a small emit overtake.
        let room = self.room.clone().acquire_many_owned(cost);
        let counters = self.counters.clone();
        Box::pin(async move {
            let permit = timeout(PUBLISH_PATIENCE, room).await.map_err(|_| BusError::Unavailable)?;
            let permit = permit.map_err(|_| BusError::Unavailable)?;
            let queue_permit = QueuePermit::new(permit, cost, counters);
            // A mailbox's own bound is not asked (`do_send`): the room above is the bound.
            subscriber.do_send(Published { publication, queue_permit });
            Ok(())
        })
    }

    fn publish_once(&self, publication: Publication, once: Once) -> LocalBoxFuture<'static, Result<Taken, BusError>> {
        let now = Instant::now();
        let name = self.keys.borrow().name(&publication.channel.project, &once.key);
        let seen = self.keys.borrow_mut().look_up(name, now);
        match seen {
            Seen::Told(id) => Box::pin(ready(Ok(Taken::Before(id)))),
            Seen::UnderWay(publishing) => Box::pin(publishing.map_ok(Taken::Before)),
            Seen::Full => {
                self.counters.count_limit(Limit::IdempotencyKeys);
                Box::pin(ready(Err(BusError::TooManyKeys)))
            }
            Seen::Never => {
                let (keys, id) = (self.keys.clone(), once.id);
                let publish: LocalBoxFuture<'static, _> =
                    Box::pin(FutureExt::inspect(self.publish(publication).map_ok(move |()| id), move |result| {
                        keys.borrow_mut().settle(name, result)
                    }));
                let publishing: Publishing = publish.shared();
                self.keys.borrow_mut().insert(name, publishing.clone(), now);
                Box::pin(publishing.map_ok(|_| Taken::First))
            }
        }
    }

    fn join(&self, _: &ChannelKey) -> LocalBoxFuture<'static, Result<(), BusError>> {
        Box::pin(ready(Ok(())))
    }

    fn attach_control(&self, listener: Recipient<Control>) {
        self.listeners.add(listener);
    }

    fn announce(&self, message: &Control) -> LocalBoxFuture<'static, Result<(), BusError>> {
        self.listeners.tell(message);
        Box::pin(ready(Ok(())))
    }

    fn leave(&self, _: &ChannelKey) {}
}
