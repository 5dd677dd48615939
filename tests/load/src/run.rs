//! One run: the server, the crew, and the time that is measured between two looks at both.

use crate::counts::{Counter, Counts};
use crate::credentials::{self, CredentialsError};
use crate::crew::{Crew, CrewError, Total, gone};
use crate::dialects::{DialectSpec, Protocol};
use crate::interrupt::is_interrupted;
use crate::options::Common;
use crate::orders::Order;
use crate::plan::Plan;
use crate::progress::Progress;
use crate::report::{Report, written};
use crate::server::{Server, ServerError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often counts are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long clients may take to come, without one more coming.
const STANDSTILL: Duration = Duration::from_secs(30);

/// Why a run has no result.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    Crew(#[from] CrewError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("what was measured can't be told: {0}")]
    Report(#[from] std::io::Error),
    #[error("{0}")]
    Options(&'static str),
    #[error("only {live} of {wanted} clients are registered, {gone} were refused or lost: {counts:?}")]
    Incomplete { live: u64, wanted: u64, gone: u64, counts: Box<Counts> },
}

/// A run that goes on.
pub struct Run {
    pub server: Server,
    pub crew: Crew,
}

/// What was measured between two looks.
#[derive(Debug)]
pub struct Measured {
    pub counts: Counts,
    pub total: Total,
    pub seconds: f64,
    pub server_cpu: Option<f64>,
    pub own_cpu: f64,
}

/// What a crew is made for, by the command line; events of this run bear `run`.
pub fn plan(common: &Common, clients: u32, audience_size: u32, run: Option<u32>) -> Result<Plan, RunError> {
    if audience_size == 0 || !clients.is_multiple_of(audience_size) {
        return Err(RunError::Options("the clients must be a multiple of an audience"));
    }
    if common.plain && (common.protocol != Protocol::Carillon || audience_size != clients) {
        return Err(RunError::Options("--plain is for a broadcast to all, with the carillon protocol"));
    }
    Ok(Plan {
        dialect: DialectSpec {
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
        apart: None,
    })
}

impl Run {
    /// Connects clients until there are so many, each process its part.
    ///
    /// # Errors
    /// [`RunError::Incomplete`] where some can't be had.
    pub fn hold(&mut self, clients: u32, of: u32, at_once: u32, returns: bool) -> Result<(), RunError> {
        let processes = self.crew.pids().len() as u32;
        let at_once = at_once.div_ceil(processes);
        self.crew.order(|_, share| {
            let part = u64::from(share.end - share.start) * u64::from(clients) / u64::from(of);
            Order::Hold { clients: part as u32, at_once, returns }
        })?;
        // Parts are rounded down: what is missing is less than a client a process.
        let wanted: u64 = self
            .crew
            .shares()
            .iter()
            .map(|share| u64::from(share.end - share.start) * u64::from(clients) / u64::from(of))
            .sum();
        let mut progress = Progress::new("connecting", wanted);
        let (mut last, mut moved) = (0, Instant::now());
        loop {
            let counts = self.crew.counts(LOOK)?;
            progress.show(counts.live, || format!("{} clients", written(counts.live as f64)));
            if counts.live >= wanted {
                return Ok(());
            }
            if counts.live != last {
                (last, moved) = (counts.live, Instant::now());
            }
            let gone = gone(&counts);
            if is_interrupted() || counts.live + gone >= wanted || moved.elapsed() > STANDSTILL {
                return Err(RunError::Incomplete { live: counts.live, wanted, gone, counts: Box::new(counts) });
            }
        }
    }

    /// Waits, showing how the counter's rate is; ends early when interrupted.
    ///
    /// # Errors
    /// [`RunError`], where a process has ended.
    pub fn wait(&mut self, title: &'static str, seconds: f64, counter: Counter) -> Result<(), RunError> {
        let start = Instant::now();
        let time = Duration::from_secs_f64(seconds);
        let mut progress = Progress::new(title, time.as_millis() as u64);
        let before = self.crew.counts(Duration::ZERO)?.of(counter);
        while start.elapsed() < time && !is_interrupted() {
            let counts = self.crew.counts(LOOK.min(time.saturating_sub(start.elapsed())))?;
            let passed = start.elapsed();
            progress.show(passed.as_millis() as u64, || {
                format!("{}/s", written((counts.of(counter) - before) as f64 / passed.as_secs_f64()))
            });
        }
        Ok(())
    }

    /// Measures for so long.
    ///
    /// # Errors
    /// [`RunError`], where a process has ended.
    pub fn measure(&mut self, title: &'static str, seconds: f64, counter: Counter) -> Result<Measured, RunError> {
        let before = self.crew.measure()?;
        let (server, own, start) = (self.server.cpu_seconds(), self.crew.cpu_seconds(), Instant::now());
        self.wait(title, seconds, counter)?;
        let total = self.crew.report()?;
        let (seconds, own_cpu) = (start.elapsed().as_secs_f64(), self.crew.cpu_seconds() - own);
        let server_cpu = self.server.cpu_seconds().zip(server).map(|(after, before)| after - before);
        Ok(Measured { counts: total.counts.since(&before), total, seconds, server_cpu, own_cpu })
    }

    /// Waits until `is_done` or the time is over; the last counts.
    ///
    /// # Errors
    /// [`RunError`], where a process has ended.
    pub fn settle(&mut self, seconds: f64, is_done: impl Fn(&Counts) -> bool) -> Result<Counts, RunError> {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        loop {
            let counts = self.crew.report()?.counts;
            if is_done(&counts) || Instant::now() > until {
                return Ok(counts);
            }
            self.crew.counts(LOOK)?;
        }
    }

    /// Lets every client say goodbye, and gives the last counts.
    ///
    /// # Errors
    /// [`RunError`], where a process has ended.
    pub fn leave(&mut self) -> Result<Counts, RunError> {
        self.crew.order(|_, _| Order::Leave)?;
        self.settle(10.0, |counts| counts.live == 0)
    }
}

impl Measured {
    /// Rates of a counter: by the clock, and by the CPU seconds of the server.
    pub fn rates(&self, counter: Counter, name: &str, words: &str, report: &mut Report) {
        let count = self.counts.of(counter) as f64;
        report.figure(&format!("{name}_per_second"), &format!("{words} a second"), count / self.seconds);
        let by_cpu = self.server_cpu.map(|cpu| count / cpu);
        report.maybe(&format!("{name}_per_server_cpu_second"), &format!("{words} per server CPU second"), by_cpu);
    }

    /// How long it was, and what it took.
    pub fn times(&self, report: &mut Report) {
        report.figure("seconds", "seconds", self.seconds);
        report.maybe("server_cpu_seconds", "server CPU seconds", self.server_cpu);
        report.figure("own_cpu_seconds", "the load's own CPU seconds", self.own_cpu);
    }
}
