//! The bytes of event data between the bus and the sessions.

use crate::counters::Counters;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The share of the bus's queue that one emit holds. When the last clone is dropped, a waiting publisher may go on.
#[derive(Clone, Default)]
pub struct QueuePermit(#[expect(dead_code, reason = "held for its drop")] Option<Arc<Share>>);

impl QueuePermit {
    /// A permit for `bytes` of the bus's queue.
    pub fn new(permit: OwnedSemaphorePermit, bytes: u32, counters: Arc<Counters>) -> QueuePermit {
        counters.bus_queue_bytes.add(bytes.into());
        QueuePermit(Some(Arc::new(Share { _permit: permit, bytes, counters })))
    }
}

struct Share {
    _permit: OwnedSemaphorePermit,
    bytes: u32,
    counters: Arc<Counters>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.counters.bus_queue_bytes.subtract(self.bytes.into());
    }
}
