//! `listen`: holds clients and counts their notifications. It also emits, unless another process runs `emit`.

use crate::counts::{Counter, Counts, Timing};
use crate::instructions::{EmitSpec, Instruction};
use crate::options::{ListenOptions, Pace};
use crate::report::Report;
use crate::run::{Measured, Run, RunError, plan};
use crate::server::Server;
use crate::worker_pool::WorkerPool;
use std::ops::Range;
use std::time::Duration;

/// Events that are emitted and not yet received, without a rate: broadcasts fill queues sooner than single recipients.
const BROADCAST_WINDOW: u32 = 4;
const PERSON_WINDOW: u32 = 256;

pub fn run(options: &ListenOptions) -> Result<(), RunError> {
    let pace = &options.pace;
    let server = Server::open(&options.common)?;
    let mut plan = plan(&options.common, options.clients, pace.audience, options.run)?;
    plan.late = Duration::from_millis(options.late);
    if !options.emit_target.is_empty() {
        plan.emit_targets.clone_from(&options.emit_target);
    }
    let mut run = Run { server, workers: WorkerPool::start(&plan)? };
    run.hold(options.clients, options.clients, options.at_once, false)?;
    if !options.no_emit {
        let shares = run.workers.shares();
        run.workers.instruct(|index, _| Instruction::Emit(emit_spec(pace, &shares, index)))?;
    }
    run.wait("warming up", pace.warm_up, Counter::Received)?;
    let measured = run.measure("listen", pace.duration, Counter::Received)?;
    run.workers.instruct(|_, _| Instruction::Pause)?;
    let settled = run.settle(options.timeout, |counts| is_complete(counts, options.no_emit))?;
    let last = run.leave()?;

    let report = report(options, &measured, &settled, &last);
    Ok(report.write(options.common.json.as_deref())?)
}

/// Whether every event was answered, and every expected notification was received.
fn is_complete(counts: &Counts, no_emit: bool) -> bool {
    let answered = counts.of(Counter::Accepted) + counts.of(Counter::Rejected) + counts.of(Counter::Unanswered);
    no_emit || (answered >= counts.of(Counter::Emitted) && counts.received_once() >= counts.of(Counter::Expected))
}

/// The settings of publishing of one process: it emits to the audiences whose first member it holds.
pub fn emit_spec(pace: &Pace, shares: &[Range<u32>], index: usize) -> EmitSpec {
    let size = pace.audience;
    let audiences = |share: &Range<u32>| share.start.div_ceil(size)..share.end.div_ceil(size);
    let own = audiences(&shares[index]);
    let all: u32 = shares.iter().map(|share| audiences(share).len() as u32).sum();
    let emitting = shares.iter().filter(|share| !audiences(share).is_empty()).count() as u32;
    let window = match (pace.window, size) {
        (0, 1) => PERSON_WINDOW,
        (0, _) => BROADCAST_WINDOW,
        (given, _) => given,
    };
    // Without a rate, connections beyond the window would be idle.
    let connections = if pace.rate.is_some() { pace.connections } else { pace.connections.min(window) };
    EmitSpec {
        first: own.start,
        audiences: own.len() as u32,
        members: size,
        own_members: size.min(shares[index].len() as u32),
        rate: pace.rate.map(|rate| rate * f64::from(own.len() as u32) / f64::from(all.max(1))),
        connections: if own.is_empty() { 0 } else { connections.div_ceil(emitting.max(1)) },
        batch: pace.batch.max(1),
        window: window.div_ceil(emitting.max(1)),
    }
}

fn report(options: &ListenOptions, measured: &Measured, settled: &Counts, last: &Counts) -> Report {
    let mut report = Report::new("listen");
    measured.times(&mut report);
    measured.rates(Counter::Received, "notifications", "notifications", &mut report);
    if !options.no_emit {
        measured.rates(Counter::Accepted, "events", "events", &mut report);
    }
    report.timing(Timing::Delivery, "emitted to received", &measured.total.timings);
    report.timing(Timing::Answer, "emitted to answered", &measured.total.timings);
    if !options.no_emit {
        report.figure("expected", "expected", settled.of(Counter::Expected) as f64);
    }
    report.figure("received", "received", settled.of(Counter::Received) as f64);
    report.figure("late", "late", settled.of(Counter::Late) as f64);
    report.figure("duplicates", "duplicates", settled.of(Counter::Duplicates) as f64);
    if !options.no_emit {
        let missing = settled.of(Counter::Expected).saturating_sub(settled.received_once());
        report.figure("missing", "missing", missing as f64);
    }
    report.counts(&measured.counts, last);
    report
}
