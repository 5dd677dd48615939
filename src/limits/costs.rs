//! What a client costs, measured: the one place of these numbers. `docs/benchmarks.md` says how each was measured and how to
//! measure it again; the start of a node and `carillon plan` reckon with them.

/// The version that was measured. A new version is measured anew, or found to cost the same, before this line follows it.
pub const MEASURED_VERSION: &str = "0.1.0";

/// The process without clients, in bytes: its resident set after the start.
pub const PROCESS_BYTES: u64 = 16_000_000;

/// An idle session with two tokens, one subscription and its own condition, in the process, in bytes: the median over a node
/// that nobody had come to yet.
pub const PROCESS_BYTES_PER_CLIENT: u64 = 330;

/// Each further subscription of a session, with a condition of its own, in the process, in bytes.
pub const PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION: u64 = 104;

/// What the kernel keeps for one idle socket with empty buffers, in bytes: `tcp_sock`, inode, file, directory entry, epoll entry.
pub const KERNEL_BYTES_PER_SOCKET: u64 = 4_040;

/// What the kernel takes for each byte of `session.kernel_send_buffer_bytes`, its own overhead included: it doubles the
/// value (socket(7)).
pub const KERNEL_BYTES_PER_BUFFERED_BYTE: u64 = 2;

/// What the kernel keeps for one connection that its firewall tracks, in bytes.
pub const KERNEL_BYTES_PER_TRACKED_CONNECTION: u64 = 400;

/// All that the kernel keeps for an idle client, in bytes.
pub const KERNEL_BYTES_PER_CLIENT: u64 = KERNEL_BYTES_PER_SOCKET + KERNEL_BYTES_PER_TRACKED_CONNECTION;

/// A Redis that keeps nothing yet, in bytes: its resident set.
pub const REDIS_BYTES: u64 = 12_500_000;

/// A channel in Redis (one event of one project), with the first node that has joined it, in bytes.
pub const REDIS_BYTES_PER_CHANNEL: u64 = 252;

/// Each further node on a channel, in Redis, in bytes.
pub const REDIS_BYTES_PER_FURTHER_NODE: u64 = 145;

/// An idempotency key in Redis, in bytes.
pub const REDIS_BYTES_PER_IDEMPOTENCY_KEY: u64 = 197;

/// The most that waits in Redis for one node before Redis cuts it off, in bytes: its default of
/// `client-output-buffer-limit pubsub`. Not measured, but set.
pub const REDIS_BYTES_OF_QUEUE_PER_NODE: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costs_are_those_of_this_version() {
        assert_eq!(MEASURED_VERSION, env!("CARGO_PKG_VERSION"), "measure again: docs/benchmarks.md says how");
    }
}
