//! The program `carillon`: the broker of the crate `actors` with HTTP, settings, tokens, storage and a command line.
//!
//! | module | job |
//! | --- | --- |
//! | [`command_line`] | the commands of `carillon`: run a node, show and check settings, plan, issue tokens |
//! | [`settings`] | the settings: defaults, a file, the environment, and their bounds |
//! | [`limits`] | limits of the operating system: open files, memory, TCP, tracked connections; the costs of a client |
//! | [`catalogue`] | the store of projects, their keys and their events |
//! | [`auth`] | the two tokens: verifies them, and signs them for the command line |
//! | [`http`] | the HTTP server: the WebSocket handshake, the emit route, health, metrics, the try page |
//! | [`logging`] | the log: text or JSON lines, its level, which can change while the node runs |
//! | [`metrics`] | the page of `/metrics` |
//! | [`node`] | one running node: its parts, and the order of their start and stop |

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
