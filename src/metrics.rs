//! What `/metrics` shows, in OpenMetrics text. Names come from one list; no label holds anything a peer sent.
//!
//! Imports run one way: `http` counts here, and this module never imports `http`.

use crate::limits::{Gauge, SystemGauges};
use actix_web::http::StatusCode;
use actors::bus::BusHealth;
use actors::counters::{CloseCause, Counter, Counters, Limit};
use actors::hub::HandshakeOutcome;
use actors::protocol::codes::GapReason;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the emit histogram, in seconds: from a tenth of the target to the time-out of an impatient caller.
const EMIT_SECONDS: [f64; 12] = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Every metric. OpenMetrics adds `_total` to counters.
#[derive(Clone, Copy, Debug)]
enum MetricName {
    Sessions,
    Subscriptions,
    Channels,
    Emits,
    EmitSeconds,
    Notifications,
    ConditionDrops,
    Closes,
    Limits,
    Upgrades,
    SessionQueueBytes,
    BusQueueBytes,
    BusReady,
    BusLosses,
    Gaps,
    CatalogueFailures,
    ProjectChanges,
    Nodes,
    SessionsLimit,
    ResidentBytes,
    TcpMemoryBytes,
    TcpMemoryLimitBytes,
    TrackedConnections,
    TrackedConnectionsLimit,
}

impl MetricName {
    const fn as_str(self) -> &'static str {
        match self {
            MetricName::Sessions => "carillon_sessions",
            MetricName::Subscriptions => "carillon_subscriptions",
            MetricName::Channels => "carillon_channels",
            MetricName::Emits => "carillon_emits",
            MetricName::EmitSeconds => "carillon_emit_seconds",
            MetricName::Notifications => "carillon_notifications",
            MetricName::ConditionDrops => "carillon_condition_drops",
            MetricName::Closes => "carillon_closes",
            MetricName::Limits => "carillon_limits",
            MetricName::Upgrades => "carillon_upgrades",
            MetricName::SessionQueueBytes => "carillon_session_queue_bytes",
            MetricName::BusQueueBytes => "carillon_bus_queue_bytes",
            MetricName::BusReady => "carillon_bus_ready",
            MetricName::BusLosses => "carillon_bus_losses",
            MetricName::Gaps => "carillon_gaps",
            MetricName::CatalogueFailures => "carillon_catalogue_failures",
            MetricName::ProjectChanges => "carillon_project_changes",
            MetricName::Nodes => "carillon_nodes",
            MetricName::SessionsLimit => "carillon_sessions_limit",
            MetricName::ResidentBytes => "carillon_resident_bytes",
            MetricName::TcpMemoryBytes => "carillon_tcp_memory_bytes",
            MetricName::TcpMemoryLimitBytes => "carillon_tcp_memory_limit_bytes",
            MetricName::TrackedConnections => "carillon_tracked_connections",
            MetricName::TrackedConnectionsLimit => "carillon_tracked_connections_limit",
        }
    }

    const fn of_system(gauge: Gauge) -> MetricName {
        match gauge {
            Gauge::SessionLimit => MetricName::SessionsLimit,
            Gauge::ResidentBytes => MetricName::ResidentBytes,
            Gauge::TcpMemoryBytes => MetricName::TcpMemoryBytes,
            Gauge::TcpMemoryLimitBytes => MetricName::TcpMemoryLimitBytes,
            Gauge::TrackedConnections => MetricName::TrackedConnections,
            Gauge::TrackedConnectionsLimit => MetricName::TrackedConnectionsLimit,
        }
    }

    const fn help(self) -> &'static str {
        match self {
            MetricName::Sessions => "WebSocket sessions held, those that are closing included",
            MetricName::Subscriptions => "Subscriptions held",
            MetricName::Channels => "Events with subscribers on this node",
            MetricName::Emits => "Emits by outcome, each item of a batch counted",
            MetricName::EmitSeconds => "Seconds from an emit call's head to its answer",
            MetricName::Notifications => "Notifications handed whole to the operating system",
            MetricName::ConditionDrops => {
                "Subscriptions not told of an emit of their event: the condition did not match"
            }
            MetricName::Closes => "Sessions ended, by close code; 1006 is an end without one",
            MetricName::Limits => "How often a limit was met, by its setting",
            MetricName::Upgrades => "WebSocket upgrades by outcome",
            MetricName::SessionQueueBytes => "Bytes that wait in sessions for their sockets",
            MetricName::BusQueueBytes => "Bytes of event data between the bus and the sessions",
            MetricName::BusReady => "1 while the node hears its bus and publishes on it",
            MetricName::BusLosses => "How often a connection to the bus was lost",
            MetricName::ProjectChanges => "Projects read again since the catalogue was changed",
            MetricName::Nodes => "Nodes heard of over the bus lately, this one included",
            MetricName::Gaps => "Subscriptions told that notifications may have been missed, by reason",
            MetricName::SessionsLimit => "Sessions that the node takes at the most",
            MetricName::ResidentBytes => "Resident memory of the process, in bytes",
            MetricName::TcpMemoryBytes => "Memory that TCP has taken on the machine or in its container, in bytes",
            MetricName::TcpMemoryLimitBytes => "Memory that TCP may take, in bytes",
            MetricName::TrackedConnections => "Connections that the firewall tracks",
            MetricName::TrackedConnectionsLimit => "Connections that the firewall tracks at the most",
            MetricName::CatalogueFailures => "Look-ups in the catalogue that failed; what was read before serves on",
        }
    }
}

