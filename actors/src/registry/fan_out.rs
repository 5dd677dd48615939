//! How much the registry has told the hubs that they have not handed on yet.
//!
//! What an emit costs on this leg is known only once it is matched: a broadcast's list of sessions is far larger than its
//! data. Past the bound the registry matches no more until a hub has caught up; what waits meanwhile is held by the bus's
//! own bound, which in turn holds the publishers.

use actix::{Message, Recipient};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// The fact that a hub has caught up: what waits may go on.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CaughtUp;

/// See the module. Cloned into every message on its way.
#[derive(Clone)]
pub(super) struct FanOut(Arc<State>);

struct State {
    capacity: usize,
    under_way: AtomicUsize,
    is_awaited: AtomicBool,
    registry: Recipient<CaughtUp>,
}

impl FanOut {
    /// At most `capacity` bytes under way before the registry waits; it is told `CaughtUp`.
    pub fn new(capacity: usize, registry: Recipient<CaughtUp>) -> FanOut {
        let (under_way, is_awaited) = (AtomicUsize::new(0), AtomicBool::new(false));
        FanOut(Arc::new(State { capacity, under_way, is_awaited, registry }))
    }

    /// Whether there is room for another emit; if not, `CaughtUp` follows when there is.
    pub fn has_room(&self) -> bool {
        if self.0.under_way.load(SeqCst) < self.0.capacity {
            return true;
        }
        self.0.is_awaited.store(true, SeqCst);
        // Looked at again: the last hub may have caught up before it could see that it is waited for.
        self.0.under_way.load(SeqCst) < self.0.capacity
    }

    /// Takes room until the leg is dropped.
    pub fn depart(&self, bytes: usize) -> Leg {
        self.0.under_way.fetch_add(bytes, SeqCst);
        Leg { state: self.0.clone(), bytes }
    }
}

/// One message to one hub, on its way until it is dropped.
pub struct Leg {
    state: Arc<State>,
    bytes: usize,
}

impl Drop for Leg {
    fn drop(&mut self) {
        let left = self.state.under_way.fetch_sub(self.bytes, SeqCst) - self.bytes;
        if left < self.state.capacity && self.state.is_awaited.swap(false, SeqCst) {
            // One message for one wait: it needs no bound, and is dropped with the registry.
            self.state.registry.do_send(CaughtUp);
        }
    }
}
