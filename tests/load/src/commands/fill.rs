//! `fill`: client after client, level after level, and what each costs.

use crate::counts::Counts;
use crate::crew::Crew;
use crate::interrupt::is_interrupted;
use crate::options::FillOptions;
use crate::report::{Report, written};
use crate::run::{Run, RunError, plan};
use crate::sampling::kernel::{Kernel, available_bytes, bytes_of_an_end};
use crate::sampling::{process, redis};
use crate::server::Server;
use serde_json::{Value, json};
use std::time::Duration;

/// How many times a level is held for memory that goes on changing.
const LONGEST_REST: usize = 5;

/// What is held at one level, in bytes.
#[derive(Clone, Copy, Debug)]
struct Level {
    clients: u64,
    server: Option<u64>,
    kernel: Kernel,
    redis: Option<u64>,
    own: u64,
}

pub fn run(options: &FillOptions) -> Result<(), RunError> {
    let own_end = bytes_of_an_end()?;
    let server = Server::open(&options.common)?;
    let plan = plan(&options.common, options.clients, 1, None)?;
    let mut run = Run { server, crew: Crew::start(&plan)? };
    settle(&mut run, options.hold)?;
    let before = sample(&mut run, options)?;
    let step = if options.step == 0 { options.clients.div_ceil(10) } else { options.step };
    let mut levels = Vec::new();
    for clients in (1..=options.clients.div_ceil(step)).map(|level| (level * step).min(options.clients)) {
        let held = run.hold(clients, options.clients, options.at_once, false);
        settle(&mut run, options.hold)?;
        let level = sample(&mut run, options)?;
        levels.push(level);
        eprintln!("{}", words(&before, &level, own_end));
        if let Err(error) = held {
            // What is there was measured.
            eprintln!("{error}");
            break;
        }
        if is_interrupted() || available_bytes() < options.free_floor << 20 {
            eprintln!(
                "stopped at {} clients: interrupted, or too little memory is free",
                written(level.clients as f64)
            );
            break;
        }
    }
    let last = run.leave()?;
    let report = report(&before, &levels, own_end, &last);
    Ok(report.tell(options.common.json.as_deref())?)
}

/// Waits until the server's memory is at rest: no more than a two-hundredth more or less than it was `seconds` ago.
fn settle(run: &mut Run, seconds: f64) -> Result<(), RunError> {
    let mut last = run.server.resident_bytes().unwrap_or(0);
    for _ in 0..LONGEST_REST {
        run.crew.counts(Duration::from_secs_f64(seconds))?;
        let now = run.server.resident_bytes().unwrap_or(0);
        if last.abs_diff(now) <= now / 200 || is_interrupted() {
            break;
        }
        last = now;
    }
    Ok(())
}

fn sample(run: &mut Run, options: &FillOptions) -> Result<Level, RunError> {
    Ok(Level {
        clients: run.crew.counts(Duration::ZERO)?.live,
        server: run.server.resident_bytes(),
        kernel: Kernel::now(),
        redis: options.redis.map(redis::used_bytes).transpose()?,
        own: process::resident_bytes(&run.crew.pids()),
    })
}

/// Bytes for each client of what grew between two levels.
struct Costs {
    server: Option<f64>,
    /// Both ends.
    kernel: f64,
    redis: Option<f64>,
    own: f64,
}

impl Costs {
    fn between(before: &Level, level: &Level) -> Costs {
        let clients = (level.clients - before.clients).max(1) as f64;
        let each = |before: u64, after: u64| (after as f64 - before as f64) / clients;
        let both = |before: Option<u64>, after: Option<u64>| Some(each(before?, after?));
        Costs {
            server: both(before.server, level.server),
            kernel: each(before.kernel.bytes(), level.kernel.bytes()),
            redis: both(before.redis, level.redis),
            own: each(before.own, level.own),
        }
    }
}

fn words(before: &Level, level: &Level, own_end: u64) -> String {
    let costs = Costs::between(before, level);
    let maybe = |bytes: Option<f64>| bytes.map_or_else(|| "unknown".into(), written);
    format!(
        "{:>9} clients: server {:>7}, kernel {:>6}, redis {:>7}, load {:>5} bytes each",
        written(level.clients as f64),
        maybe(costs.server),
        written(costs.kernel - own_end as f64),
        maybe(costs.redis),
        written(costs.own),
    )
}

fn report(before: &Level, levels: &[Level], own_end: u64, last: &Counts) -> Report {
    let mut report = Report::new("fill");
    levels.iter().for_each(|level| report.line(&words(before, level, own_end)));
    let as_json = |level: &Level| -> Value {
        let costs = Costs::between(before, level);
        json!({
            "clients": level.clients, "server_bytes": level.server, "redis_bytes": level.redis,
            "slab_bytes": level.kernel.slab, "tcp_bytes": level.kernel.tcp, "own_bytes": level.own,
            "server_bytes_each": costs.server, "redis_bytes_each": costs.redis, "own_bytes_each": costs.own,
            "kernel_bytes_each": costs.kernel - own_end as f64,
        })
    };
    report.value("before", as_json(before));
    report.value("levels", levels.iter().map(as_json).collect());
    report.figure("own_end_bytes", "bytes of the kernel for the load's own end", own_end as f64);
    if let Some(level) = levels.last() {
        let costs = Costs::between(before, level);
        report.figure("clients", "clients", level.clients as f64);
        report.maybe("server_bytes_each", "bytes of the server for each", costs.server);
        report.figure("kernel_bytes_each", "bytes of the kernel for each, server's end", costs.kernel - own_end as f64);
        report.maybe("redis_bytes_each", "bytes of Redis for each", costs.redis);
        report.figure("own_bytes_each", "bytes of the load for each", costs.own);
    }
    report.counts(last, last);
    report
}
