//! What the system allows the node, said at its start, and its TCP memory raised as clients come.

use crate::limits::{Follow, Machine, PAGES_PER_CLIENT, SessionBudget, SystemFiles, TcpMemoryKeeper, raise_open_files};
use crate::settings::Settings;
use actors::counters::{Counters, Limit};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::interval;

/// How often clients are counted. At ten thousand new ones a second, a tenth of the kernel's default for 4 GiB comes between.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);

/// Says what the system allows; answers how many sessions the node takes, and who raises TCP's memory, if anybody may.
pub(super) fn announce_limits(settings: &Settings, files: &SystemFiles) -> (SessionBudget, Option<TcpMemoryKeeper>) {
    let open_files = raise_open_files();
    let budget = SessionBudget::from(open_files.limit, settings.limits.sessions);
    log::info!(
        "open files: {} (raised from {}), {} of them for sessions, {} kept for HTTP",
        open_files.limit,
        open_files.soft_before,
        budget.sessions,
        budget.kept_for_http
    );
    let machine = Machine::read(files);
    let first = budget.first_limit(&machine);
    log::log!(first.level(), "{first}");
    if let Some(shorter) = machine.longest_backlog.filter(|longest| *longest < settings.http.backlog.into()) {
        let wanted = settings.http.backlog;
        log::warn!("http.backlog is {wanted}, the system allows {shorter}: sysctl -w net.core.somaxconn={wanted}");
    }
    let percent = settings.limits.tcp_memory_percent;
    let keeper = TcpMemoryKeeper::new(files.clone(), &machine, percent);
    if keeper.is_none() {
        advise_tcp_memory(&machine, first.clients, percent);
    }
    (budget, keeper)
}

/// Says what to run where TCP's memory may not do for so many clients.
fn advise_tcp_memory(machine: &Machine, clients: u64, percent: u8) {
    if let Some((present, wanted)) = machine.tcp_memory.zip(machine.missing_tcp_memory(clients, percent)) {
        let enough_for = present.high / PAGES_PER_CLIENT;
        log::warn!(
            "net.ipv4.tcp_mem does for {enough_for} clients, {clients} may come, and this process can't raise it: \
             sysctl -w net.ipv4.tcp_mem=\"{wanted}\""
        );
    }
}

/// Raises TCP's memory as clients come, for as long as it is polled.
pub(super) async fn follow_clients(keeper: &mut Option<TcpMemoryKeeper>, counters: &Counters) -> Infallible {
    let mut ticks = interval(FOLLOW_INTERVAL);
    let mut is_told = false;
    while let Some(followed) = keeper {
        ticks.tick().await;
        match followed.follow(counters.sessions.value()) {
            Follow::Nothing => {}
            Follow::Raised(marks) => log::debug!("net.ipv4.tcp_mem is now {marks}"),
            Follow::UsedUp(marks) => {
                counters.count_limit(Limit::TcpMemoryPercent);
                if !std::mem::replace(&mut is_told, true) {
                    log::warn!("net.ipv4.tcp_mem stays at {marks}, which is limits.tcp_memory_percent or more");
                }
            }
            Follow::Refused(error) => {
                log::warn!("net.ipv4.tcp_mem can't be raised as clients come: {error}");
                *keeper = None;
            }
        }
    }
    std::future::pending().await
}

/// Gives back what was taken of the machine's memory.
pub(super) fn give_back(keeper: Option<TcpMemoryKeeper>) {
    if let Some(Err(error)) = keeper.map(TcpMemoryKeeper::give_back) {
        log::warn!("net.ipv4.tcp_mem stays raised: {error}");
    }
}
