//! The stop of a node: not ready any more, then every session told 1001, then HTTP drained.

use crate::http::Doors;
use actix::Addr;
use actix_web::web;
use actors::hub::{CloseAll, SessionHub};
use actors::protocol::codes::CloseCode;
use futures::future::join_all;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// How often a stopping node looks whether its sessions are gone.
const DRAIN_INTERVAL: Duration = Duration::from_millis(50);

/// What is left of `shutdown.seconds` for HTTP when sessions don't go by themselves.
pub(super) const HTTP_DRAIN: Duration = Duration::from_secs(2);

/// The hubs that have started.
pub(super) type Hubs = Arc<Mutex<Vec<Addr<SessionHub>>>>;

/// Resolves when HTTP is to be drained: a signal came, and every session was told and had its time.
pub(super) async fn stop(doors: web::Data<Doors>, hubs: Hubs, seconds: u64) {
    match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
        (Ok(mut terminate), Ok(mut interrupt)) => {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        }
        (Err(error), _) | (_, Err(error)) => {
            log::error!("cannot listen to signals, only a kill ends this node: {error}");
            std::future::pending::<()>().await;
        }
    }
    doors.drain();
    log::info!("stopping: {} sessions are told to come back elsewhere", doors.counters.sessions.value());
    let deadline = Instant::now() + Duration::from_secs(seconds).saturating_sub(HTTP_DRAIN);
    loop {
        let hubs = hubs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Asked again each time: an upgrade that was under way may have brought another one.
        let left = join_all(hubs.iter().map(|hub| hub.send(CloseAll(CloseCode::GoingAway)))).await;
        let left: usize = left.into_iter().map(|count| count.unwrap_or(0)).sum();
        if left == 0 || Instant::now() >= deadline {
            break;
        }
        tokio::time::sleep(DRAIN_INTERVAL).await;
    }
}
