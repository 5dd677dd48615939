//! The program `carillon`: everything around the broker of the crate `actors` that touches the outside world.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`command_line`] | what `carillon …` does: serve, show and check settings, plan, issue tokens |
//! | [`settings`] | what an operator can set: defaults, a file, the environment, and their bounds |
//! | [`limits`] | what the operating system allows: open files, memory, TCP, tracked connections; what a client costs |
//! | [`catalogue`] | projects, their keys and their events, where they are kept |
//! | [`auth`] | the two tokens: verified at the door, signed for the command line |
//! | [`http`] | the HTTP server: the WebSocket handshake, the emit route, health, metrics, the try page |
//! | [`logging`] | the log: text or JSON lines, its level, which can change while the node runs |
//! | [`metrics`] | what `/metrics` shows |
//! | [`node`] | one running node: which parts there are, and the order of their start and stop |

#![forbid(unsafe_code)]

pub mod auth;
pub mod catalogue;
pub mod command_line;
pub mod http;
pub mod limits;
pub mod logging;
pub mod metrics;
pub mod node;
pub mod settings;
