//! Measures how long the peer of a connection has taken nothing of its answer.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// How often the task of a stalled connection is woken. The dispatcher closes connections that are idle for five
/// seconds, and counts one with an unwritten answer as idle. It restarts this timer whenever it runs.
const TICK: Duration = Duration::from_secs(1);

/// The timer of a write that the socket does not take. The socket takes more once the peer has read about a third of
/// the kernel's send buffer. Fewer bytes do not count as progress.
pub(super) struct WriteStall {
    timeout: Duration,
    stalled: Option<Stalled>,
}

struct Stalled {
    since: Instant,
    tick: Pin<Box<Sleep>>,
}

impl WriteStall {
    pub(super) fn new(timeout: Duration) -> WriteStall {
        WriteStall { timeout, stalled: None }
    }

    /// Whether a write waits for the peer.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    /// Stops the timer, because the socket took bytes.
    pub(super) fn end(&mut self) {
        self.stalled = None;
    }

    /// Starts the timer, because the socket took nothing. It wakes the task every [`TICK`].
    pub(super) fn begin(&mut self, cx: &mut Context<'_>) {
        if self.stalled.is_none() {
            let tick = Box::pin(sleep(TICK.min(self.timeout)));
            self.stalled = Some(Stalled { since: Instant::now(), tick });
        }
        // Registers the task with the timer.
        let _ = self.poll_timeout(cx);
    }

    /// Whether the peer has taken nothing for the whole timeout.
    pub(super) fn poll_timeout(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(stalled) = &mut self.stalled else { return false };
        while let Poll::Ready(()) = stalled.tick.as_mut().poll(cx) {
            let left = self.timeout.saturating_sub(stalled.since.elapsed());
            if left.is_zero() {
                return true;
            }
            stalled.tick.as_mut().reset(Instant::now() + TICK.min(left));
        }
        false
    }
}
