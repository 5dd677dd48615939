//! The `process_*` metrics that every Prometheus client library shows, read from `/proc` for each page.

use procfs::process::{LimitValue, Process, Stat};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

/// Reads the metrics of this process.
#[derive(Debug)]
pub struct ProcessMetrics {
    /// Read once: the kernel derives the time of its boot from the clock, which may be set later.
    start_seconds: Option<f64>,
}

impl ProcessMetrics {
    /// The metrics of the process that runs this code.
    pub fn of_this_process() -> ProcessMetrics {
        let stat = Process::myself().and_then(|process| process.stat());
        ProcessMetrics { start_seconds: stat.ok().and_then(|stat| start_seconds(&stat)) }
    }
}

/// The time of the process's start, in seconds since 1970.
fn start_seconds(stat: &Stat) -> Option<f64> {
    Some(procfs::boot_time_secs().ok()? as f64 + seconds(stat.starttime))
}

/// Clock ticks in seconds.
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

impl Collector for ProcessMetrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page { encoder };
        if let Some(start) = self.start_seconds {
            page.gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970", start)?;
        }
        // Where `/proc` is hidden, its metrics are missing rather than 0.
        let Ok(process) = Process::myself() else {
            return Ok(());
        };
        if let Ok(stat) = process.stat() {
            page.stat(&stat)?;
        }
        if let Ok(count) = process.fd_count() {
            page.gauge("process_open_fds", "Open file descriptors", count as f64)?;
        }
        if let Ok(limits) = process.limits()
            && let LimitValue::Value(most) = limits.max_open_files.soft_limit
        {
            page.gauge("process_max_fds", "Maximum number of open file descriptors", most as f64)?;
        }
        Ok(())
    }
}

/// The page that the metrics are written to.
struct Page<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl Page<'_> {
    fn stat(&mut self, stat: &Stat) -> fmt::Result {
        let processor = ConstCounter::new(seconds(stat.utime + stat.stime));
        self.metric("process_cpu_seconds", "User and system processor time, in seconds", &processor)?;
        let resident = stat.rss.saturating_mul(procfs::page_size());
        self.gauge("process_resident_memory_bytes", "Resident memory, in bytes", resident as f64)?;
        self.gauge("process_virtual_memory_bytes", "Virtual memory, in bytes", stat.vsize as f64)?;
        self.gauge("process_threads", "Threads of the process", stat.num_threads as f64)
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.metric(name, help, &ConstGauge::new(value))
    }

    fn metric(&mut self, name: &str, help: &str, metric: &impl EncodeMetric) -> fmt::Result {
        metric.encode(self.encoder.encode_descriptor(name, help, None, metric.metric_type())?)
    }
}
