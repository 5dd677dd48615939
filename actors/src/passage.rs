//! The room that event data takes between the bus and the sessions. Knows neither.

use crate::counters::Counters;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The room that an emit takes on its way to the sessions; dropped when the last session has been handed it, which
/// lets a waiting publisher in.
#[derive(Clone, Default)]
pub struct Passage(#[expect(dead_code, reason = "held for its drop")] Option<Arc<Room>>);

impl Passage {
    /// A passage that holds `bytes` of the bus's room.
    pub fn new(permit: OwnedSemaphorePermit, bytes: u32, counters: Arc<Counters>) -> Passage {
        counters.bus_queue_bytes.add(bytes.into());
        Passage(Some(Arc::new(Room { _permit: permit, bytes, counters })))
    }
}

struct Room {
    _permit: OwnedSemaphorePermit,
    bytes: u32,
    counters: Arc<Counters>,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.counters.bus_queue_bytes.subtract(self.bytes.into());
    }
}
