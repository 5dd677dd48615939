//! The wire protocol: frames (RFC 6455), JSON messages and codes. Pure: no actor, no socket, no driver.

pub mod codes;
pub mod frame;
pub mod messages;
