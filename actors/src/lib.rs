//! The broker itself, without HTTP, MongoDB or files.
//!
//! ```text
//! client ──frame──▶ hub ──▶ session ──Requests──▶ registry ──join──▶ bus
//! client ◀──frame── hub ◀────Answers, Dispatch─── registry ◀─Published─ bus
//! backend ──HTTP──▶ (the program) ──EmitCall──▶ batcher ──▶ emitter ──publish──▶ bus
//! ```
//!
//! - `protocol`, `condition` and `registry::index` are pure: they use no actor, socket or driver.
//! - `session` and `hub` own the sockets. Each worker thread has one hub. They do not know the bus.
//! - `registry`, `emitter`, `announcer`, `nodes` and `bus` live on one thread, the bus arbiter. Each worker has a
//!   batcher of the emitter.
//!
//! Invariants:
//! 1. Every emit goes through the bus, including a node's own emits, so a channel has one order on all nodes.
//! 2. The answer to REGISTER takes the same path as notifications, after the channel is joined. So every later emit is
//!    delivered, and no notification arrives before the answer. The answer to UNREGISTER takes that path too, so no
//!    notification arrives after it.
//! 3. A slot is reused, a [`ids::SessionRef`] is not: its generation is compared before each use.
//! 4. Waiting data is bounded in bytes: a session's outbox by `send_buffer_bytes`, event data by the permits of
//!    `backpressure`.

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