/// What became of an emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitOutcome {
    Accepted,
    Duplicate,
    Invalid,
    Unauthorized,
    Forbidden,
    TooLarge,
    RateLimited,
    Unavailable,
    Unknown,
}

impl EmitOutcome {
    const ALL: [(EmitOutcome, &'static str); 9] = [
        (EmitOutcome::Accepted, "accepted"),
        (EmitOutcome::Duplicate, "duplicate"),
        (EmitOutcome::Invalid, "invalid"),
        (EmitOutcome::Unauthorized, "unauthorized"),
        (EmitOutcome::Forbidden, "forbidden"),
        (EmitOutcome::TooLarge, "too_large"),
        (EmitOutcome::RateLimited, "rate_limited"),
        (EmitOutcome::Unavailable, "unavailable"),
        (EmitOutcome::Unknown, "unknown"),
    ];

    /// By the status that the caller is answered.
    pub fn of_status(status: StatusCode) -> EmitOutcome {
        match status {
            StatusCode::UNAUTHORIZED => EmitOutcome::Unauthorized,
            StatusCode::FORBIDDEN => EmitOutcome::Forbidden,
            StatusCode::PAYLOAD_TOO_LARGE => EmitOutcome::TooLarge,
            StatusCode::TOO_MANY_REQUESTS => EmitOutcome::RateLimited,
            StatusCode::SERVICE_UNAVAILABLE => EmitOutcome::Unavailable,
            StatusCode::GATEWAY_TIMEOUT => EmitOutcome::Unknown,
            _ => EmitOutcome::Invalid,
        }
    }
}

/// What became of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upgrade {
    Accepted,
    TokenRefused,
    Malformed,
    OriginRefused,
    TooMany,
    Unavailable,
}

impl Upgrade {
    const ALL: [(Upgrade, &'static str); 6] = [
        (Upgrade::Accepted, "accepted"),
        (Upgrade::TokenRefused, "token_refused"),
        (Upgrade::Malformed, "malformed"),
        (Upgrade::OriginRefused, "origin_refused"),
        (Upgrade::TooMany, "too_many"),
        (Upgrade::Unavailable, "unavailable"),
    ];

    /// Of a handshake that was in order.
    pub fn of_outcome(outcome: &HandshakeOutcome) -> Upgrade {
        match outcome {
            HandshakeOutcome::Accepted(_) => Upgrade::Accepted,
            HandshakeOutcome::Refused(_) => Upgrade::TokenRefused,
        }
    }

    /// Of a refused one, by its status.
    pub fn of_status(status: StatusCode) -> Upgrade {
        match status {
            StatusCode::FORBIDDEN => Upgrade::OriginRefused,
            StatusCode::TOO_MANY_REQUESTS => Upgrade::TooMany,
            StatusCode::SERVICE_UNAVAILABLE => Upgrade::Unavailable,
            _ => Upgrade::Malformed,
        }
    }
}

/// The counters of the HTTP server and of the broker's, ready to be shown.
pub struct Metrics {
    registry: Registry,
    app_state: Arc<HttpCounters>,
    emit_seconds: Histogram,
}

#[derive(Debug, Default)]
struct HttpCounters {
    emits: [AtomicU64; EmitOutcome::ALL.len()],
    upgrades: [AtomicU64; Upgrade::ALL.len()],
}

impl Metrics {
    /// Shows the broker's counters, the bus's health, the failed look-ups in the catalogue and what the system tells beside
    /// The HTTP server's own counters.
    pub fn new(
        broker: Arc<Counters>,
        bus_health: Arc<BusHealth>,
        catalogue_failures: Arc<Counter>,
        system: SystemGauges,
    ) -> Metrics {
        let app_state = Arc::new(HttpCounters::default());
        let emit_seconds = Histogram::new(EMIT_SECONDS);
        let mut registry = Registry::default();
        registry.register(MetricName::EmitSeconds.as_str(), MetricName::EmitSeconds.help(), emit_seconds.clone());
        let collected = Collected { broker, bus_health, app_state: app_state.clone(), catalogue_failures, system };
        registry.register_collector(Box::new(collected));
        Metrics { registry, app_state, emit_seconds }
    }

    /// Counts an emit.
    pub fn count_emit(&self, outcome: EmitOutcome) {
        self.app_state.emits[outcome as usize].fetch_add(1, Relaxed);
    }

    /// Counts an upgrade.
    pub fn count_upgrade(&self, outcome: Upgrade) {
        self.app_state.upgrades[outcome as usize].fetch_add(1, Relaxed);
    }

    /// Notes how long an emit call took.
    pub fn observe_emit(&self, duration: Duration) {
        self.emit_seconds.observe(duration.as_secs_f64());
    }

