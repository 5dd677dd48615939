//! Every metric of the node: its name and its help. Those of the process are in `process.rs`, as they are the same for
//! every program.

use crate::limits::Gauge;

/// The name and help of the program's version. The formats add `_info`.
pub(super) const BUILD_INFO: (&str, &str) = ("carillon_build", "Version of the program. The value is always 1");

/// A metric. The formats add `_total` to the names of counters.
#[derive(Clone, Copy, Debug)]
pub(super) enum MetricName {
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
    SessionBurstBytes,
    BusQueueBytes,
    BusReady,
    BusLosses,
    Gaps,
    CatalogueFailures,
    ProjectChanges,
    Nodes,
    SessionsLimit,
    TcpMemoryBytes,
    TcpMemoryLimitBytes,
    TrackedConnections,
    TrackedConnectionsLimit,
}

impl MetricName {
    pub const fn of_system(gauge: Gauge) -> MetricName {
        match gauge {
            Gauge::SessionLimit => MetricName::SessionsLimit,
            Gauge::TcpMemoryBytes => MetricName::TcpMemoryBytes,
            Gauge::TcpMemoryLimitBytes => MetricName::TcpMemoryLimitBytes,
            Gauge::TrackedConnections => MetricName::TrackedConnections,
            Gauge::TrackedConnectionsLimit => MetricName::TrackedConnectionsLimit,
        }
    }

    pub const fn as_str(self) -> &'static str {
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
            MetricName::SessionBurstBytes => "carillon_session_burst_bytes",
            MetricName::BusQueueBytes => "carillon_bus_queue_bytes",
            MetricName::BusReady => "carillon_bus_ready",
            MetricName::BusLosses => "carillon_bus_losses",
            MetricName::Gaps => "carillon_gaps",
            MetricName::CatalogueFailures => "carillon_catalogue_failures",
            MetricName::ProjectChanges => "carillon_project_changes",
            MetricName::Nodes => "carillon_nodes",
            MetricName::SessionsLimit => "carillon_sessions_limit",
            MetricName::TcpMemoryBytes => "carillon_tcp_memory_bytes",
            MetricName::TcpMemoryLimitBytes => "carillon_tcp_memory_limit_bytes",
            MetricName::TrackedConnections => "carillon_tracked_connections",
            MetricName::TrackedConnectionsLimit => "carillon_tracked_connections_limit",
        }
    }

    pub const fn help(self) -> &'static str {
        match self {
            MetricName::Sessions => "Open WebSocket sessions, including those that are closing",
            MetricName::Subscriptions => "Registered subscriptions",
            MetricName::Channels => "Events with subscribers on this node",
            MetricName::Emits => "Emits by outcome. Each item of a batch counts",
            MetricName::EmitSeconds => "Seconds from the head of an emit call to its answer",
            MetricName::Notifications => "Notifications that were written to the operating system as a whole",
            MetricName::ConditionDrops => "Subscriptions whose condition did not match an emit of their event",
            MetricName::Closes => "Ended sessions by close code. 1006 is an end without a close code",
            MetricName::Limits => "Refusals and closes by the limit that caused them",
            MetricName::Upgrades => "WebSocket upgrades by outcome",
            MetricName::SessionQueueBytes => "Bytes that wait in sessions for their sockets",
            MetricName::SessionBurstBytes => "Bytes of emits that may exceed the send buffers of their sessions",
            MetricName::BusQueueBytes => "Bytes of event data that wait between the bus and the sessions",
            MetricName::BusReady => "1 while the node can publish on its bus and receive from it",
            MetricName::BusLosses => "Lost connections to the bus",
            MetricName::Gaps => "GAP messages sent to subscriptions, by reason",
            MetricName::CatalogueFailures => "Failed lookups in the catalogue",
            MetricName::ProjectChanges => "Projects that were read again after a change of the catalogue",
            MetricName::Nodes => "Nodes that announced themselves on the bus lately, including this one",
            MetricName::SessionsLimit => "Maximum number of sessions of this node",
            MetricName::TcpMemoryBytes => "Memory that TCP uses on the machine or in its container, in bytes",
            MetricName::TcpMemoryLimitBytes => "Memory that TCP may use, in bytes",
            MetricName::TrackedConnections => "Connections that the firewall tracks",
            MetricName::TrackedConnectionsLimit => "Maximum number of connections that the firewall tracks",
        }
    }
}
