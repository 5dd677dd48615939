//! The health of a bus, readable from any thread. It is the same for every kind of bus.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The two directions of a bus. Each can fail without the other.
#[derive(Debug, Default)]
pub struct BusHealth {
    receives: AtomicBool,
    accepts: AtomicBool,
}

impl BusHealth {
    /// The health of a bus that cannot fail.
    pub fn always() -> BusHealth {
        BusHealth { receives: AtomicBool::new(true), accepts: AtomicBool::new(true) }
    }

    /// Whether the node can publish and receives publications.
    pub fn is_ready(&self) -> bool {
        self.receives() && self.accepts.load(SeqCst)
    }

    /// Whether the node receives publications on joined channels.
    pub fn receives(&self) -> bool {
        self.receives.load(SeqCst)
    }

    /// Records whether the node receives publications.
    pub fn set_receives(&self, receives: bool) {
        self.receives.store(receives, SeqCst);
    }

    /// Records whether the node can publish.
    pub fn set_accepts(&self, accepts: bool) {
        self.accepts.store(accepts, SeqCst);
    }
}
