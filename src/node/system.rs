//! Logs the limits of the system at the start, and raises TCP's memory as the number of clients grows.

use crate::limits::{
    Growth, Machine, PAGES_PER_CLIENT, SessionBudget, SystemFiles, TcpMemoryManager, raise_open_files,
};
use crate::settings::Settings;
use actors::counters::{Counters, Limit};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::interval;

/// How often clients are counted. Ten thousand new clients per second need a tenth of the kernel's default for 4 GiB in
/// this time.
const GROW_INTERVAL: Duration = Duration::from_secs(1);

/// Logs the limits of the system. Returns the number of sessions, and the manager of TCP's memory if this process may
/// raise it.
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
    if let Some(allowed) = machine.max_backlog.filter(|allowed| *allowed < settings.http.backlog.into()) {
        let wanted = settings.http.backlog;
        log::warn!("http.backlog is {wanted}, the system allows {allowed}: sysctl -w net.core.somaxconn={wanted}");
    }
    let percent = settings.limits.tcp_memory_percent;
    let tcp_memory = TcpMemoryManager::new(files.clone(), &machine, percent);
    if tcp_memory.is_none() {
        warn_about_tcp_memory(&machine, first.clients, percent);
    }
    (budget, tcp_memory)
}

/// Logs the command that raises TCP's memory, if it is too small for this many clients.
fn warn_about_tcp_memory(machine: &Machine, clients: u64, percent: u8) {
    if let Some((present, wanted)) = machine.tcp_memory.zip(machine.missing_tcp_memory(clients, percent)) {
        let enough_for = present.high / PAGES_PER_CLIENT;
        log::warn!(
            "net.ipv4.tcp_mem is enough for {enough_for} of {clients} clients, and this process cannot raise it: \
             sysctl -w net.ipv4.tcp_mem=\"{wanted}\""
        );
    }
}

/// Raises TCP's memory as the number of clients grows, for as long as it is polled.
pub(super) async fn grow_tcp_memory(tcp_memory: &mut Option<TcpMemoryManager>, counters: &Counters) -> Infallible {
    let mut ticks = interval(GROW_INTERVAL);
    let mut is_reported = false;
    while let Some(manager) = tcp_memory {
        ticks.tick().await;
        match manager.grow(counters.sessions.value()) {
            Growth::Unchanged => {}
            Growth::Raised(thresholds) => log::debug!("net.ipv4.tcp_mem is now {thresholds}"),
            Growth::ShareReached(thresholds) => {
                counters.count_limit(Limit::TcpMemoryPercent);
                if !std::mem::replace(&mut is_reported, true) {
                    log::warn!("net.ipv4.tcp_mem stays at {thresholds}: it has reached limits.tcp_memory_percent");
                }
            }
            Growth::Refused(error) => {
                log::warn!("net.ipv4.tcp_mem cannot be raised for more clients: {error}");
                *tcp_memory = None;
            }
        }
    }
    std::future::pending().await
}

/// Restores TCP's memory to its value before the start.
pub(super) fn restore_tcp_memory(tcp_memory: Option<TcpMemoryManager>) {
    if let Some(Err(error)) = tcp_memory.map(TcpMemoryManager::restore) {
        log::warn!("net.ipv4.tcp_mem stays raised: {error}");
    }
}
