//! Whether the bus does its work, readable from any thread. Knows not which bus it is.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The two halves of a bus that may fail one without the other.
#[derive(Debug, Default)]
pub struct BusHealth {
    receives: AtomicBool,
    accepts: AtomicBool,
}

impl BusHealth {
    /// Of a bus that can't fail.
    pub fn always() -> BusHealth {
        BusHealth { receives: AtomicBool::new(true), accepts: AtomicBool::new(true) }
    }

    /// Whether what is published arrives here, and is taken from here.
    pub fn is_ready(&self) -> bool {
        self.receives() && self.accepts.load(SeqCst)
    }

    /// Whether what is published on joined channels arrives here.
    pub fn receives(&self) -> bool {
        self.receives.load(SeqCst)
    }

    /// Notes whether what is published arrives here.
    pub fn set_receives(&self, receives: bool) {
        self.receives.store(receives, SeqCst);
    }

    /// Notes whether the bus takes what is published here.
    pub fn set_accepts(&self, accepts: bool) {
        self.accepts.store(accepts, SeqCst);
    }
}
