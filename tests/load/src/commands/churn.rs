//! `churn`: clients connect, are greeted, register and leave, over and over.

use crate::counts::{Counter, Timing};
use crate::crew::Crew;
use crate::options::ChurnOptions;
use crate::orders::Order;
use crate::report::Report;
use crate::run::{Run, RunError, plan};
use crate::server::Server;

/// Numbers of two processes' clients never meet.
const APART: u32 = 50_000_000;
/// Source addresses, unless they are given: the ports of one are soon all in use.
const SOURCES: u8 = 8;
/// How long the last clients may take to leave, in seconds.
const LEAVE_WITHIN: f64 = 10.0;

pub fn run(options: &ChurnOptions) -> Result<(), RunError> {
    let server = Server::open(&options.common)?;
    let mut plan = plan(&options.common, options.clients, 1, None)?;
    plan.apart = Some(APART);
    if plan.sources == 0 {
        plan.sources = SOURCES;
    }
    let mut run = Run { server, crew: Crew::start(&plan)? };
    run.crew.order(|_, share| Order::Churn { at_once: share.end - share.start })?;
    run.wait("warming up", options.warm_up, Counter::Left)?;
    let measured = run.measure("churn", options.duration, Counter::Left)?;
    run.crew.order(|_, _| Order::Pause)?;
    let last = run.settle(LEAVE_WITHIN, |counts| counts.live == 0 && ends(counts) == counts.of(Counter::Dialled))?;

    let mut report = Report::new("churn");
    measured.times(&mut report);
    measured.rates(Counter::Left, "clients", "clients", &mut report);
    let timings = &measured.total.timings;
    report.timing(Timing::Tcp, "TCP connection", timings);
    report.timing(Timing::Connected, "then greeted", timings);
    report.timing(Timing::Registered, "then registered", timings);
    report.timing(Timing::Left, "then left", timings);
    report.timing(Timing::Cycle, "all of it", timings);
    report.counts(&measured.counts, &last);
    Ok(report.tell(options.common.json.as_deref())?)
}

/// Connections that have come to their end, whichever.
fn ends(counts: &crate::counts::Counts) -> u64 {
    counts.of(Counter::Left) + crate::crew::gone(counts)
}
