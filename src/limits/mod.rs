//! What the operating system allows a node: open files, memory, TCP's memory, tracked connections, the listen backlog.
//!
//! Asked at the start, so that the operator hears which limit ends first before the clients do, and again when `/metrics` is read. It
//! must never know what a session is made of, only what one costs (`costs`). Where the system does not tell something, it
//! stays unknown. `node/system.rs` says what is found here and follows the clients; `carillon plan` reckons with it.

pub mod costs;
mod first_limit;
mod gauges;
mod machine;
mod open_files;
mod system_files;
mod tcp_memory;

pub use first_limit::{FirstLimit, Limit};
pub use gauges::{Gauge, SystemGauges};
pub use machine::Machine;
pub use open_files::{DEFAULT_NR_OPEN, OpenFiles, SessionBudget, open_files_for, raise_open_files};
pub use system_files::SystemFiles;
pub use tcp_memory::{Growth, PAGES_PER_CLIENT, TcpMemory, TcpMemoryManager};
