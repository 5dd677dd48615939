//! The page of `/metrics`. Metric names come from one list, and no label holds anything that a peer sent.
//!
//! | file | job |
//! | --- | --- |
//! | `names.rs` | every metric of the node: its name and its help |
//! | `outcomes.rs` | the outcomes of emits and upgrades, as labels |
//! | `counts.rs` | reads the node's counters for the page |
//! | `process.rs` | the `process_*` metrics |
//! | `build_info.rs` | the version of the program |
//! | `format.rs` | the two text formats, and which one a client gets |
//!
//! Imports point one way: `http` counts here, and this module never imports `http`.

mod build_info;
mod counts;
mod format;
mod names;
mod outcomes;
mod process;

pub use format::Format;
pub use outcomes::{EmitOutcome, UpgradeOutcome};

use crate::limits::SystemGauges;
use actors::bus::BusHealth;
use actors::counters::{Counter, Counters};
use counts::{Counts, HttpCounters};
use names::MetricName;
use process::ProcessMetrics;
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Upper bounds of the emit histogram, in seconds: from a tenth of the target to the timeout of an impatient caller.
const EMIT_SECONDS: [f64; 12] = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Everything that `/metrics` shows.
pub struct Metrics {
    registry: Registry,
    http: Arc<HttpCounters>,
    emit_seconds: Histogram,
}

impl Metrics {
    /// Shows the counters of the broker and of the HTTP server, the health of the bus, failed lookups in the catalogue,
    /// and the numbers of the system and of the process.
    pub fn new(
        broker: Arc<Counters>,
        bus_health: Arc<BusHealth>,
        catalogue_failures: Arc<Counter>,
        system: SystemGauges,
    ) -> Metrics {
        let http = Arc::new(HttpCounters::default());
        let emit_seconds = Histogram::new(EMIT_SECONDS);
        let counts = Counts { broker, bus_health, http: http.clone(), catalogue_failures, system };
        let mut registry = Registry::default();
        registry.register_collector(Box::new(counts));
        let name = MetricName::EmitSeconds;
        registry.register(name.as_str(), name.help(), emit_seconds.clone());
        registry.register_collector(Box::new(ProcessMetrics::of_this_process()));
        build_info::register(&mut registry);
        Metrics { registry, http, emit_seconds }
    }

    /// Counts an emit.
    pub fn count_emit(&self, outcome: EmitOutcome) {
        self.http.emits[outcome as usize].fetch_add(1, Relaxed);
    }

    /// Counts an upgrade.
    pub fn count_upgrade(&self, outcome: UpgradeOutcome) {
        self.http.upgrades[outcome as usize].fetch_add(1, Relaxed);
    }

    /// Records how long an emit call took.
    pub fn observe_emit(&self, duration: Duration) {
        self.emit_seconds.observe(duration.as_secs_f64());
    }

    /// Writes the page. It may read directories of `/proc`, so it does not belong on a worker thread.
    pub fn page(&self, format: Format) -> Result<String, fmt::Error> {
        let mut page = String::new();
        match format {
            Format::Prometheus => prometheus_text::encode(&mut page, &self.registry)?,
            Format::OpenMetrics => text::encode(&mut page, &self.registry)?,
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::SystemFiles;

    fn metrics() -> Metrics {
        let broker = Arc::new(Counters::default());
        broker.sessions.add(3);
        let system = SystemGauges::new(SystemFiles::of_this_machine(), 18_622);
        let metrics = Metrics::new(broker, Arc::new(BusHealth::always()), Arc::default(), system);
        metrics.count_emit(EmitOutcome::Duplicate);
        metrics
    }

    #[test]
    fn both_formats_show_the_same_values() {
        let metrics = metrics();
        for format in [Format::Prometheus, Format::OpenMetrics] {
            let page = metrics.page(format).expect("a page");
            for line in [
                "carillon_sessions 3",
                "carillon_emits_total{outcome=\"duplicate\"} 1",
                "carillon_bus_ready 1",
                "carillon_sessions_limit 18622",
                "carillon_gaps_total{reason=\"bus_reconnected\"} 0",
                "carillon_closes_total{code=\"4430\"} 0",
                "carillon_emit_seconds_count 0",
            ] {
                assert!(page.lines().any(|shown| shown == line), "{line} is missing in\n{page}");
            }
        }
    }

    #[test]
    fn only_openmetrics_text_ends_with_eof_and_names_counters_without_their_suffix() {
        let metrics = metrics();
        let open_metrics = metrics.page(Format::OpenMetrics).expect("a page");
        assert!(open_metrics.ends_with("# EOF\n") && open_metrics.contains("# TYPE carillon_emits counter\n"));
        let prometheus = metrics.page(Format::Prometheus).expect("a page");
        assert!(!prometheus.contains("# EOF") && prometheus.contains("# TYPE carillon_emits_total counter\n"));
    }
}
