//! A control message from a process that is not a node: the command line after it changed the catalogue.

use super::RedisAddress;
use super::names::Names;
use crate::bus::Control;
use std::time::Duration;

/// Maximum time for the answer of Redis.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a message to all nodes that share this Redis and prefix. Returns the number of nodes that receive it.
///
/// # Errors
/// The reason of the failure, without secrets of the address.
pub async fn announce_once(address: &RedisAddress, prefix: &str, message: &Control) -> Result<u64, String> {
    let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
    let mut connection = address.connector(|_| {}, RESPONSE_TIMEOUT).connect().await?;
    let mut publish = deadpool_redis::redis::cmd("PUBLISH");
    publish.arg(Names::new(prefix).control()).arg(text);
    publish.query_async(&mut connection).await.map_err(|error| error.to_string())
}
