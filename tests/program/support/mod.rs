//! Shared code of the tests of the whole program: it starts a node on a free port, and connects clients to it.
//!
//! The tests use the program as users do. The exceptions are the signing keys, which are read from the data folder, and
//! changes of the catalogue for which there is no command.

pub mod client;
pub mod cluster;
pub mod delivery_check;
pub mod http;
pub mod mongodb;
pub mod node;
pub mod process;
pub mod raw;
pub mod redis;
pub mod redis_proxy;
pub mod redis_url;
pub mod revocation;
pub mod tokens;

pub use http::{Answer, emit, request};
pub use node::Node;
pub use raw::RawSocket;
pub use redis::RedisServer;
pub use tokens::{Claims, Tokens};

use std::time::{Duration, Instant};

/// The deadline of waits: far longer than a busy machine with one core needs.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits until `check` holds. Fails with `what` at the deadline.
pub fn eventually(what: &str, check: impl FnMut() -> bool) {
    eventually_within(DEADLINE, what, check);
}

/// The same with another deadline.
pub fn eventually_within(time: Duration, what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + time;
    while !check() {
        assert!(Instant::now() < end, "not seen in {time:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The code of the first error in an answer, or an empty text.
pub fn error_code(answer: &serde_json::Value) -> &str {
    answer["errors"][0]["code"].as_str().unwrap_or_default()
}
