//! The command line.

use crate::dialects::Protocol;
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
    /// Connects client after client and says what each costs the server, the kernel and Redis.
    Fill(FillOptions),
    /// Lets clients connect, register and leave, over and over.
    Churn(ChurnOptions),
    /// Holds clients and counts what they are told: expected, received, late, twice, missing.
    Listen(ListenOptions),
    /// Emits events to clients that are held elsewhere, or to nobody.
    Emit(EmitOptions),
    /// Holds clients while the server restarts, and says how long they were away.
    Restart(RestartOptions),
    /// One process of a run, which the other commands start.
    #[command(hide = true)]
    Worker,
}

/// What every command takes.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// A server's address; give it again for further nodes, which clients are spread over.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub target: Vec<SocketAddrV4>,
    /// What is spoken there.
    #[arg(long, value_enum, default_value = "carillon")]
    pub protocol: Protocol,
    /// The project whose keys sign the tokens.
    #[arg(long, default_value = "demo")]
    pub project: String,
    /// The event that clients subscribe to and that is emitted.
    #[arg(long, visible_alias = "register", default_value = "order-updates")]
    pub event: String,
    /// The node's data folder, from which the project's keys are read.
    #[arg(long, value_name = "FOLDER", default_value = "data")]
    pub data: PathBuf,
    /// A key for API tokens, instead of the data folder's.
    #[arg(long, value_name = "KID:SECRET")]
    pub api_key: Option<Key>,
    /// A key for user tokens, instead of the data folder's.
    #[arg(long, value_name = "KID:SECRET")]
    pub user_key: Option<Key>,
    /// A ready API token with the scopes connect and emit. Other users of this machine see it in the list of processes.
    #[arg(long, value_name = "TOKEN")]
    pub api_token: Option<String>,
    /// A ready user token for all clients; without it each has its own.
    #[arg(long, value_name = "TOKEN")]
    pub user_token: Option<String>,
    /// Subscribes without a condition: every client hears every event.
    #[arg(long)]
    pub plain: bool,
    /// Bytes of an event's data, about.
    #[arg(long, value_name = "BYTES", default_value_t = 150)]
    pub payload: usize,
    /// Processes to spread the load over; 0: as many as open files ask for.
    #[arg(long, default_value_t = 0)]
    pub processes: u32,
    /// Addresses that clients come from, 127.0.1.1 and on; 0: one for each 10,000 clients.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub sources: u8,
    /// A process of the server, its children included, for CPU seconds and memory; may be given again.
    #[arg(long, value_name = "PID")]
    pub server_pid: Vec<u32>,
    /// Starts the server with this command, and ends it at the end; may be given again.
    #[arg(long, value_name = "COMMAND")]
    pub start: Vec<String>,
    /// Writes what was measured as JSON to this file; - is standard output, instead of the table.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct FillOptions {
    #[command(flatten)]
    pub common: Common,
    /// Clients in all.
    #[arg(short = 'c', long)]
    pub clients: u32,
    /// Clients of each level; 0: a tenth.
    #[arg(long, default_value_t = 0)]
    pub step: u32,
    /// Seconds that each level is held before it is measured, up to five times while the server's memory changes.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    pub hold: f64,
    /// Clients that are being connected at a time.
    #[arg(long, default_value_t = 100)]
    pub at_once: u32,
    /// Stops when less memory than this is free on the machine, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub free_floor: u64,
    /// A Redis whose memory is sampled.
    #[arg(long, value_name = "ADDRESS")]
    pub redis: Option<SocketAddrV4>,
}

#[derive(Args, Debug)]
pub struct ChurnOptions {
    #[command(flatten)]
    pub common: Common,
    /// Clients that come and go at a time.
    #[arg(short = 'c', long, default_value_t = 100)]
    pub clients: u32,
    /// Seconds to measure.
    #[arg(short = 'd', long, value_name = "SECONDS", default_value_t = 10.0)]
    pub duration: f64,
    /// Seconds before it is measured.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub warm_up: f64,
}

/// How events are emitted.
#[derive(Args, Clone, Debug)]
pub struct Pace {
    /// Events a second, each at its own moment; without it as fast as they are taken.
    #[arg(short = 'R', long)]
    pub rate: Option<f64>,
    /// Clients that hear each event: 1 is one person, as many as there are is a broadcast to all.
    #[arg(short = 'k', long, value_name = "CLIENTS", default_value_t = 1)]
    pub audience: u32,
    /// Connections to emit over, in all.
    #[arg(long, default_value_t = 64)]
    pub connections: u32,
    /// Events in one call.
    #[arg(long, default_value_t = 1)]
    pub batch: u32,
    /// Events under way at a time without --rate, counted until they are told; 0: 4 for a broadcast, 256 for one person.
    #[arg(long, default_value_t = 0)]
    pub window: u32,
    /// Seconds to measure.
    #[arg(short = 'd', long, value_name = "SECONDS", default_value_t = 10.0)]
    pub duration: f64,
    /// Seconds before it is measured.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub warm_up: f64,
}

#[derive(Args, Debug)]
pub struct ListenOptions {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub pace: Pace,
    /// Clients that listen.
    #[arg(short = 'c', long, default_value_t = 1000)]
    pub clients: u32,
    /// Clients that are being connected at a time.
    #[arg(long, default_value_t = 100)]
    pub at_once: u32,
    /// Listens only; events come from `emit` elsewhere on this machine, with the same --run.
    #[arg(long)]
    pub no_emit: bool,
    /// Emits to this node instead of those that the clients are at; may be given again.
    #[arg(long, value_name = "ADDRESS")]
    pub emit_target: Vec<SocketAddrV4>,
    /// The number by which `listen --no-emit` and `emit` know each other's events.
    #[arg(long)]
    pub run: Option<u32>,
    /// A notification that comes later than so many milliseconds is late.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000)]
    pub late: u64,
    /// Seconds to wait at the end for what has not been told.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub patience: f64,
}

#[derive(Args, Debug)]
pub struct EmitOptions {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub pace: Pace,
    /// Clients that listen elsewhere: recipients are taken from so many.
    #[arg(short = 'c', long, default_value_t = 1000)]
    pub clients: u32,
    /// The number by which `listen --no-emit` and `emit` know each other's events.
    #[arg(long)]
    pub run: Option<u32>,
}

#[derive(Args, Debug)]
pub struct RestartOptions {
    #[command(flatten)]
    pub common: Common,
    /// Clients to hold.
    #[arg(short = 'c', long, default_value_t = 1000)]
    pub clients: u32,
    /// Clients that are being connected at a time.
    #[arg(long, default_value_t = 100)]
    pub at_once: u32,
    /// Seconds to wait for the clients to be back.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub patience: f64,
}
