//! The program `carillon`: everything around the broker of the crate `actors` that touches the outside world.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`auth`] | who is calling: verifies and signs the two tokens |
//! | [`catalogue`] | where projects and their keys live |
//! | [`command_line`] | what `carillon …` does: serve, show and check settings, issue tokens |
//! | [`limits`] | what the operating system allows: open files, memory, tracked connections |
//! | [`node`] | one running node: which parts there are, and the order of their start and stop |
//! | [`settings`] | what an operator can set: defaults, a file, the environment, and their bounds |

#![forbid(unsafe_code)]

pub mod auth;
pub mod catalogue;
pub mod command_line;
pub mod limits;
pub mod node;
pub mod settings;
