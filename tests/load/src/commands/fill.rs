//! `fill`: connects clients in levels, and measures the memory per client at each level.

use crate::counts::Counts;
use crate::interrupt::is_interrupted;
use crate::options::FillOptions;
use crate::report::{Report, format_number};
use crate::run::{Run, RunError, plan};
use crate::sampling::kernel::{Kernel, available_bytes, bytes_of_one_end};
use crate::sampling::{process, redis};
use crate::server::Server;
use crate::worker_pool::WorkerPool;
use serde_json::{Value, json};
use std::time::Duration;

/// The maximum number of holds of a level while memory keeps changing.
const MAX_HOLDS: usize = 5;

/// The memory at one level, in bytes.
#[derive(Clone, Copy, Debug)]
struct Level {
    clients: u64,
    server: Option<u64>,
    kernel: Kernel,
    redis: Option<u64>,
    own: u64,
}

pub fn run(options: &FillOptions) -> Result<(), RunError> {
    let own_end = bytes_of_one_end()?;
    let server = Server::open(&options.common)?;
    let plan = plan(&options.common, options.clients, 1, None)?;
    let mut run = Run { server, workers: WorkerPool::start(&plan)? };
    settle(&mut run, options.hold)?;
    let before = sample(&mut run, options)?;
    let step = if options.step == 0 { options.clients.div_ceil(10) } else { options.step };
    let mut levels = Vec::new();
    for clients in (1..=options.clients.div_ceil(step)).map(|level| (level * step).min(options.clients)) {
        let held = run.hold(clients, options.clients, options.at_once, false);
        settle(&mut run, options.hold)?;
        let level = sample(&mut run, options)?;
        levels.push(level);
        eprintln!("{}", level_line(&before, &level, own_end));
        if let Err(error) = held {
            // The clients that did connect were measured.
            eprintln!("{error}");
            break;
        }
        if is_interrupted() || available_bytes() < options.free_floor << 20 {
            eprintln!(
                "stopped at {} clients: the run was interrupted, or too little memory is free",
                format_number(level.clients as f64)
            );
            break;
        }
    }
    let last = run.leave()?;
    let report = report(&before, &levels, own_end, &last);
    Ok(report.write(options.common.json.as_deref())?)
}

/// Waits until the memory of the server is stable: it has changed by at most 0.5 % in the last `seconds`.
fn settle(run: &mut Run, seconds: f64) -> Result<(), RunError> {
    let mut last = run.server.resident_bytes().unwrap_or(0);
    for _ in 0..MAX_HOLDS {
        run.workers.counts(Duration::from_secs_f64(seconds))?;
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
        clients: run.workers.counts(Duration::ZERO)?.live,
        server: run.server.resident_bytes(),
        kernel: Kernel::now(),
        redis: options.redis.map(redis::used_bytes).transpose()?,
        own: process::resident_bytes(&run.workers.pids()),
    })
}

/// Bytes per client that were added between two levels.
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

fn level_line(before: &Level, level: &Level, own_end: u64) -> String {
    let costs = Costs::between(before, level);
    let maybe = |bytes: Option<f64>| bytes.map_or_else(|| "unknown".into(), format_number);
    format!(
        "{:>9} clients: server {:>7}, kernel {:>6}, redis {:>7}, load tool {:>5} bytes per client",
        format_number(level.clients as f64),
        maybe(costs.server),
        format_number(costs.kernel - own_end as f64),
        maybe(costs.redis),
        format_number(costs.own),
    )
}

fn report(before: &Level, levels: &[Level], own_end: u64, last: &Counts) -> Report {
    let mut report = Report::new("fill");
    levels.iter().for_each(|level| report.line(&level_line(before, level, own_end)));
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
    report.figure("own_end_bytes", "kernel bytes of the load tool's end", own_end as f64);
    if let Some(level) = levels.last() {
        let costs = Costs::between(before, level);
        report.figure("clients", "clients", level.clients as f64);
        report.optional_figure("server_bytes_each", "server bytes per client", costs.server);
        report.figure("kernel_bytes_each", "kernel bytes per client, server's end", costs.kernel - own_end as f64);
        report.optional_figure("redis_bytes_each", "Redis bytes per client", costs.redis);
        report.figure("own_bytes_each", "load tool bytes per client", costs.own);
    }
    report.counts(last, last);
    report
}
