//! Reads the node's counters when the page is requested.

use super::names::MetricName;
use super::outcomes::{EmitOutcome, UpgradeOutcome};
use crate::limits::SystemGauges;
use actors::bus::BusHealth;
use actors::counters::{CloseCause, Counter, Counters, Limit};
use actors::protocol::codes::GapReason;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The HTTP server's own counters.
#[derive(Debug, Default)]
pub(super) struct HttpCounters {
    pub emits: [AtomicU64; EmitOutcome::ALL.len()],
    pub upgrades: [AtomicU64; UpgradeOutcome::ALL.len()],
}

/// The sources of the page.
pub(super) struct Counts {
    pub broker: Arc<Counters>,
    pub bus_health: Arc<BusHealth>,
    pub http: Arc<HttpCounters>,
    pub catalogue_failures: Arc<Counter>,
    pub system: SystemGauges,
}

impl fmt::Debug for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Counts").finish_non_exhaustive()
    }
}

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.gauges(&mut encoder)?;
        self.counters(&mut encoder)?;
        self.families(&mut encoder)
    }
}

impl Counts {
    fn gauges(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let broker = &self.broker;
        let node = [
            (MetricName::Sessions, broker.sessions.value()),
            (MetricName::Subscriptions, broker.subscriptions.value()),
            (MetricName::Channels, broker.channels.value()),
            (MetricName::SessionQueueBytes, broker.session_queue_bytes.value()),
            (MetricName::SessionBurstBytes, broker.session_burst_bytes.value()),
            (MetricName::BusQueueBytes, broker.bus_queue_bytes.value()),
            (MetricName::BusReady, self.bus_health.is_ready().into()),
            (MetricName::Nodes, broker.nodes.value()),
        ];
        let system = self.system.read().map(|(gauge, value)| (MetricName::of_system(gauge), value));
        node.into_iter().chain(system).try_for_each(|(name, value)| metric(encoder, name, &ConstGauge::new(value)))
    }

    fn counters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let broker = &self.broker;
        let counters = [
            (MetricName::BusLosses, broker.bus_losses.value()),
            (MetricName::Notifications, broker.notifications.value()),
            (MetricName::ConditionDrops, broker.condition_drops.value()),
            (MetricName::CatalogueFailures, self.catalogue_failures.value()),
            (MetricName::ProjectChanges, broker.project_changes.value()),
        ];
        counters.into_iter().try_for_each(|(name, value)| metric(encoder, name, &ConstCounter::new(value)))
    }

    fn families(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let broker = &self.broker;
        let gaps = GapReason::ALL.into_iter().map(|reason| (reason.as_str().to_lowercase(), broker.gaps(reason)));
        family(encoder, MetricName::Gaps, "reason", gaps)?;
        let closes = CloseCause::all().map(|cause| (cause.label(), broker.closes(cause)));
        family(encoder, MetricName::Closes, "code", closes)?;
        let limits = Limit::ALL.into_iter().map(|limit| (limit.as_str().to_owned(), broker.limits(limit)));
        family(encoder, MetricName::Limits, "limit", limits)?;
        let emits = EmitOutcome::ALL.iter().zip(&self.http.emits);
        let emits = emits.map(|((_, label), count)| ((*label).to_owned(), count.load(Relaxed)));
        family(encoder, MetricName::Emits, "outcome", emits)?;
        let upgrades = UpgradeOutcome::ALL.iter().zip(&self.http.upgrades);
        let upgrades = upgrades.map(|((_, label), count)| ((*label).to_owned(), count.load(Relaxed)));
        family(encoder, MetricName::Upgrades, "outcome", upgrades)
    }
}

fn metric(encoder: &mut DescriptorEncoder<'_>, name: MetricName, metric: &impl EncodeMetric) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name.as_str(), name.help(), None, metric.metric_type())?)
}

/// Writes one counter for each value of a label.
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
