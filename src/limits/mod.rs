//! The limits of the operating system: open files, memory, TCP's memory, tracked connections, the listen backlog.
//!
//! They are read at the start, so that the operator learns early which limit is reached first, and again for
//! `/metrics`. This module knows what a session costs (`costs`), but not how it is implemented. A value that the system
//! does not provide stays unknown. `node/system.rs` logs and applies the limits, and `carillon plan` uses them for its
//! estimate.

pub mod costs;
mod first_limit;
mod gauges;
mod machine;
mod open_files;
mod system_files;
mod tcp_memory;
mod tcp_memory_manager;

pub use first_limit::{FirstLimit, Limit};
pub use gauges::{Gauge, SystemGauges};
pub use machine::Machine;
pub use open_files::{DEFAULT_NR_OPEN, OpenFiles, SessionBudget, open_files_for, raise_open_files};
pub use system_files::SystemFiles;
pub use tcp_memory::{PAGES_PER_CLIENT, TcpMemory};
pub use tcp_memory_manager::{Growth, TcpMemoryManager};
