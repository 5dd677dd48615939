//! The stop of a node: not ready any more, then every session told 1001, then HTTP drained.

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

/// How often a stopping node looks whether its sessions are gone.
const DRAIN_INTERVAL: Duration = Duration::from_millis(50);

/// The most time that HTTP gets out of `shutdown.seconds`, in seconds: an emit takes milliseconds.
const HTTP_SECONDS: u64 = 2;

/// What is kept for the process to end in, out of `shutdown.seconds`.
const MARGIN: Duration = Duration::from_millis(500);

/// The hubs that have started.
pub(super) type Hubs = Arc<Mutex<Vec<Addr<SessionHub>>>>;

/// The signals that stop a node, heard from the moment that this is made.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Listens to SIGTERM and SIGINT in place of the system's default, which kills.
    pub fn listen() -> io::Result<StopSignals> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(StopSignals { terminate, interrupt })
    }

    async fn wait(&mut self) {
        tokio::select! { _ = self.terminate.recv() => {}, _ = self.interrupt.recv() => {} }
    }
}

/// Whole seconds of a stop that takes `seconds` that are HTTP's, after those of the sessions.
pub(super) fn http_seconds(seconds: u64) -> u64 {
    (seconds / 2).clamp(1, HTTP_SECONDS)
}

/// Lets balancers find out that the node is not ready before anybody is sent away. A second signal is a hurry.
async fn give_notice(signals: &mut StopSignals, app_state: &AppState, seconds: u64) {
    if seconds == 0 {
        return;
    }
    app_state.give_notice();
    log::info!(seconds; "stopping soon; the node is not ready from now on");
    tokio::select! { () = tokio::time::sleep(Duration::from_secs(seconds)) => {}, () = signals.wait() => {} }
}

/// Resolves when HTTP is to be drained: a signal came, and every session was told and had its time.
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
        // Asked again each time: an upgrade that was under way may have brought another one.
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
