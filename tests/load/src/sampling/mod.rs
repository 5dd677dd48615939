//! What a server costs, as the system and Redis tell it.

pub mod kernel;
pub mod process;
pub mod redis;
