//! Backpressure: permits that bound what waits between the bus and the sessions, in bytes.
//!
//! An emit passes two stages. [`QueuePermit`] covers its data from the bus to the last session; [`FanOutPermit`] covers
//! the frames and session lists that matching makes of it, from the registry to the hubs. When a stage is full, the one
//! before it waits, and in the end publishers do.

mod fan_out;
mod queue;

pub use fan_out::{FanOut, FanOutDrained, FanOutPermit};
pub use queue::QueuePermit;
