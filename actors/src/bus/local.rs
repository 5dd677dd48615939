//! The bus of a node alone: a queue in the process, bounded in bytes.
//!
//! Past the bound a publisher waits: nothing is lost, and a backend that emits faster than the node can tell is slowed
//! down to the node's pace.

use super::{Bus, BusError, ChannelKey, Publication, Published};
use crate::counters::{Counters, Limit};
use crate::passage::Passage;
use actix::Recipient;
use futures::future::{LocalBoxFuture, ready};
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// What a publication costs beside its data: names, messages and lists on their way.
const PUBLICATION_OVERHEAD_BYTES: usize = 256;

/// How long a publisher waits for room before its caller is told to try again.
const PUBLISH_PATIENCE: Duration = Duration::from_secs(5);

/// See the module.
pub struct LocalBus {
    subscriber: OnceCell<Recipient<Published>>,
    room: Arc<Semaphore>,
    capacity: u32,
    counters: Arc<Counters>,
}

impl LocalBus {
    /// A bus that holds at most `queued_bytes` (`limits.queued_bytes`) of event data on the way; one publication larger
    /// than that passes alone.
    pub fn new(queued_bytes: u32, counters: Arc<Counters>) -> LocalBus {
        let room = Arc::new(Semaphore::new(queued_bytes as usize));
        LocalBus { subscriber: OnceCell::new(), room, capacity: queued_bytes, counters }
    }

    fn cost(&self, publication: &Publication) -> u32 {
        let bytes = publication.data.len().saturating_add(PUBLICATION_OVERHEAD_BYTES);
        u32::try_from(bytes).unwrap_or(u32::MAX).min(self.capacity)
    }
}

impl Bus for LocalBus {
    fn attach(&self, subscriber: Recipient<Published>) {
        let attached = self.subscriber.set(subscriber);
        debug_assert!(attached.is_ok(), "a bus has one subscriber");
    }

    fn publish(&self, publication: Publication) -> LocalBoxFuture<'static, Result<(), BusError>> {
        let Some(subscriber) = self.subscriber.get().filter(|subscriber| subscriber.connected()).cloned() else {
            return Box::pin(ready(Err(BusError::Unavailable)));
        };
        let cost = self.cost(&publication);
        if self.room.available_permits() < cost as usize {
            self.counters.count_limit(Limit::QueuedBytes);
        }
        // Always through the semaphore's own queue: a `try_acquire` in front would let a small emit overtake.
        let room = self.room.clone().acquire_many_owned(cost);
        let counters = self.counters.clone();
        Box::pin(async move {
            let permit = timeout(PUBLISH_PATIENCE, room).await.map_err(|_| BusError::Unavailable)?;
            let permit = permit.map_err(|_| BusError::Unavailable)?;
            let passage = Passage::new(permit, cost, counters);
            // A mailbox's own bound is not asked (`do_send`): the room above is the bound.
            subscriber.do_send(Published { publication, passage });
            Ok(())
        })
    }

    fn join(&self, _: &ChannelKey) -> LocalBoxFuture<'static, Result<(), BusError>> {
        Box::pin(ready(Ok(())))
    }

    fn leave(&self, _: &ChannelKey) {}
}
