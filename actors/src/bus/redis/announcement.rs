//! One control message from outside of any node: a command line that has changed what the nodes keep.

use super::RedisAddress;
use super::names::Names;
use crate::bus::Control;
use std::time::Duration;

/// The time that Redis has to take it.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Tells all nodes that share this Redis and prefix; answers how many hear it.
///
/// # Errors
/// Why Redis could not be told, without any secret of its address.
pub async fn announce_once(address: &RedisAddress, prefix: &str, message: &Control) -> Result<u64, String> {
    let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
    let mut connection = address.connector(|_| {}, RESPONSE_TIMEOUT).connect().await?;
    let mut publish = deadpool_redis::redis::cmd("PUBLISH");
    publish.arg(Names::new(prefix).control()).arg(text);
    publish.query_async(&mut connection).await.map_err(|error| error.to_string())
}
