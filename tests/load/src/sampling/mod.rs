//! Samples the resources of a server: its processes, the kernel and Redis.

pub mod kernel;
pub mod process;
pub mod redis;