    /// The page of `/metrics`.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Reads the atomics when the page is asked for.
struct Collected {
    broker: Arc<Counters>,
    bus_health: Arc<BusHealth>,
    app_state: Arc<HttpCounters>,
    catalogue_failures: Arc<Counter>,
    system: SystemGauges,
}

impl fmt::Debug for Collected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Collected").finish_non_exhaustive()
    }
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let broker = &self.broker;
        gauge(&mut encoder, MetricName::Sessions, broker.sessions.value())?;
        gauge(&mut encoder, MetricName::Subscriptions, broker.subscriptions.value())?;
        gauge(&mut encoder, MetricName::Channels, broker.channels.value())?;
        gauge(&mut encoder, MetricName::SessionQueueBytes, broker.session_queue_bytes.value())?;
        gauge(&mut encoder, MetricName::BusQueueBytes, broker.bus_queue_bytes.value())?;
        gauge(&mut encoder, MetricName::BusReady, self.bus_health.is_ready().into())?;
        gauge(&mut encoder, MetricName::Nodes, broker.nodes.value())?;
        for (told, value) in self.system.read() {
            gauge(&mut encoder, MetricName::of_system(told), value)?;
        }
        counter(&mut encoder, MetricName::BusLosses, broker.bus_losses.value())?;
        let gaps = GapReason::ALL.into_iter().map(|reason| (reason.as_str().to_lowercase(), broker.gaps(reason)));
        family(&mut encoder, MetricName::Gaps, "reason", gaps)?;
        counter(&mut encoder, MetricName::Notifications, broker.notifications.value())?;
        counter(&mut encoder, MetricName::ConditionDrops, broker.condition_drops.value())?;
        counter(&mut encoder, MetricName::CatalogueFailures, self.catalogue_failures.value())?;
        counter(&mut encoder, MetricName::ProjectChanges, broker.project_changes.value())?;
        let closes = CloseCause::all().map(|ending| (ending.label(), broker.closes(ending)));
        family(&mut encoder, MetricName::Closes, "code", closes)?;
        let limits = Limit::ALL.into_iter().map(|limit| (limit.as_str().to_owned(), broker.limits(limit)));
        family(&mut encoder, MetricName::Limits, "limit", limits)?;
        let labelled = |counts: &[AtomicU64], labels: Vec<&'static str>| -> Vec<(String, u64)> {
            labels.into_iter().zip(counts).map(|(label, count)| (label.to_owned(), count.load(Relaxed))).collect()
        };
        let emits = labelled(&self.app_state.emits, EmitOutcome::ALL.map(|(_, label)| label).to_vec());
        family(&mut encoder, MetricName::Emits, "outcome", emits)?;
        let upgrades = labelled(&self.app_state.upgrades, Upgrade::ALL.map(|(_, label)| label).to_vec());
        family(&mut encoder, MetricName::Upgrades, "outcome", upgrades)
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: MetricName, value: u64) -> fmt::Result {
    let metric = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
    let encoder = encoder.encode_descriptor(name.as_str(), name.help(), None, metric.metric_type())?;
    metric.encode(encoder)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: MetricName, value: u64) -> fmt::Result {
    let metric = ConstCounter::new(value);
    let encoder = encoder.encode_descriptor(name.as_str(), name.help(), None, metric.metric_type())?;
    metric.encode(encoder)
}

fn family(
    encoder: &mut DescriptorEncoder<'_>,
    name: MetricName,
    label: &'static str,
    values: impl IntoIterator<Item = (String, u64)>,
) -> fmt::Result {
    let kind = ConstCounter::new(0u64).metric_type();
    let mut encoder = encoder.encode_descriptor(name.as_str(), name.help(), None, kind)?;
    for (value, count) in values {
        ConstCounter::new(count).encode(encoder.encode_family(&[(label, value)])?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SystemFiles;

    #[test]
    fn the_page_shows_every_metric_and_ends_as_openmetrics_wants() {
        let broker = Arc::new(Counters::default());
        broker.sessions.add(3);
        let system = SystemGauges::new(SystemFiles::of_this_machine(), 18_622);
        let metrics = Metrics::new(broker, Arc::new(BusHealth::always()), Arc::default(), system);
        metrics.count_emit(EmitOutcome::Duplicate);
        let text = metrics.text().expect("a page");
        assert!(text.contains("carillon_sessions 3"), "{text}");
        assert!(text.contains("carillon_emits_total{outcome=\"duplicate\"} 1"), "{text}");
        assert!(text.contains("carillon_bus_ready 1"), "{text}");
        assert!(text.contains("carillon_sessions_limit 18622"), "{text}");
        assert!(text.contains("carillon_gaps_total{reason=\"bus_reconnected\"} 0"), "{text}");
        assert!(text.contains("carillon_closes_total{code=\"4430\"} 0"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn every_outcome_stands_at_its_own_number() {
        assert!(EmitOutcome::ALL.iter().enumerate().all(|(place, (outcome, _))| *outcome as usize == place));
        assert!(Upgrade::ALL.iter().enumerate().all(|(place, (outcome, _))| *outcome as usize == place));
    }
}
