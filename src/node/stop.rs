//! The stop of a node: it is not ready, closes every session with 1001, then drains HTTP.

use crate::http::AppState;
use crate::settings::ShutdownSettings;
use actix::Addr;
use actix_web::web;
use actors::hub::{CloseAll, SessionHub};
use actors::nodes::{Leave, NodeList};
use futures::future::join_all;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often a stopping node checks whether its sessions are closed.
const DRAIN_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum part of `shutdown.seconds` for HTTP, in seconds. An emit takes milliseconds.
const HTTP_SECONDS: u64 = 2;

/// The part of `shutdown.seconds` that is reserved for the end of the process.
const MARGIN: Duration = Duration::from_millis(500);

/// The hubs that have started.
pub(super) type Hubs = Arc<Mutex<Vec<Addr<SessionHub>>>>;

/// The signals that stop a node. None is missed after this value is created.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Handles SIGTERM and SIGINT in place of the system's default, which kills the process.
    pub fn listen() -> io::Result<StopSignals> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(StopSignals { terminate, interrupt })
    }

    async fn wait(&mut self) {
        tokio::select! { _ = self.terminate.recv() => {}, _ = self.interrupt.recv() => {} }
    }
}

/// The part of a stop of `seconds` that is for HTTP, after the part for sessions, in whole seconds.
pub(super) fn http_seconds(seconds: u64) -> u64 {
    (seconds / 2).clamp(1, HTTP_SECONDS)
}

/// Gives load balancers time to notice that the node is not ready, before any session is closed. A second signal ends
/// this time.
async fn give_notice(signals: &mut StopSignals, app_state: &AppState, seconds: u64) {
    if seconds == 0 {
        return;
    }
    app_state.give_notice();
    log::info!(seconds; "stopping soon; the node is not ready from now on");
    tokio::select! { () = tokio::time::sleep(Duration::from_secs(seconds)) => {}, () = signals.wait() => {} }
}

/// Resolves when HTTP is to be drained: after a signal, when all sessions are closed or their time is over.
pub(super) async fn stop(
    mut signals: StopSignals,
    app_state: web::Data<AppState>,
    nodes: Addr<NodeList>,
    hubs: Hubs,
    settings: ShutdownSettings,
) {
    signals.wait().await;
    give_notice(&mut signals, &app_state, settings.notice_seconds).await;
    app_state.drain();
    nodes.do_send(Leave);
    log::info!(sessions = app_state.counters.sessions.value(); "stopping; all sessions are closed with 1001");
    let seconds = settings.seconds - http_seconds(settings.seconds).min(settings.seconds);
    let time = Duration::from_secs(seconds).saturating_sub(MARGIN);
    let deadline = Instant::now() + time;
    loop {
        let hubs = hubs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Every round closes all sessions, because an upgrade that was under way can have added one.
        let asked = join_all(hubs.iter().map(|hub| hub.send(CloseAll)));
        let time_left = deadline.saturating_duration_since(Instant::now());
        let Ok(left) = tokio::time::timeout(time_left, asked).await else { break };
        let left: usize = left.into_iter().map(|count| count.unwrap_or(0)).sum();
        if left == 0 || Instant::now() >= deadline {
            break;
        }
        tokio::time::sleep(DRAIN_INTERVAL).await;
    }
}
