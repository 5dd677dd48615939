//! The measured costs of a client. All of these numbers are here. `docs/benchmarks.md` says how each was measured and
//! how to measure it again. A starting node and `carillon plan` use them for their estimates.

/// The version that was measured. Before you change it for a new version, measure again or make sure that costs are
/// equal.
pub const MEASURED_VERSION: &str = "0.1.0";

/// Resident memory of the process after its start, without clients, in bytes.
pub const PROCESS_BYTES: u64 = 16_000_000;

/// Memory of the process for an idle session with two tokens and one subscription with its own condition, in bytes. It
/// is the median on a new node.
pub const PROCESS_BYTES_PER_CLIENT: u64 = 330;

/// Memory of the process for each further subscription of a session with its own condition, in bytes.
pub const PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION: u64 = 104;

/// Kernel memory for an idle socket with empty buffers, in bytes: `tcp_sock`, inode, file, directory entry, epoll
/// entry.
pub const KERNEL_BYTES_PER_SOCKET: u64 = 4_040;

/// Kernel memory for each byte of `session.kernel_send_buffer_bytes`. The kernel doubles the value for its own overhead
/// (socket(7)).
pub const KERNEL_BYTES_PER_BUFFERED_BYTE: u64 = 2;

/// Kernel memory for a connection that the firewall tracks, in bytes.
pub const KERNEL_BYTES_PER_TRACKED_CONNECTION: u64 = 400;

/// Kernel memory for an idle client, in bytes.
pub const KERNEL_BYTES_PER_CLIENT: u64 = KERNEL_BYTES_PER_SOCKET + KERNEL_BYTES_PER_TRACKED_CONNECTION;

/// Resident memory of an empty Redis, in bytes.
pub const REDIS_BYTES: u64 = 12_500_000;

/// Memory of Redis for a channel (one event of one project) with the first node that has joined it, in bytes.
pub const REDIS_BYTES_PER_CHANNEL: u64 = 252;

/// Memory of Redis for each further node on a channel, in bytes.
pub const REDIS_BYTES_PER_FURTHER_NODE: u64 = 145;

/// Memory of Redis for an idempotency key, in bytes.
pub const REDIS_BYTES_PER_IDEMPOTENCY_KEY: u64 = 197;

/// Maximum bytes that wait in Redis for one node before Redis closes the connection. It is Redis's default of
/// `client-output-buffer-limit pubsub`, not a measurement.
pub const REDIS_BYTES_OF_QUEUE_PER_NODE: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costs_were_measured_on_this_version() {
        assert_eq!(MEASURED_VERSION, env!("CARGO_PKG_VERSION"), "measure again: docs/benchmarks.md says how");
    }
}
