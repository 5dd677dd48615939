//! Tests of the whole program from outside: the real binary on a free port, with clients that connect to it.
//!
//! All of them are one test program, so that it is linked once and its tests run in parallel. Each module tests one
//! area of docs/protocol.md. The exception is `layers`, which reads the source and checks its imports.

mod admin;
mod bursts;
mod closing;
mod cluster;
mod cluster_channels;
mod cluster_failures;
mod cluster_limits;
mod cluster_nodes;
mod cluster_outcomes;
mod cluster_revocation;
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
mod limit_counts;
mod logs;
mod messages;
mod metrics;
mod mongodb;
mod notifications;
mod operation;
mod pings_under_load;
mod refresh;
mod register;
mod register_refusals;
mod reload;
mod revocation;
mod session_logs;
mod shutdown;
mod stalled_readers;
mod support;
mod system_limits;
mod unregister;
