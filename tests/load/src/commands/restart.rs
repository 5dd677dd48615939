//! `restart`: the server stops and starts again; how long are its clients away, and are they all told again?

use crate::commands::listen::emit_order;
use crate::counts::{Counter, Timing};
use crate::crew::Crew;
use crate::interrupt::is_interrupted;
use crate::options::{Pace, RestartOptions};
use crate::orders::Order;
use crate::progress::Progress;
use crate::report::{Report, written};
use crate::run::{Run, RunError, plan};
use crate::server::Server;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(50);
/// How long clients may take to be told once they are back, in seconds.
const TOLD_WITHIN: f64 = 10.0;
/// One event to each client, a thousand a second: enough to see that each is told.
const EVENTS_A_SECOND: f64 = 1000.0;

pub fn run(options: &RestartOptions) -> Result<(), RunError> {
    let server = Server::open(&options.common)?;
    let plan = plan(&options.common, options.clients, options.clients, None)?;
    let mut run = Run { server, crew: Crew::start(&plan)? };
    run.hold(options.clients, options.clients, options.at_once, true)?;
    run.crew.measure()?;
    let start = Instant::now();
    let stopped = if run.server.is_ours() { Some(restart(&mut run.server)?) } else { None };
    if stopped.is_none() {
        eprintln!("restart the server now");
    }
    wait_for_all(&mut run, options, start)?;
    let back = start.elapsed();
    let shares = run.crew.shares();
    run.crew.order(|place, _| Order::Emit(emit_order(&pace(options), &shares, place)))?;
    let told = run.settle(TOLD_WITHIN, |counts| counts.told_once() >= u64::from(options.clients))?;
    run.crew.order(|_, _| Order::Pause)?;
    let total = run.crew.report()?;
    let last = run.leave()?;

    let mut report = Report::new("restart");
    report.maybe("down_seconds", "seconds from the stop to the listening server", stopped);
    report.figure("back_seconds", "seconds until all were back", back.as_secs_f64());
    report.timing(Timing::Away, "away", &total.timings);
    report.figure("lost", "clients that lost their connection", told.of(Counter::Lost) as f64);
    report.figure("returned", "clients that came back", told.of(Counter::Returned) as f64);
    report.figure("told", "notifications afterwards, one to each at least", told.told_once() as f64);
    report.counts(&last, &last);
    Ok(report.tell(options.common.json.as_deref())?)
}

/// One broadcast to all, over and over.
fn pace(options: &RestartOptions) -> Pace {
    let rate = Some((EVENTS_A_SECOND / f64::from(options.clients)).max(1.0));
    Pace { rate, audience: options.clients, connections: 1, batch: 1, window: 1, duration: 0.0, warm_up: 0.0 }
}

/// Stops the server, starts it again, and says how long that took, in seconds.
fn restart(server: &mut Server) -> Result<f64, RunError> {
    let start = Instant::now();
    server.stop()?;
    server.start()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Waits until every client was away and is back.
fn wait_for_all(run: &mut Run, options: &RestartOptions, start: Instant) -> Result<(), RunError> {
    let clients = u64::from(options.clients);
    let mut progress = Progress::new("coming back", clients);
    while start.elapsed().as_secs_f64() < options.patience && !is_interrupted() {
        let counts = run.crew.counts(LOOK)?;
        let returned = counts.of(Counter::Returned);
        progress.show(returned, || format!("{} are back", written(returned as f64)));
        if counts.live >= clients && counts.of(Counter::Lost) >= clients {
            return Ok(());
        }
    }
    Ok(())
}
