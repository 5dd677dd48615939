//! The settings: `config/default.toml`, overridden by a file, overridden by the environment.
//!
//! This file defines their structure. `layers` merges the three sources, `bounds` checks the values, and `kinds` lists
//! the values of settings that are a choice. This module does not know which code uses a setting, and does not use the
//! network. The comments of `config/default.toml` are the reference for each key: meaning, unit, bounds.

mod bounds;
mod kinds;
mod known_keys;
mod layers;
mod listing;
mod nearest;
mod problem;
mod secret_url;
mod source;
#[cfg(test)]
mod tests;
mod values;

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use kinds::{BusKind, CatalogueKind, LogFormat, LogLevel};
pub use layers::Loaded;
pub use problem::{Problem, Problems};
pub use secret_url::SecretUrl;
pub use source::Source;

/// The maximum number of worker threads. It is the limit of the HTTP server.
const MAX_WORKERS: usize = 512;

/// All settings, with one struct for each section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub http: HttpSettings,
    pub data: DataSettings,
    pub catalogue: CatalogueSettings,
    pub bus: BusSettings,
    pub auth: AuthSettings,
    pub session: SessionSettings,
    pub limits: LimitSettings,
    pub shutdown: ShutdownSettings,
    pub log: LogSettings,
}

/// `[http]`: the port that the HTTP API and the WebSockets share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpSettings {
    /// The address and port to listen on. Port 0 picks a free port.
    #[serde(deserialize_with = "kinds::bind_address")]
    pub bind: SocketAddr,
    /// Worker threads. 0 means one for each CPU ([`HttpSettings::worker_count`] resolves it).
    pub workers: usize,
    /// Origins whose pages may open a WebSocket. An empty list allows every origin.
    pub allowed_origins: Vec<String>,
    /// Origins whose pages may call the HTTP API (CORS). An empty list allows none, `*` allows every origin.
    pub cors_origins: Vec<String>,
    /// Whether the node serves the try page, `/try`.
    pub try_page: bool,
    /// Connections that may wait to be accepted.
    pub backlog: u32,
    /// How long a peer may read nothing of its HTTP answer, in seconds.
    pub write_timeout_seconds: u64,
}

/// `[data]`: where the node stores its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// The folder of the embedded catalogue.
    pub dir: PathBuf,
}

/// `[catalogue]`: where projects and their keys are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueSettings {
    /// The kind of catalogue.
    pub kind: CatalogueKind,
    /// How long an answer of the catalogue is cached, in seconds.
    pub cache_seconds: u64,
    /// Whether the first start on an empty catalogue creates the project `demo`.
    pub demo: bool,
    /// For the kind `mongodb`.
    pub mongodb: MongodbSettings,
}

/// `[catalogue.mongodb]`: the MongoDB that nodes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MongodbSettings {
    /// The connection string.
    pub uri: SecretUrl,
    /// The name of the database.
    pub database: String,
}

/// `[bus]`: how emits reach the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusSettings {
    /// The kind of bus.
    pub kind: BusKind,
    /// For the kind `redis`.
    pub redis: RedisSettings,
}

/// `[bus.redis]`: the Redis that nodes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisSettings {
    /// The address, with user, password and database.
    pub url: SecretUrl,
    /// The prefix of every channel and key of this deployment.
    pub prefix: String,
}

/// `[auth]`: how tokens are verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthSettings {
    /// Allowed difference of clocks for `exp` and `nbf`, in seconds.
    pub leeway_seconds: u64,
}

/// `[session]`: the times and buffers of a WebSocket session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSettings {
    /// How often a session is pinged, in seconds.
    pub ping_seconds: u64,
    /// Maximum unsent bytes per session, before it is closed with 4430. A single emit may exceed it.
    pub send_buffer_bytes: usize,
    /// The kernel's send buffer for each connection, in bytes, as for `SO_SNDBUF`. 0 leaves the size to the kernel.
    pub kernel_send_buffer_bytes: usize,
    /// How long a connection may take nothing while frames wait, in seconds. After that the session is closed with
    /// 4430.
    pub write_timeout_seconds: u64,
    /// How long a peer has to answer our close frame, in seconds.
    pub close_seconds: u64,
}

/// `[limits]`: limits of a session, a user, an address, a project and the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSettings {
    /// Maximum size of a client's message in bytes.
    pub message_bytes: usize,
    /// Maximum subscriptions per session.
    pub subscriptions: usize,
    /// Maximum messages per second from one session.
    pub messages_per_second: u32,
    /// Maximum processor time per second for the REGISTER messages of one session, in milliseconds.
    pub register_milliseconds: u32,
    /// Maximum sessions of the node. 0 means as many as open files allow.
    pub sessions: usize,
    /// Maximum sessions of one user on the node. 0 means no limit.
    pub sessions_per_user: usize,
    /// Maximum sessions from one address on the node. 0 means no limit.
    pub sessions_per_address: usize,
    /// Maximum body of an emit request in bytes.
    pub emit_bytes: usize,
    /// Maximum items of an emit request.
    pub emit_batch: usize,
    /// Maximum emits per second of one project on the node. 0 means no limit.
    pub emits_per_second: u32,
    /// Maximum idempotency keys that the node remembers.
    pub idempotency_keys: usize,
    /// Maximum idempotency keys of one project that the node remembers.
    pub idempotency_keys_per_project: usize,
    /// How long an idempotency key is remembered, in seconds.
    pub idempotency_seconds: u64,
    /// Maximum bytes of event data on the way from the bus to the node's sessions.
    pub queued_bytes: usize,
    /// The part of the memory that the node may allow TCP to use, in percent. 0 leaves TCP's limit unchanged.
    pub tcp_memory_percent: u8,
}

/// `[shutdown]`: how a node stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShutdownSettings {
    /// How long a node goes on after a stop signal, while it says that it is not ready, in seconds.
    pub notice_seconds: u64,
    /// How long the node then has to stop, in seconds.
    pub seconds: u64,
}

/// `[log]`: the format and the level of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// The format of a line.
    pub format: LogFormat,
    /// The least severe level that is logged. The environment variable `RUST_LOG` takes precedence.
    pub level: LogLevel,
}

impl Default for Settings {
    /// The settings of `config/default.toml`.
    fn default() -> Self {
        layers::defaults()
    }
}

impl HttpSettings {
    /// The number of worker threads: the setting, or the number of CPUs if it is 0.
    pub fn worker_count(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS),
            workers => workers,
        }
    }
}
