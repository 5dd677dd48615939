//! `churn`: clients connect, receive the greeting, register and disconnect, over and over.

use crate::counts::{Counter, Timing};
use crate::instructions::Instruction;
use crate::options::ChurnOptions;
use crate::report::Report;
use crate::run::{Run, RunError, plan};
use crate::server::Server;
use crate::worker_pool::WorkerPool;

/// The distance between the client numbers of two processes, so that they never overlap.
const NUMBER_GAP: u32 = 50_000_000;
/// The default number of source addresses. With one, all its ports would soon be in use.
const SOURCES: u8 = 8;
/// Timeout for the last clients to disconnect, in seconds.
const LEAVE_TIMEOUT: f64 = 10.0;

pub fn run(options: &ChurnOptions) -> Result<(), RunError> {
    let server = Server::open(&options.common)?;
    let mut plan = plan(&options.common, options.clients, 1, None)?;
    plan.number_gap = Some(NUMBER_GAP);
    if plan.sources == 0 {
        plan.sources = SOURCES;
    }
    let mut run = Run { server, workers: WorkerPool::start(&plan)? };
    run.workers.instruct(|_, share| Instruction::Churn { at_once: share.end - share.start })?;
    run.wait("warming up", options.warm_up, Counter::Left)?;
    let measured = run.measure("churn", options.duration, Counter::Left)?;
    run.workers.instruct(|_, _| Instruction::Pause)?;
    let last = run.settle(LEAVE_TIMEOUT, |counts| counts.live == 0 && ends(counts) == counts.of(Counter::Dialed))?;

    let mut report = Report::new("churn");
    measured.times(&mut report);
    measured.rates(Counter::Left, "clients", "clients", &mut report);
    let timings = &measured.total.timings;
    report.timing(Timing::Tcp, "TCP connection", timings);
    report.timing(Timing::Connected, "then the greeting", timings);
    report.timing(Timing::Registered, "then the registration", timings);
    report.timing(Timing::Left, "then the close", timings);
    report.timing(Timing::Cycle, "all together", timings);
    report.counts(&measured.counts, &last);
    Ok(report.write(options.common.json.as_deref())?)
}

/// Connections that have ended for any reason.
fn ends(counts: &crate::counts::Counts) -> u64 {
    counts.of(Counter::Left) + crate::worker_pool::failures(counts)
}
