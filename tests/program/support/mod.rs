//! What the tests of the whole program share: a node started on a free port, and clients that talk to it.
//!
//! Nothing here knows the program's insides but the place of its signing keys, and its catalogue for what no command does:
//! a test sees what a user sees.

pub mod account;
pub mod client;
pub mod cluster;
pub mod http;
pub mod mongodb;
pub mod node;
pub mod raw;
pub mod redis;
pub mod redis_proxy;
pub mod redis_url;
pub mod tokens;

pub use http::{Answer, emit, request};
pub use node::Node;
pub use raw::RawSocket;
pub use redis::RedisServer;
pub use tokens::{Claims, Tokens};

use std::time::{Duration, Instant};

/// How long a test waits for what must happen. Far more than a loaded machine with one core needs.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits until `check` holds, and fails naming `what` once the deadline has passed.
pub fn eventually(what: &str, check: impl FnMut() -> bool) {
    eventually_within(DEADLINE, what, check);
}

/// The same with a deadline of its own.
pub fn eventually_within(time: Duration, what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + time;
    while !check() {
        assert!(Instant::now() < end, "in {time:?} never saw: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The code of the first error of an answer, or an empty text.
pub fn error_code(answer: &serde_json::Value) -> &str {
    answer["errors"][0]["code"].as_str().unwrap_or_default()
}
