//! The bus of a single node: a queue in the process, bounded in bytes.
//!
//! When the queue is full, publishers wait. Nothing is lost, and a backend that emits faster than the node can deliver
//! is slowed down to the node's pace.

pub use super::idempotency::IdempotencySettings;

use super::idempotency::{IdempotencyKeys, Publishing, Seen};
use super::{
    Accepted, Bus, BusError, BusHealth, ChannelKey, Control, ControlListeners, IdempotencyKey, Publication, Published,
    Subscriber,
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
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The bounds of a local bus.
#[derive(Clone, Copy, Debug)]
pub struct LocalBusSettings {
    /// Maximum bytes of queued event data (`limits.queued_bytes`). A publication larger than that passes alone.
    pub queued_bytes: u32,
    pub idempotency: IdempotencySettings,
}

/// Maximum time that a publisher waits for room. After it, the caller gets an error and may try again.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(5);

/// A [`Bus`] within the process.
pub struct LocalBus {
    subscriber: OnceCell<Subscriber>,
    listeners: ControlListeners,
    room: Arc<Semaphore>,
    capacity: u32,
    keys: Rc<RefCell<IdempotencyKeys>>,
    /// The task that frees the memory of expired keys on a node without new emits. It ends with the bus.
    expiry_task: OnceCell<JoinHandle<()>>,
    health: Arc<BusHealth>,
    counters: Arc<Counters>,
}

impl LocalBus {
    /// A bus with these bounds.
    pub fn new(settings: LocalBusSettings, counters: Arc<Counters>) -> LocalBus {
        let keys = IdempotencyKeys::new(settings.idempotency);
        LocalBus {
            subscriber: OnceCell::new(),
            listeners: ControlListeners::default(),
            room: Arc::new(Semaphore::new(settings.queued_bytes as usize)),
            capacity: settings.queued_bytes,
            keys: Rc::new(RefCell::new(keys)),
            expiry_task: OnceCell::new(),
            health: Arc::new(BusHealth::always()),
            counters,
        }
    }
}

impl Bus for LocalBus {
    fn attach(&self, subscriber: Subscriber) {
        let attached = self.subscriber.set(subscriber);
        debug_assert!(attached.is_ok(), "a bus has one subscriber");
        self.expiry_task.get_or_init(|| actix::spawn(forget_expired(self.keys.clone())));
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
        // Always wait in the semaphore's queue: after a `try_acquire`, a small emit could overtake a large one.
        let room = self.room.clone().acquire_many_owned(cost);
        let counters = self.counters.clone();
        Box::pin(async move {
            let permit = timeout(PUBLISH_TIMEOUT, room).await.map_err(|_| BusError::Unavailable)?;
            let permit = permit.map_err(|_| BusError::Unavailable)?;
            let queue_permit = QueuePermit::new(permit, cost, counters);
            // `do_send` ignores the mailbox's bound. The permit is the bound.
            subscriber.do_send(Published { publication, queue_permit });
            Ok(())
        })
    }

    fn publish_once(
        &self,
        publication: Publication,
        key: IdempotencyKey,
    ) -> LocalBoxFuture<'static, Result<Accepted, BusError>> {
        let now = Instant::now();
        let project = publication.channel.project.clone();
        let name = self.keys.borrow().name(&project, &key.key);
        let seen = self.keys.borrow_mut().look_up(name, &project, now);
        match seen {
            Seen::Published(id) => Box::pin(ready(Ok(Accepted::Duplicate(id)))),
            Seen::UnderWay(publishing) => Box::pin(publishing.map_ok(Accepted::Duplicate)),
            Seen::Full(limit) => {
                self.counters.count_limit(limit);
                let error = match limit {
                    Limit::IdempotencyKeysPerProject => BusError::TooManyKeysOfProject,
                    _ => BusError::TooManyKeys,
                };
                Box::pin(ready(Err(error)))
            }
            Seen::Never => {
                let (keys, id) = (self.keys.clone(), key.id);
                let publish: LocalBoxFuture<'static, _> =
                    Box::pin(FutureExt::inspect(self.publish(publication).map_ok(move |()| id), move |result| {
                        keys.borrow_mut().settle(name, result, Instant::now())
                    }));
                let publishing: Publishing = publish.shared();
                self.keys.borrow_mut().insert(name, project, publishing.clone());
                Box::pin(publishing.map_ok(|_| Accepted::First))
            }
        }
    }

    fn join(&self, _: &ChannelKey) -> LocalBoxFuture<'static, Result<(), BusError>> {
        Box::pin(ready(Ok(())))
    }

    fn attach_control(&self, listener: Recipient<Control>) {
        self.listeners.add(listener);
    }

    fn announce(&self, message: &Control) -> LocalBoxFuture<'static, Result<u64, BusError>> {
        self.listeners.send(message);
        Box::pin(ready(Ok(1)))
    }

    fn leave(&self, _: &ChannelKey) {}
}

impl Drop for LocalBus {
    fn drop(&mut self) {
        if let Some(task) = self.expiry_task.get() {
            task.abort();
        }
    }
}

async fn forget_expired(keys: Rc<RefCell<IdempotencyKeys>>) {
    let span = keys.borrow().span();
    loop {
        sleep(span).await;
        keys.borrow_mut().forget_expired(Instant::now());
    }
}
