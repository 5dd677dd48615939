//! `restart`: restarts the server, measures how long its clients are disconnected, and checks that all receive events
//! again.

use crate::commands::listen::emit_spec;
use crate::counts::{Counter, Timing};
use crate::instructions::Instruction;
use crate::interrupt::is_interrupted;
use crate::options::{Pace, RestartOptions};
use crate::progress::Progress;
use crate::report::{Report, format_number};
use crate::run::{Run, RunError, plan};
use crate::server::Server;
use crate::worker_pool::WorkerPool;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Timeout for events to reach the reconnected clients, in seconds.
const RECEIVE_TIMEOUT: f64 = 10.0;
/// A thousand notifications per second: enough to see that each client receives one.
const EVENTS_A_SECOND: f64 = 1000.0;

pub fn run(options: &RestartOptions) -> Result<(), RunError> {
    let server = Server::open(&options.common)?;
    let plan = plan(&options.common, options.clients, options.clients, None)?;
    let mut run = Run { server, workers: WorkerPool::start(&plan)? };
    run.hold(options.clients, options.clients, options.at_once, true)?;
    run.workers.measure()?;
    let start = Instant::now();
    let stopped = if run.server.is_started_here() { Some(restart(&mut run.server)?) } else { None };
    if stopped.is_none() {
        eprintln!("restart the server now");
    }
    wait_for_all(&mut run, options, start)?;
    let back = start.elapsed();
    let shares = run.workers.shares();
    run.workers.instruct(|index, _| Instruction::Emit(emit_spec(&pace(options), &shares, index)))?;
    let settled = run.settle(RECEIVE_TIMEOUT, |counts| counts.received_once() >= u64::from(options.clients))?;
    run.workers.instruct(|_, _| Instruction::Pause)?;
    let total = run.workers.report()?;
    let last = run.leave()?;

    let mut report = Report::new("restart");
    report.optional_figure("down_seconds", "seconds from the stop until the server listens", stopped);
    report.figure("back_seconds", "seconds until all clients were back", back.as_secs_f64());
    report.timing(Timing::Away, "away", &total.timings);
    report.figure("lost", "clients that lost their connection", settled.of(Counter::Lost) as f64);
    report.figure("returned", "clients that reconnected", settled.of(Counter::Returned) as f64);
    report.figure("received", "notifications afterwards, at least one per client", settled.received_once() as f64);
    report.counts(&last, &last);
    Ok(report.write(options.common.json.as_deref())?)
}

/// Repeated broadcasts to all clients.
fn pace(options: &RestartOptions) -> Pace {
    let rate = Some((EVENTS_A_SECOND / f64::from(options.clients)).max(1.0));
    Pace { rate, audience: options.clients, connections: 1, batch: 1, window: 1, duration: 0.0, warm_up: 0.0 }
}

/// Stops and starts the server. Returns how long that took, in seconds.
fn restart(server: &mut Server) -> Result<f64, RunError> {
    let start = Instant::now();
    server.stop()?;
    server.start()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Waits until every client has lost its connection and reconnected.
fn wait_for_all(run: &mut Run, options: &RestartOptions, start: Instant) -> Result<(), RunError> {
    let clients = u64::from(options.clients);
    let mut progress = Progress::new("reconnecting", clients);
    while start.elapsed().as_secs_f64() < options.timeout && !is_interrupted() {
        let counts = run.workers.counts(POLL_INTERVAL)?;
        let returned = counts.of(Counter::Returned);
        progress.show(returned, || format!("{} are back", format_number(returned as f64)));
        if counts.live >= clients && counts.of(Counter::Lost) >= clients {
            return Ok(());
        }
    }
    Ok(())
}
