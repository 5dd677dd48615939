//! `emit`: emits to clients that `listen --no-emit` holds elsewhere, or to nobody.

use crate::commands::listen::emit_order;
use crate::counts::{Counter, Timing};
use crate::crew::Crew;
use crate::options::EmitOptions;
use crate::orders::{EmitOrder, Order};
use crate::report::Report;
use crate::run::{Run, RunError, plan};
use crate::server::Server;

/// How long the last answers may take, in seconds.
const ANSWER_WITHIN: f64 = 10.0;

pub fn run(options: &EmitOptions) -> Result<(), RunError> {
    let server = Server::open(&options.common)?;
    let mut plan = plan(&options.common, options.clients, options.pace.audience, options.run)?;
    plan.processes = plan.processes.max(1);
    let mut run = Run { server, crew: Crew::start(&plan)? };
    let shares = run.crew.shares();
    // No client is here: nothing that is told can be waited for.
    run.crew
        .order(|place, _| Order::Emit(EmitOrder { own_members: 0, ..emit_order(&options.pace, &shares, place) }))?;
    run.wait("warming up", options.pace.warm_up, Counter::Accepted)?;
    let measured = run.measure("emit", options.pace.duration, Counter::Accepted)?;
    run.crew.order(|_, _| Order::Pause)?;
    let last = run.settle(ANSWER_WITHIN, |counts| {
        counts.of(Counter::Accepted) + counts.of(Counter::Rejected) + counts.of(Counter::Unanswered)
            >= counts.of(Counter::Emitted)
    })?;

    let mut report = Report::new("emit");
    measured.times(&mut report);
    measured.rates(Counter::Accepted, "events", "events", &mut report);
    report.timing(Timing::Answer, "emitted to answered", &measured.total.timings);
    report.counts(&measured.counts, &last);
    Ok(report.tell(options.common.json.as_deref())?)
}
