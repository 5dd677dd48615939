//! The whole program, tested from outside: the real binary on a free port, and clients that talk to it.
//!
//! One program for all of it, so that it is linked once and its tests run side by side. Each module is one area of
//! docs/protocol.md; `layers` is the exception: it reads the source and holds the rooms apart.

mod admin;
mod bursts;
mod closing;
mod cluster;
mod cluster_channels;
mod cluster_failures;
mod cluster_limits;
mod cluster_nodes;
mod cluster_outcomes;
mod connection_limit;
mod cors;
mod demo_text;
mod documented;
mod emit;
mod emit_refusals;
mod event_definitions;
mod half_closed;
mod handshake;
mod handshake_bytes;
mod handshake_limits;
mod handshake_tokens;
mod health_command;
mod http_surface;
mod kernel_buffers;
mod layers;
mod limits_met;
mod logs;
mod messages;
mod metrics;
mod mongodb;
mod notifications;
mod operation;
mod refresh;
mod register;
mod register_refusals;
mod reload;
mod revocation;
mod session_logs;
mod shutdown;
mod stalled_readers;
mod storms;
mod support;
mod system_limits;
mod unregister;
