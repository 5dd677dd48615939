//! The bytes between the registry and the hubs.
//!
//! The size of this stage is known only after matching: the session list of a broadcast is far larger than its data.
//! When the stage is full, the registry stops matching until a hub has caught up. What waits in front of it is bounded
//! by [`super::QueuePermit`].

use actix::{Message, Recipient};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A full fan-out stage has room again.
#[derive(Message)]
#[rtype(result = "()")]
pub struct FanOutDrained;

/// Counts the bytes in flight to the hubs, and wakes the registry when a full stage has room again.
#[derive(Clone)]
pub struct FanOut(Arc<State>);

struct State {
    capacity: usize,
    in_flight: AtomicUsize,
    registry_waits: AtomicBool,
    registry: Recipient<FanOutDrained>,
}

impl FanOut {
    /// A stage for `capacity` bytes. The registry receives [`FanOutDrained`] after it found the stage full.
    pub fn new(capacity: usize, registry: Recipient<FanOutDrained>) -> FanOut {
        let (in_flight, registry_waits) = (AtomicUsize::new(0), AtomicBool::new(false));
        FanOut(Arc::new(State { capacity, in_flight, registry_waits, registry }))
    }

    /// Whether another emit may be matched. After `false`, [`FanOutDrained`] follows.
    pub fn has_room(&self) -> bool {
        if self.0.in_flight.load(SeqCst) < self.0.capacity {
            return true;
        }
        self.0.registry_waits.store(true, SeqCst);
        // Check again: the last hub may have caught up before it could see that the registry waits.
        self.0.in_flight.load(SeqCst) < self.0.capacity
    }

    /// Counts `bytes` as in flight until the permit is dropped. The last emit may exceed the capacity.
    pub fn acquire(&self, bytes: usize) -> FanOutPermit {
        self.0.in_flight.fetch_add(bytes, SeqCst);
        FanOutPermit { state: self.0.clone(), bytes }
    }
}

/// The bytes of one message to one hub.
pub struct FanOutPermit {
    state: Arc<State>,
    bytes: usize,
}

impl Drop for FanOutPermit {
    fn drop(&mut self) {
        let in_flight = self.state.in_flight.fetch_sub(self.bytes, SeqCst) - self.bytes;
        if in_flight < self.state.capacity && self.state.registry_waits.swap(false, SeqCst) {
            // Bounded: one message for each time that the registry waits.
            self.state.registry.do_send(FanOutDrained);
        }
    }
}
