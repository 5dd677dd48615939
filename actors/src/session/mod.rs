//! One client's WebSocket. Knows the protocol; never the bus, the catalogue, Redis or HTTP.

pub mod session_ref;
