//! The encodings that the load tool reads and writes: WebSocket frames, HTTP answers, signed tokens, and the mark that
//! identifies an event. This module uses no sockets.

pub mod answer;
pub mod frame;
pub mod mark;
pub mod token;
