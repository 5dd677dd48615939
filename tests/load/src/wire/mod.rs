//! Bytes of the protocols that are spoken here: WebSocket frames, HTTP answers, signed tokens, and the mark by which an
//! event is known again. Nothing here knows a socket.

pub mod answer;
pub mod frame;
pub mod mark;
pub mod token;
