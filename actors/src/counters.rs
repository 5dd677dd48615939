//! The broker's counters and gauges: plain atomics. The program exports them as metrics.

use crate::protocol::codes::{CloseCode, GapReason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that goes up and down.
#[derive(Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Adds `amount` and returns the sum.
    pub fn add(&self, amount: u64) -> u64 {
        self.0.fetch_add(amount, Relaxed) + amount
    }

    /// Subtracts `amount`, which must have been added before.
    pub fn subtract(&self, amount: u64) {
        self.0.fetch_sub(amount, Relaxed);
    }

    /// Sets the number. Only for gauges with one writer.
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// The current number.
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A number that only grows.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `amount`.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Relaxed);
    }

    /// The current number.
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A limit, named like its setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    MessageBytes,
    MessagesPerSecond,
    Subscriptions,
    SendBufferBytes,
    WriteTimeoutSeconds,
    Sessions,
    SessionsPerUser,
    SessionsPerAddress,
    EmitBytes,
    EmitBatch,
    EmitsPerSecond,
    IdempotencyKeys,
    IdempotencyKeysPerProject,
    QueuedBytes,
    HttpConnections,
    RegisterMilliseconds,
    TcpMemoryPercent,
    ConditionCost,
    HttpWriteTimeoutSeconds,
}

impl Limit {
    /// Every limit, in the order of their numbers.
    pub const ALL: [Limit; 19] = [
        Limit::MessageBytes,
        Limit::MessagesPerSecond,
        Limit::Subscriptions,
        Limit::SendBufferBytes,
        Limit::WriteTimeoutSeconds,
        Limit::Sessions,
        Limit::SessionsPerUser,
        Limit::SessionsPerAddress,
        Limit::EmitBytes,
        Limit::EmitBatch,
        Limit::EmitsPerSecond,
        Limit::IdempotencyKeys,
        Limit::IdempotencyKeysPerProject,
        Limit::QueuedBytes,
        Limit::HttpConnections,
        Limit::RegisterMilliseconds,
        Limit::TcpMemoryPercent,
        Limit::ConditionCost,
        Limit::HttpWriteTimeoutSeconds,
    ];

    /// The setting's key, or a name of its own if the limit is fixed or set by the system.
    pub const fn as_str(self) -> &'static str {
        match self {
            Limit::MessageBytes => "message_bytes",
            Limit::MessagesPerSecond => "messages_per_second",
            Limit::Subscriptions => "subscriptions",
            Limit::SendBufferBytes => "send_buffer_bytes",
            Limit::WriteTimeoutSeconds => "session.write_timeout_seconds",
            Limit::Sessions => "sessions",
            Limit::SessionsPerUser => "sessions_per_user",
            Limit::SessionsPerAddress => "sessions_per_address",
            Limit::EmitBytes => "emit_bytes",
            Limit::EmitBatch => "emit_batch",
            Limit::EmitsPerSecond => "emits_per_second",
            Limit::IdempotencyKeys => "idempotency_keys",
            Limit::IdempotencyKeysPerProject => "idempotency_keys_per_project",
            Limit::QueuedBytes => "queued_bytes",
            Limit::HttpConnections => "http_connections",
            Limit::RegisterMilliseconds => "register_milliseconds",
            Limit::TcpMemoryPercent => "tcp_memory_percent",
            Limit::ConditionCost => "condition_cost",
            Limit::HttpWriteTimeoutSeconds => "http.write_timeout_seconds",
        }
    }
}

/// How a session ended, for the metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCause {
    /// With one of our codes, from either side.
    Code(CloseCode),
    /// With another code, from the peer.
    OtherCode,
    /// The connection ended without a close frame (1006 in RFC 6455 §7.1.5).
    Abrupt,
}

const CLOSE_CAUSES: usize = CloseCode::ALL.len() + 2;

impl CloseCause {
    /// Every cause.
    pub fn all() -> impl Iterator<Item = CloseCause> {
        let codes = CloseCode::ALL.into_iter().map(CloseCause::Code);
        codes.chain([CloseCause::OtherCode, CloseCause::Abrupt])
    }

