//! `emit`: emits events for clients that `listen --no-emit` holds in another process, or for none.

use crate::commands::listen::emit_spec;
use crate::counts::{Counter, Timing};
use crate::instructions::{EmitSpec, Instruction};
use crate::options::EmitOptions;
use crate::report::Report;
use crate::run::{Run, RunError, plan};
use crate::server::Server;
use crate::worker_pool::WorkerPool;

/// Timeout for the last answers, in seconds.
const ANSWER_TIMEOUT: f64 = 10.0;

pub fn run(options: &EmitOptions) -> Result<(), RunError> {
    let server = Server::open(&options.common)?;
    let mut plan = plan(&options.common, options.clients, options.pace.audience, options.run)?;
    plan.processes = plan.processes.max(1);
    let mut run = Run { server, workers: WorkerPool::start(&plan)? };
    let shares = run.workers.shares();
    // This process has no clients, so it can't wait for notifications.
    run.workers.instruct(|index, _| {
        Instruction::Emit(EmitSpec { own_members: 0, ..emit_spec(&options.pace, &shares, index) })
    })?;
    run.wait("warming up", options.pace.warm_up, Counter::Accepted)?;
    let measured = run.measure("emit", options.pace.duration, Counter::Accepted)?;
    run.workers.instruct(|_, _| Instruction::Pause)?;
    let last = run.settle(ANSWER_TIMEOUT, |counts| {
        counts.of(Counter::Accepted) + counts.of(Counter::Rejected) + counts.of(Counter::Unanswered)
            >= counts.of(Counter::Emitted)
    })?;

    let mut report = Report::new("emit");
    measured.times(&mut report);
    measured.rates(Counter::Accepted, "events", "events", &mut report);
    report.timing(Timing::Answer, "emitted to answered", &measured.total.timings);
    report.counts(&measured.counts, &last);
    Ok(report.write(options.common.json.as_deref())?)
}
