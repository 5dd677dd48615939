//! Helpers for tests of revoked keys and disabled projects.

use super::client::Client;
use super::process::output_text;
use super::{Node, emit, eventually};
use std::process::Output;
use std::time::{Duration, Instant};

/// How soon a revoked key is refused on all nodes.
const EFFECT_TIMEOUT: Duration = Duration::from_secs(1);

/// An emit.
pub const BODY: &str = r#"{"name":"orders","eventData":1}"#;

/// Waits until `check` holds, which must be soon after a change.
pub fn assert_soon(what: &str, check: impl FnMut() -> bool) {
    let changed = Instant::now();
    eventually(what, check);
    assert!(changed.elapsed() < EFFECT_TIMEOUT, "{what} took {:?}", changed.elapsed());
}

/// Whether the node refuses the token.
pub fn refuses(node: &Node, token: &str) -> bool {
    let answer = emit(node, token, BODY);
    answer.status == 401 && answer.refusal(401) == "TOKEN_INVALID"
}

/// The id of the key for one use, from the output of `carillon key list`.
pub fn key_id(listed: &Output, key_use: &str) -> String {
    let listed = output_text(listed);
    let line = listed.lines().find(|line| line.contains(&format!(" {key_use} "))).unwrap_or_else(|| panic!("{listed}"));
    line.split(' ').next().unwrap_or_default().to_owned()
}

/// Asserts that the next two messages are the reason and the close frame.
pub async fn expect_revoked(client: &mut Client) {
    let message = client.next_json().await;
    assert_eq!(message["type"], "TOKEN_VALIDATION", "{message}");
    assert_eq!(message["errors"][0]["code"], "TOKEN_INVALID", "{message}");
    client.expect_close(4401).await;
}