    /// The metric's label: the code's number, `other` or `1006`.
    pub fn label(self) -> String {
        match self {
            CloseCause::Code(code) => code.as_u16().to_string(),
            CloseCause::OtherCode => "other".to_owned(),
            CloseCause::Abrupt => "1006".to_owned(),
        }
    }

    fn position(self) -> usize {
        match self {
            CloseCause::Code(code) => code as usize,
            CloseCause::OtherCode => CloseCode::ALL.len(),
            CloseCause::Abrupt => CloseCode::ALL.len() + 1,
        }
    }
}

/// All of a node's counters, shared by its actors.
#[derive(Default)]
pub struct Counters {
    /// Sessions, including those that are closing.
    pub sessions: Gauge,
    pub subscriptions: Gauge,
    /// HTTP connections, including those that ask for an upgrade.
    pub http_connections: Gauge,
    /// (project, event) pairs with subscribers on this node.
    pub channels: Gauge,
    /// Notifications that were completely written to the operating system.
    pub notifications: Counter,
    /// Subscriptions whose condition did not match an emit of their event.
    pub condition_drops: Counter,
    /// Unsent bytes of all sessions.
    pub session_queue_bytes: Gauge,
    /// Bytes of emits that exceed the send buffers of their sessions.
    pub session_burst_bytes: Gauge,
    /// Bytes of event data between the bus and the sessions.
    pub bus_queue_bytes: Gauge,
    /// Nodes that announced themselves lately, including this one.
    pub nodes: Gauge,
    /// Changes of projects after which this node read the catalogue again.
    pub project_changes: Counter,
    /// Lost connections to the bus. Each direction counts.
    pub bus_losses: Counter,
    closes: [Counter; CLOSE_CAUSES],
    gaps: [Counter; GapReason::ALL.len()],
    limits: [Counter; Limit::ALL.len()],
}

impl Counters {
    /// Counts the end of a session.
    pub fn count_close(&self, cause: CloseCause) {
        self.closes[cause.position()].add(1);
    }

    /// Sessions that ended with this cause.
    pub fn closes(&self, cause: CloseCause) -> u64 {
        self.closes[cause.position()].value()
    }

    /// Counts subscriptions that got a gap.
    pub fn count_gaps(&self, reason: GapReason, amount: u64) {
        self.gaps[reason as usize].add(amount);
    }

    /// Subscriptions that got a gap for this reason.
    pub fn gaps(&self, reason: GapReason) -> u64 {
        self.gaps[reason as usize].value()
    }

    /// Counts that a limit was reached.
    pub fn count_limit(&self, limit: Limit) {
        self.limits[limit as usize].add(1);
    }

    /// How often a limit was reached.
    pub fn limits(&self, limit: Limit) -> u64 {
        self.limits[limit as usize].value()
    }
}

/// One session counted in [`Counters::sessions`], until it is dropped.
pub struct CountedSession(Arc<Counters>);

impl CountedSession {
    /// Counts a session. Returns `None` if `max` are counted already.
    pub fn count(counters: &Arc<Counters>, max: u64) -> Option<CountedSession> {
        let counted = CountedSession(counters.clone());
        (counters.sessions.add(1) <= max).then_some(counted)
    }
}

impl Drop for CountedSession {
    fn drop(&mut self) {
        self.0.sessions.subtract(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_counted_until_it_is_dropped_and_never_past_the_maximum() {
        let counters = Arc::new(Counters::default());
        let first = CountedSession::count(&counters, 1);
        assert!(first.is_some() && CountedSession::count(&counters, 1).is_none());
        assert_eq!(counters.sessions.value(), 1);
        drop(first);
        assert_eq!(counters.sessions.value(), 0);
    }

    #[test]
    fn every_close_cause_has_its_own_counter() {
        let mut positions: Vec<usize> = CloseCause::all().map(CloseCause::position).collect();
        positions.dedup();
        assert_eq!(positions, (0..CLOSE_CAUSES).collect::<Vec<_>>());
    }

    #[test]
    fn every_limit_has_its_own_counter() {
        let counters = Counters::default();
        for limit in Limit::ALL {
            counters.count_limit(limit);
        }
        assert!(Limit::ALL.into_iter().all(|limit| counters.limits(limit) == 1));
    }
}
