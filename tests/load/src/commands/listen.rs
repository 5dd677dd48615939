//! `listen`: holds clients and counts what they are told; emits too, unless `emit` does elsewhere.

use crate::counts::{Counter, Counts, Timing};
use crate::crew::Crew;
use crate::options::{ListenOptions, Pace};
use crate::orders::{EmitOrder, Order};
use crate::report::Report;
use crate::run::{Measured, Run, RunError, plan};
use crate::server::Server;
use std::ops::Range;
use std::time::Duration;

/// Events under way at a time, without a pace: a broadcast queues soon, one person's does not.
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
    let mut run = Run { server, crew: Crew::start(&plan)? };
    run.hold(options.clients, options.clients, options.at_once, false)?;
    if !options.no_emit {
        let shares = run.crew.shares();
        run.crew.order(|place, _| Order::Emit(emit_order(pace, &shares, place)))?;
    }
    run.wait("warming up", pace.warm_up, Counter::Told)?;
    let measured = run.measure("listen", pace.duration, Counter::Told)?;
    run.crew.order(|_, _| Order::Pause)?;
    let settled = run.settle(options.patience, |counts| is_complete(counts, options.no_emit))?;
    let last = run.leave()?;

    let report = report(options, &measured, &settled, &last);
    Ok(report.tell(options.common.json.as_deref())?)
}

/// Whether every event was answered, and all told that are to be.
fn is_complete(counts: &Counts, no_emit: bool) -> bool {
    let answered = counts.of(Counter::Accepted) + counts.of(Counter::Rejected) + counts.of(Counter::Unanswered);
    no_emit || (answered >= counts.of(Counter::Emitted) && counts.told_once() >= counts.of(Counter::Expected))
}

/// What one process emits: to audiences whose first member is its own.
pub fn emit_order(pace: &Pace, shares: &[Range<u32>], place: usize) -> EmitOrder {
    let size = pace.audience;
    let audiences = |share: &Range<u32>| share.start.div_ceil(size)..share.end.div_ceil(size);
    let own = audiences(&shares[place]);
    let all: u32 = shares.iter().map(|share| audiences(share).len() as u32).sum();
    let emitting = shares.iter().filter(|share| !audiences(share).is_empty()).count() as u32;
    let window = match (pace.window, size) {
        (0, 1) => PERSON_WINDOW,
        (0, _) => BROADCAST_WINDOW,
        (given, _) => given,
    };
    // Without a pace, more connections than events under way would only be idle.
    let connections = if pace.rate.is_some() { pace.connections } else { pace.connections.min(window) };
    EmitOrder {
        first: own.start,
        audiences: own.len() as u32,
        members: size,
        own_members: size.min(shares[place].len() as u32),
        rate: pace.rate.map(|rate| rate * f64::from(own.len() as u32) / f64::from(all.max(1))),
        connections: if own.is_empty() { 0 } else { connections.div_ceil(emitting.max(1)) },
        batch: pace.batch.max(1),
        window: window.div_ceil(emitting.max(1)),
    }
}

fn report(options: &ListenOptions, measured: &Measured, settled: &Counts, last: &Counts) -> Report {
    let mut report = Report::new("listen");
    measured.times(&mut report);
    measured.rates(Counter::Told, "notifications", "notifications", &mut report);
    if !options.no_emit {
        measured.rates(Counter::Accepted, "events", "events", &mut report);
    }
    report.timing(Timing::Delivery, "emitted to told", &measured.total.timings);
    report.timing(Timing::Answer, "emitted to answered", &measured.total.timings);
    if !options.no_emit {
        report.figure("expected", "expected", settled.of(Counter::Expected) as f64);
    }
    report.figure("received", "received", settled.of(Counter::Told) as f64);
    report.figure("late", "late", settled.of(Counter::Late) as f64);
    report.figure("twice", "twice", settled.of(Counter::Twice) as f64);
    if !options.no_emit {
        let missing = settled.of(Counter::Expected).saturating_sub(settled.told_once());
        report.figure("missing", "missing", missing as f64);
    }
    report.counts(&measured.counts, last);
    report
}
