//! One run: the server, the workers, and the measurement between two samples of both.

use crate::counts::{Counter, Counts};
use crate::credentials::{self, CredentialsError};
use crate::instructions::Instruction;
use crate::interrupt::is_interrupted;
use crate::options::Common;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::protocols::{Protocol, ProtocolSpec};
use crate::report::{Report, format_number};
use crate::server::{Server, ServerError};
use crate::worker_pool::{Total, WorkerPool, WorkerPoolError, failures};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The interval of checks of the counts.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a run waits while no further client connects.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    WorkerPool(#[from] WorkerPoolError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("the result can't be written: {0}")]
    Report(#[from] std::io::Error),
    #[error("{0}")]
    Options(&'static str),
    #[error("only {live} of {wanted} clients are registered, {failures} were refused or lost: {counts:?}")]
    Incomplete { live: u64, wanted: u64, failures: u64, counts: Box<Counts> },
}

/// A run in progress.
pub struct Run {
    pub server: Server,
    pub workers: WorkerPool,
}

/// The measurement between two samples.
#[derive(Debug)]
pub struct Measured {
    pub counts: Counts,
    pub total: Total,
    pub seconds: f64,
    pub server_cpu: Option<f64>,
    pub own_cpu: f64,
}

/// The plan that the command line asks for. The events of this run carry the number `run`.
pub fn plan(common: &Common, clients: u32, audience_size: u32, run: Option<u32>) -> Result<Plan, RunError> {
    if audience_size == 0 || !clients.is_multiple_of(audience_size) {
        return Err(RunError::Options("the number of clients must be a multiple of the audience"));
    }
    if common.plain && (common.protocol != Protocol::Carillon || audience_size != clients) {
        return Err(RunError::Options("--plain needs a broadcast to all clients and the carillon protocol"));
    }
    Ok(Plan {
        protocol: ProtocolSpec {
            protocol: common.protocol,
            project: common.project.clone(),
            event: common.event.clone(),
            credentials: credentials::find(common)?,
            is_plain: common.plain,
            payload: common.payload,
        },
        targets: common.target.clone(),
        emit_targets: common.target.clone(),
        clients,
        processes: common.processes,
        sources: common.sources,
        audience_size,
        run: run.unwrap_or_else(std::process::id),
        late: Duration::from_secs(1),
        number_gap: None,
    })
}

impl Run {
    /// Connects clients until `clients` are registered. Each process connects its share.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] if some clients can't connect.
    pub fn hold(&mut self, clients: u32, of: u32, at_once: u32, returns: bool) -> Result<(), RunError> {
        let processes = self.workers.pids().len() as u32;
        let at_once = at_once.div_ceil(processes);
        self.workers.instruct(|_, share| {
            let part = u64::from(share.end - share.start) * u64::from(clients) / u64::from(of);
            Instruction::Hold { clients: part as u32, at_once, returns }
        })?;
        // Shares are rounded down: less than one client per process is missing.
        let wanted: u64 = self
            .workers
            .shares()
            .iter()
            .map(|share| u64::from(share.end - share.start) * u64::from(clients) / u64::from(of))
            .sum();
        let mut progress = Progress::new("connecting", wanted);
        let (mut last, mut moved) = (0, Instant::now());
        loop {
            let counts = self.workers.counts(POLL_INTERVAL)?;
            progress.show(counts.live, || format!("{} clients", format_number(counts.live as f64)));
            if counts.live >= wanted {
                return Ok(());
            }
            if counts.live != last {
                (last, moved) = (counts.live, Instant::now());
            }
            let failures = failures(&counts);
            if is_interrupted() || counts.live + failures >= wanted || moved.elapsed() > PROGRESS_TIMEOUT {
                return Err(RunError::Incomplete { live: counts.live, wanted, failures, counts: Box::new(counts) });
            }
        }
    }

    /// Waits and shows the rate of the counter. Returns early when interrupted.
    ///
    /// # Errors
    /// [`RunError`], if a process has ended.
    pub fn wait(&mut self, title: &'static str, seconds: f64, counter: Counter) -> Result<(), RunError> {
        let start = Instant::now();
        let time = Duration::from_secs_f64(seconds);
        let mut progress = Progress::new(title, time.as_millis() as u64);
        let before = self.workers.counts(Duration::ZERO)?.of(counter);
        while start.elapsed() < time && !is_interrupted() {
            let counts = self.workers.counts(POLL_INTERVAL.min(time.saturating_sub(start.elapsed())))?;
            let passed = start.elapsed();
            progress.show(passed.as_millis() as u64, || {
                format!("{}/s", format_number((counts.of(counter) - before) as f64 / passed.as_secs_f64()))
            });
        }
        Ok(())
    }

    /// Measures for `seconds`.
    ///
    /// # Errors
    /// [`RunError`], if a process has ended.
    pub fn measure(&mut self, title: &'static str, seconds: f64, counter: Counter) -> Result<Measured, RunError> {
        let before = self.workers.measure()?;
        let (server, own, start) = (self.server.cpu_seconds(), self.workers.cpu_seconds(), Instant::now());
        self.wait(title, seconds, counter)?;
        let total = self.workers.report()?;
        let (seconds, own_cpu) = (start.elapsed().as_secs_f64(), self.workers.cpu_seconds() - own);
        let server_cpu = self.server.cpu_seconds().zip(server).map(|(after, before)| after - before);
        Ok(Measured { counts: total.counts.since(&before), total, seconds, server_cpu, own_cpu })
    }

    /// Waits until `is_done` or until the time is over. Returns the last counts.
    ///
    /// # Errors
    /// [`RunError`], if a process has ended.
    pub fn settle(&mut self, seconds: f64, is_done: impl Fn(&Counts) -> bool) -> Result<Counts, RunError> {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        loop {
            let counts = self.workers.report()?.counts;
            if is_done(&counts) || Instant::now() > until {
                return Ok(counts);
            }
            self.workers.counts(POLL_INTERVAL)?;
        }
    }

    /// Closes all clients, and returns the last counts.
    ///
    /// # Errors
    /// [`RunError`], if a process has ended.
    pub fn leave(&mut self) -> Result<Counts, RunError> {
        self.workers.instruct(|_, _| Instruction::Leave)?;
        self.settle(10.0, |counts| counts.live == 0)
    }
}

impl Measured {
    /// Reports the rates of a counter: per second, and per CPU second of the server.
    pub fn rates(&self, counter: Counter, name: &str, label: &str, report: &mut Report) {
        let count = self.counts.of(counter) as f64;
        report.figure(&format!("{name}_per_second"), &format!("{label} per second"), count / self.seconds);
        let by_cpu = self.server_cpu.map(|cpu| count / cpu);
        report.optional_figure(
            &format!("{name}_per_server_cpu_second"),
            &format!("{label} per server CPU second"),
            by_cpu,
        );
    }

    /// Reports the duration and the CPU seconds.
    pub fn times(&self, report: &mut Report) {
        report.figure("seconds", "seconds", self.seconds);
        report.optional_figure("server_cpu_seconds", "server CPU seconds", self.server_cpu);
        report.figure("own_cpu_seconds", "CPU seconds of the load tool", self.own_cpu);
    }
}
