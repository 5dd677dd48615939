//! The address of Redis, and how a connection to it is made.

use deadpool_redis::redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, PushInfo,
    aio::{MultiplexedConnection, SendError},
};
use deadpool_redis::{Connection, Manager, Pool, Runtime};
use std::fmt;
use std::time::Duration;

/// Maximum time to connect, including TLS and the greeting. A stopped Redis accepts connections but does not answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The text is not the address of a Redis. The error does not contain the text, because there may be a password in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be redis://[user:password@]host[:port][/database], or rediss:// for TLS")]
pub struct RedisAddressError;

/// A `redis://` address, or `rediss://` for TLS, with user, password and database.
#[derive(Clone)]
pub struct RedisAddress {
    info: ConnectionInfo,
}

impl RedisAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// Another scheme, no host, or an invalid part.
    pub fn parse(url: &str) -> Result<RedisAddress, RedisAddressError> {
        let info = url.into_connection_info().map_err(|_| RedisAddressError)?;
        if let ConnectionAddr::Unix(_) = info.addr() {
            return Err(RedisAddressError);
        }
        if let ConnectionAddr::TcpTls { .. } = info.addr() {
            choose_tls_provider();
        }
        // Push messages need version 3 of the protocol, which Redis supports since version 6.
        let redis = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        Ok(RedisAddress { info: info.set_redis_settings(redis) })
    }

    /// A source of connections. They call `push` with each push message, and their commands fail after
    /// `response_timeout`.
    pub(super) fn connector(
        &self,
        push: impl Fn(PushInfo) + Send + Sync + 'static,
        response_timeout: Duration,
    ) -> Connector {
        let push = move |info| {
            push(info);
            Ok::<(), SendError>(())
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(response_timeout))
            .set_push_sender(push);
        let manager = Manager::new_with_config(self.info.clone(), config).expect("the address has been read");
        let pool = Pool::builder(manager).max_size(1).create_timeout(Some(CONNECT_TIMEOUT)).runtime(Runtime::Tokio1);
        Connector { pool: pool.build().expect("timeouts need a runtime, and one is given") }
    }
}

impl fmt::Display for RedisAddress {
    /// Host, port and database; no secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.info.addr(), self.info.redis_settings().db())
    }
}

/// Makes connections. Each belongs to the caller until it is dropped.
#[derive(Clone)]
pub(super) struct Connector {
    pool: Pool,
}

impl Connector {
    /// A new connection. It is taken out of the pool permanently: a pool checks each connection before it lends it
    /// again, but all commands share this one at the same time, and it is never returned.
    pub async fn connect(&self) -> Result<MultiplexedConnection, String> {
        match self.pool.get().await {
            Ok(connection) => Ok(Connection::take(connection)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Chooses the implementation of TLS. If several are compiled in and none is chosen, rustls panics.
fn choose_tls_provider() {
    // An error means that one is chosen already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_no_secret() {
        let address = RedisAddress::parse("rediss://user:secret@redis.example:7000/3").expect("an address");
        assert_eq!(address.to_string(), "redis.example:7000/3");
        assert_eq!(address.info.redis_settings().username(), Some("user"));
        assert_eq!(address.info.redis_settings().password(), Some("secret"));
    }

    #[test]
    fn an_invalid_address_is_refused_without_being_repeated() {
        for url in
            ["", "localhost", "http://a", "redis://", "redis://a:b:c", "redis://a/x", "redis+unix:///a", "unix:///a"]
        {
            let error = RedisAddress::parse(url).err();
            assert_eq!(error, Some(RedisAddressError), "{url}");
        }
    }
}
