//! What stands on the wire: frames (RFC 6455), messages, codes. Pure: no actor, no socket, no driver.

pub mod codes;
pub mod frame;

pub mod messages;
