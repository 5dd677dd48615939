//! What an operator can set: `config/default.toml`, overridden by a file, overridden by the environment.
//!
//! This module holds the shape; `layers` puts the three sources together, `bounds` judges the values and
//! `kinds` names what can be chosen. It must never know who uses a setting, and never touches the network.
//! The comments of `config/default.toml` are the reference of each key: meaning, unit, bounds.

mod bounds;
mod kinds;
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

/// The most worker threads, which is the server's own bound.
const MAX_WORKERS: usize = 512;

/// Everything that can be set, a struct for each section.
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
    /// The address and port to listen on; port 0 picks a free one.
    #[serde(deserialize_with = "kinds::bind_address")]
    pub bind: SocketAddr,
    /// Worker threads; 0 is one for each CPU ([`HttpSettings::worker_count`] resolves it).
    pub workers: usize,
    /// The origins whose pages may open a WebSocket; empty allows any.
    pub allowed_origins: Vec<String>,
    /// The origins whose pages may call the HTTP API (CORS); empty allows none, `*` any.
    pub cors_origins: Vec<String>,
    /// Whether the node serves the try page, `/try`.
    pub try_page: bool,
    /// Connections that may wait to be accepted.
    pub backlog: u32,
    /// The longest time in which a peer may take nothing of its HTTP answer, in seconds.
    pub write_timeout_seconds: u64,
}

/// `[data]`: where the node keeps its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSettings {
    /// The folder of the embedded catalogue.
    pub dir: PathBuf,
}

/// `[catalogue]`: where projects and their keys come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueSettings {
    /// Which catalogue keeps them.
    pub kind: CatalogueKind,
    /// How old a cached answer may get, in seconds.
    pub cache_seconds: u64,
    /// Whether the first start on an empty catalogue makes the project `demo`.
    pub demo: bool,
    /// Where the catalogue of kind `mongodb` is.
    pub mongodb: MongodbSettings,
}

/// `[catalogue.mongodb]`: the MongoDB that nodes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MongodbSettings {
    /// The connection string.
    pub uri: SecretUrl,
    /// The database's name.
    pub database: String,
}

/// `[bus]`: how emits reach the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusSettings {
    /// Which bus carries them.
    pub kind: BusKind,
    /// Where the bus of kind `redis` is.
    pub redis: RedisSettings,
}

/// `[bus.redis]`: the Redis that nodes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisSettings {
    /// Its address, with user, password and database.
    pub url: SecretUrl,
    /// What every channel and key of this deployment begins with.
    pub prefix: String,
}

/// `[auth]`: how tokens are judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthSettings {
    /// How far clocks may differ for `exp` and `nbf`, in seconds.
    pub leeway_seconds: u64,
}

/// `[session]`: the life of one WebSocket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSettings {
    /// How often a session is pinged, in seconds.
    pub ping_seconds: u64,
    /// Bytes of memory that the unsent frames of a session may hold before it is closed `4430`. One emit may exceed it.
    pub send_buffer_bytes: usize,
    /// The kernel's send buffer of each connection, in bytes as `SO_SNDBUF` takes them; 0 leaves it to the kernel.
    pub kernel_send_buffer_bytes: usize,
    /// How long the connection may take nothing while frames wait, before the session is closed `4430`, in seconds.
    pub write_timeout_seconds: u64,
    /// How long a peer has to answer our close frame, in seconds.
    pub close_seconds: u64,
}

/// `[limits]`: what one session, user, address, project and node may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSettings {
    /// The longest message of a client, in bytes.
    pub message_bytes: usize,
    /// Subscriptions of one session.
    pub subscriptions: usize,
    /// Messages a second of one session.
    pub messages_per_second: u32,
    /// What REGISTERs of one session may take of a processor in a second, in milliseconds.
    pub register_milliseconds: u32,
    /// Sessions of the node; 0 is what open files allow.
    pub sessions: usize,
    /// Sessions of one user on the node; 0 is no limit.
    pub sessions_per_user: usize,
    /// Sessions of one address on the node; 0 is no limit.
    pub sessions_per_address: usize,
    /// The longest body of an emit request, in bytes.
    pub emit_bytes: usize,
    /// Items in one emit request.
    pub emit_batch: usize,
    /// Emits a second of one project on the node; 0 is no limit.
    pub emits_per_second: u32,
    /// Idempotency keys that the node remembers.
    pub idempotency_keys: usize,
    /// Idempotency keys of one project that the node remembers.
    pub idempotency_keys_per_project: usize,
    /// How long an idempotency key is remembered, in seconds.
    pub idempotency_seconds: u64,
    /// Event data on its way to the node's sessions, in bytes; publishing waits past it.
    pub queued_bytes: usize,
    /// How much of the memory TCP may be given as clients come, in percent; 0 leaves it as it is.
    pub tcp_memory_percent: u8,
}

/// `[shutdown]`: how a node stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShutdownSettings {
    /// How long a node that is told to stop goes on, not ready, before it does, in seconds.
    pub notice_seconds: u64,
    /// How long a stopping node then has, in seconds.
    pub seconds: u64,
}

/// `[log]`: what the node logs, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSettings {
    /// The shape of a line.
    pub format: LogFormat,
    /// The least severe level that is logged. The environment variable `RUST_LOG` wins over it.
    pub level: LogLevel,
}

impl Default for Settings {
    /// The settings of `config/default.toml` alone.
    fn default() -> Self {
        layers::defaults()
    }
}

impl HttpSettings {
    /// The number of worker threads: the setting, or the number of CPUs where it is 0.
    pub fn worker_count(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS),
            workers => workers,
        }
    }
}
