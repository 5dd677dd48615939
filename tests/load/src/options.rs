//! The command line.

use crate::protocols::Protocol;
use crate::wire::token::Key;
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddrV4;
use std::path::PathBuf;

/// Puts load on a node and reports what it measured.
#[derive(Debug, Parser)]
#[command(name = "carillon-load", version)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Connects more and more clients, and reports the memory per client in the server, the kernel and Redis.
    Fill(FillOptions),
    /// Clients connect, register and disconnect, over and over.
    Churn(ChurnOptions),
    /// Holds clients and counts their notifications: expected, received, late, duplicate, missing.
    Listen(ListenOptions),
    /// Emits events, for clients that another process holds or for none.
    Emit(EmitOptions),
    /// Holds clients while the server restarts, and reports how long they were disconnected.
    Restart(RestartOptions),
    /// One worker process of a run. The other commands start it.
    #[command(hide = true)]
    Worker,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Address of a server. Repeat it for more nodes: clients are spread over all.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub target: Vec<SocketAddrV4>,
    /// Protocol of the server.
    #[arg(long, value_enum, default_value = "carillon")]
    pub protocol: Protocol,
    /// Project whose keys sign the tokens.
    #[arg(long, default_value = "demo")]
    pub project: String,
    /// Event that clients subscribe to and that is emitted.
    #[arg(long, visible_alias = "register", default_value = "order-updates")]
    pub event: String,
    /// Data folder of the node: the keys of the project are read from its catalogue.
    #[arg(long, value_name = "FOLDER", default_value = "data")]
    pub data: PathBuf,
    /// Key that signs API tokens, instead of the one in the data folder.
    #[arg(long, value_name = "KID:SECRET")]
    pub api_key: Option<Key>,
    /// Key that signs user tokens, instead of the one in the data folder.
    #[arg(long, value_name = "KID:SECRET")]
    pub user_key: Option<Key>,
    /// Ready API token with the scopes connect and emit. Other users of this machine can see it in the process list.
    #[arg(long, value_name = "TOKEN")]
    pub api_token: Option<String>,
    /// Ready user token for all clients. Without it, each client has its own.
    #[arg(long, value_name = "TOKEN")]
    pub user_token: Option<String>,
    /// Subscribes without a condition: every client receives every event.
    #[arg(long)]
    pub plain: bool,
    /// Approximate size of the event data, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 150)]
    pub payload: usize,
    /// Number of worker processes. 0: as many as the limit of open files requires.
    #[arg(long, default_value_t = 0)]
    pub processes: u32,
    /// Number of source addresses of clients, from 127.0.1.1 on. 0: one per 10,000 clients.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub sources: u8,
    /// Process of the server: its CPU time and memory are measured, including its child processes. Can be repeated.
    #[arg(long, value_name = "PID")]
    pub server_pid: Vec<u32>,
    /// Starts the server with this command, and stops it at the end. Can be repeated.
    #[arg(long, value_name = "COMMAND")]
    pub start: Vec<String>,
    /// Writes the result as JSON to this file. With -, JSON goes to standard output instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct FillOptions {
    #[command(flatten)]
    pub common: Common,
    /// Number of clients.
    #[arg(short = 'c', long)]
    pub clients: u32,
    /// Number of clients to add per level. 0: a tenth of all.
    #[arg(long, default_value_t = 0)]
    pub step: u32,
    /// Seconds to hold each level before it is measured, up to five times as long while the memory of the server
    /// changes.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    pub hold: f64,
    /// Maximum number of clients that connect at the same time.
    #[arg(long, default_value_t = 100)]
    pub at_once: u32,
    /// Stops when the machine has less free memory than this, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub free_floor: u64,
    /// Redis whose memory is measured.
    #[arg(long, value_name = "ADDRESS")]
    pub redis: Option<SocketAddrV4>,
}

#[derive(Args, Debug)]
pub struct ChurnOptions {
    #[command(flatten)]
    pub common: Common,
    /// Number of clients that connect and disconnect at the same time.
    #[arg(short = 'c', long, default_value_t = 100)]
    pub clients: u32,
    /// Seconds to measure.
    #[arg(short = 'd', long, value_name = "SECONDS", default_value_t = 10.0)]
    pub duration: f64,
    /// Seconds of warm-up before the measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub warm_up: f64,
}

/// How events are emitted.
#[derive(Args, Clone, Debug)]
pub struct Pace {
    /// Events per second, on a fixed schedule. Without it, as fast as the server accepts them.
    #[arg(short = 'R', long)]
    pub rate: Option<f64>,
    /// Number of clients that receive each event: 1 is one person, all clients is a broadcast.
    #[arg(short = 'k', long, value_name = "CLIENTS", default_value_t = 1)]
    pub audience: u32,
    /// Number of connections that emit.
    #[arg(long, default_value_t = 64)]
    pub connections: u32,
    /// Events per call.
    #[arg(long, default_value_t = 1)]
    pub batch: u32,
    /// Without --rate: maximum number of events that are emitted and not yet received. 0: 4 for a broadcast, 256 for
    /// one person.
    #[arg(long, default_value_t = 0)]
    pub window: u32,
    /// Seconds to measure.
    #[arg(short = 'd', long, value_name = "SECONDS", default_value_t = 10.0)]
    pub duration: f64,
    /// Seconds of warm-up before the measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub warm_up: f64,
}

#[derive(Args, Debug)]
pub struct ListenOptions {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub pace: Pace,
    /// Number of clients that listen.
    #[arg(short = 'c', long, default_value_t = 1000)]
    pub clients: u32,
    /// Maximum number of clients that connect at the same time.
    #[arg(long, default_value_t = 100)]
    pub at_once: u32,
    /// Only listens. The events come from another `emit` on this machine with the same --run.
    #[arg(long)]
    pub no_emit: bool,
    /// Emits to this node instead of the nodes of the clients. Can be repeated.
    #[arg(long, value_name = "ADDRESS")]
    pub emit_target: Vec<SocketAddrV4>,
    /// Number that `listen --no-emit` and `emit` share, so that listeners recognize the events.
    #[arg(long)]
    pub run: Option<u32>,
    /// Milliseconds after which a notification counts as late.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000)]
    pub late: u64,
    /// Seconds to wait at the end for missing notifications.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub timeout: f64,
}

#[derive(Args, Debug)]
pub struct EmitOptions {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub pace: Pace,
    /// Number of clients that listen in another process: recipients are chosen among them.
    #[arg(short = 'c', long, default_value_t = 1000)]
    pub clients: u32,
    /// Number that `listen --no-emit` and `emit` share, so that listeners recognize the events.
    #[arg(long)]
    pub run: Option<u32>,
}

#[derive(Args, Debug)]
pub struct RestartOptions {
    #[command(flatten)]
    pub common: Common,
    /// Number of clients to hold.
    #[arg(short = 'c', long, default_value_t = 1000)]
    pub clients: u32,
    /// Maximum number of clients that connect at the same time.
    #[arg(long, default_value_t = 100)]
    pub at_once: u32,
    /// Seconds to wait for the clients to reconnect.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub timeout: f64,
}
