//! The broker itself, without HTTP, MongoDB or files.
//!
//! ```text
//!  client ──frame──▶ hub (one per worker) ──▶ session ──Requests──▶ registry ──join──▶ bus
//!                     ▲      ▲                                        │   ▲             ▲
//!                     │      └───────────────Answers─────────────────┘   │             │
//!                     └──────────────────────Dispatch────────────────────────┘◀─Published──┤
//!  backend ──HTTP──▶ (the program) ──EmitCall──▶ batcher (per worker) ──▶ emitter ─publish─┘
//! ```
//!
//! - `protocol`, `condition`, `registry::index` are pure: no actor, no socket, no driver.
//! - `session` and `hub` own sockets, one hub a worker thread; they never know the bus.
//! - `registry`, `emitter`, `announcer`, `nodes` and `bus` live on one thread, the bus arbiter; the emitter's batchers
//!   one on each worker.
//!
//! Invariants:
//! 1. Every emit goes through the bus, a node's own too: a channel has one order for all.
//! 2. A REGISTER is answered after its channel is joined, by the same path as notifications: what is emitted after the
//!    answer is told, and nothing is told before it. An UNREGISTER is answered by that path too: nothing is told after.
//! 3. A slot is reused, a [`ids::SessionRef`] is not: whoever holds one compares the generation.
//! 4. What waits is bounded in bytes: a session's outbox by `send_buffer_bytes`, event data by the bus's room.

pub mod announcer;
pub mod backpressure;
pub mod bus;
mod chunked_slab;
pub mod condition;
pub mod counters;
pub mod emitter;
pub mod fingerprint;
pub mod hub;
pub mod ids;
pub mod nodes;
pub mod protocol;
pub mod registry;
pub mod session;
