//! What the system allows the node, said at its start, and its TCP memory raised as clients come.

use crate::limits::{
    Growth, Machine, PAGES_PER_CLIENT, SessionBudget, SystemFiles, TcpMemoryManager, raise_open_files,
};
use crate::settings::Settings;
use actors::counters::{Counters, Limit};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::interval;

/// How often clients are counted. At ten thousand new ones a second, a tenth of the kernel's default for 4 GiB comes between.
const GROW_INTERVAL: Duration = Duration::from_secs(1);

/// Says what the system allows; answers how many sessions the node takes, and who raises TCP's memory, if anybody may.
pub(super) fn log_system_limits(settings: &Settings, files: &SystemFiles) -> (SessionBudget, Option<TcpMemoryManager>) {
    let open_files = raise_open_files();
    let budget = SessionBudget::from(open_files.limit, settings.limits.sessions);
    log::info!(
        limit = open_files.limit, raised_from = open_files.soft_before, for_sessions = budget.sessions,
        for_http = budget.reserved_for_http;
        "open files of this process"
    );
    let machine = Machine::read(files);
    let first = budget.first_limit(&machine);
    log::log!(first.level(), "{first}");
    if let Some(shorter) = machine.max_backlog.filter(|longest| *longest < settings.http.backlog.into()) {
        let wanted = settings.http.backlog;
        log::warn!("http.backlog is {wanted}, the system allows {shorter}: sysctl -w net.core.somaxconn={wanted}");
    }
    let percent = settings.limits.tcp_memory_percent;
    let tcp_memory = TcpMemoryManager::new(files.clone(), &machine, percent);
    if tcp_memory.is_none() {
        warn_about_tcp_memory(&machine, first.clients, percent);
    }
    (budget, tcp_memory)
}

/// Says what to run where TCP's memory may not do for so many clients.
fn warn_about_tcp_memory(machine: &Machine, clients: u64, percent: u8) {
    if let Some((present, wanted)) = machine.tcp_memory.zip(machine.missing_tcp_memory(clients, percent)) {
        let enough_for = present.high / PAGES_PER_CLIENT;
        log::warn!(
            "net.ipv4.tcp_mem does for {enough_for} clients, {clients} may come, and this process can't raise it: \
             sysctl -w net.ipv4.tcp_mem=\"{wanted}\""
        );
    }
}

/// Raises TCP's memory as clients come, for as long as it is polled.
pub(super) async fn grow_tcp_memory(tcp_memory: &mut Option<TcpMemoryManager>, counters: &Counters) -> Infallible {
    let mut ticks = interval(GROW_INTERVAL);
    let mut is_reported = false;
    while let Some(manager) = tcp_memory {
        ticks.tick().await;
        match manager.grow(counters.sessions.value()) {
            Growth::Unchanged => {}
            Growth::Raised(marks) => log::debug!("net.ipv4.tcp_mem is now {marks}"),
            Growth::ShareReached(marks) => {
                counters.count_limit(Limit::TcpMemoryPercent);
                if !std::mem::replace(&mut is_reported, true) {
                    log::warn!("net.ipv4.tcp_mem stays at {marks}, which is limits.tcp_memory_percent or more");
                }
            }
            Growth::Refused(error) => {
                log::warn!("net.ipv4.tcp_mem can't be raised as clients come: {error}");
                *tcp_memory = None;
            }
        }
    }
    std::future::pending().await
}

/// Gives back what was taken of the machine's memory.
pub(super) fn restore_tcp_memory(tcp_memory: Option<TcpMemoryManager>) {
    if let Some(Err(error)) = tcp_memory.map(TcpMemoryManager::restore) {
        log::warn!("net.ipv4.tcp_mem stays raised: {error}");
    }
}
