//! What the broker counts: plain atomics, read by whoever shows them. Knows no metrics library.

use crate::protocol::codes::{CloseCode, GapReason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that goes up and down.
#[derive(Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Adds `amount`; answers the sum.
    pub fn add(&self, amount: u64) -> u64 {
        self.0.fetch_add(amount, Relaxed) + amount
    }

    /// Takes `amount` away; what is taken was added before.
    pub fn subtract(&self, amount: u64) {
        self.0.fetch_sub(amount, Relaxed);
    }

    /// Sets the number; for gauges with one writer.
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// The number now.
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

    /// The number now.
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A limit that was met, by the name of its setting.
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

    /// The setting's key, or the limit's own name where it follows from the system or is fixed.
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

/// How a session ended, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCause {
    /// With one of our codes, whoever said it first.
    Code(CloseCode),
    /// With another code of the peer's.
    OtherCode,
    /// The connection broke or ended without a close frame (what RFC 6455 §7.1.5 calls 1006).
    Abrupt,
}

const ENDINGS: usize = CloseCode::ALL.len() + 2;

impl CloseCause {
    /// Every ending.
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
    /// Sockets held as sessions, those that are closing included.
    pub sessions: Gauge,
    pub subscriptions: Gauge,
    /// Connections that speak HTTP, those in front of an upgrade included.
    pub http_connections: Gauge,
    /// (project, event) pairs with subscribers on this node.
    pub channels: Gauge,
    /// Notification frames handed whole to the operating system.
    pub notifications: Counter,
    /// Subscriptions of an emit's event that were not told, since their condition did not match.
    pub condition_drops: Counter,
    /// Bytes that wait in sessions for their sockets.
    pub session_queue_bytes: Gauge,
    /// Bytes of emits that exceed the send buffers of their sessions.
    pub session_burst_bytes: Gauge,
    /// Bytes of event data between the bus and the sessions.
    pub bus_queue_bytes: Gauge,
    /// Nodes that were heard of lately, this one included.
    pub nodes: Gauge,
    /// Projects of the catalogue that this node was told to read again.
    pub project_changes: Counter,
    /// How often the connection to the bus was lost, each of its halves counted.
    pub bus_losses: Counter,
    closes: [Counter; ENDINGS],
    gaps: [Counter; GapReason::ALL.len()],
    limits: [Counter; Limit::ALL.len()],
}

impl Counters {
    /// Counts the end of a session.
    pub fn count_close(&self, ending: CloseCause) {
        self.closes[ending.position()].add(1);
    }

    /// Sessions that ended so.
    pub fn closes(&self, ending: CloseCause) -> u64 {
        self.closes[ending.position()].value()
    }

    /// Counts subscriptions that were told of a gap.
    pub fn count_gaps(&self, reason: GapReason, amount: u64) {
        self.gaps[reason as usize].add(amount);
    }

    /// Subscriptions that were told of a gap for this reason.
    pub fn gaps(&self, reason: GapReason) -> u64 {
        self.gaps[reason as usize].value()
    }

    /// Counts that a limit was met.
    pub fn count_limit(&self, limit: Limit) {
        self.limits[limit as usize].add(1);
    }

    /// How often a limit was met.
    pub fn limits(&self, limit: Limit) -> u64 {
        self.limits[limit as usize].value()
    }
}

/// One session counted in [`Counters::sessions`], until it is dropped.
pub struct CountedSession(Arc<Counters>);

impl CountedSession {
    /// Counts a session, unless `most` are counted already.
    pub fn count(counters: &Arc<Counters>, most: u64) -> Option<CountedSession> {
        let counted = CountedSession(counters.clone());
        (counters.sessions.add(1) <= most).then_some(counted)
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
    fn a_session_is_counted_until_it_is_dropped_and_never_past_the_most() {
        let counters = Arc::new(Counters::default());
        let first = CountedSession::count(&counters, 1);
        assert!(first.is_some() && CountedSession::count(&counters, 1).is_none());
        assert_eq!(counters.sessions.value(), 1);
        drop(first);
        assert_eq!(counters.sessions.value(), 0);
    }

    #[test]
    fn every_ending_has_a_place_of_its_own() {
        let mut places: Vec<usize> = CloseCause::all().map(CloseCause::position).collect();
        places.dedup();
        assert_eq!(places, (0..ENDINGS).collect::<Vec<_>>());
    }

    #[test]
    fn every_limit_is_counted_apart() {
        let counters = Counters::default();
        for limit in Limit::ALL {
            counters.count_limit(limit);
        }
        assert!(Limit::ALL.into_iter().all(|limit| counters.limits(limit) == 1));
    }
}
