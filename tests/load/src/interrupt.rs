//! Ctrl+C: the run ends early and reports what it has measured.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Starts to watch for SIGINT and SIGTERM. A second signal ends the process at once.
pub fn watch() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            wait().await;
            IS_INTERRUPTED.store(true, Relaxed);
            wait().await;
            std::process::exit(130);
        });
    });
}

/// Whether the run must end.
pub fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Relaxed)
}

async fn wait() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
