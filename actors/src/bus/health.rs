//! Whether the bus does its work, readable from any thread. Knows not which bus it is.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The two halves of a bus that may fail one without the other.
#[derive(Debug, Default)]
pub struct BusHealth {
    hears: AtomicBool,
    takes: AtomicBool,
}

impl BusHealth {
    /// Of a bus that can't fail.
    pub fn always() -> BusHealth {
        BusHealth { hears: AtomicBool::new(true), takes: AtomicBool::new(true) }
    }

    /// Whether what is published arrives here, and is taken from here.
    pub fn is_ready(&self) -> bool {
        self.receives() && self.takes.load(SeqCst)
    }

    /// Whether what is published on joined channels arrives here.
    pub fn receives(&self) -> bool {
        self.hears.load(SeqCst)
    }

    /// Notes whether what is published arrives here.
    pub fn set_receives(&self, hears: bool) {
        self.hears.store(hears, SeqCst);
    }

    /// Notes whether the bus takes what is published here.
    pub fn set_accepts(&self, takes: bool) {
        self.takes.store(takes, SeqCst);
    }
}
