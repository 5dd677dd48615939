//! The program's rooms as a library, so that tests reach what `main.rs` wires together.

pub mod auth;
pub mod catalogue;
