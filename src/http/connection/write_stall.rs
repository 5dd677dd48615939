//! How long the peer of a connection has taken nothing of its answer.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// The dispatcher closes connections that are idle for five seconds, and takes one with an unwritten answer for idle. It
/// starts that time anew whenever it runs, so a stalled connection is woken this often.
const TICK: Duration = Duration::from_secs(1);

/// A write that the socket did not take. The socket takes more once the peer has read about a third of the kernel's send
/// buffer: fewer bytes are no progress.
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

    /// Whether an answer waits for the peer.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    /// The socket took bytes.
    pub(super) fn end(&mut self) {
        self.stalled = None;
    }

    /// The socket took nothing: wakes the task now and then until it does.
    pub(super) fn begin(&mut self, cx: &mut Context<'_>) {
        if self.stalled.is_none() {
            let tick = Box::pin(sleep(TICK.min(self.timeout)));
            self.stalled = Some(Stalled { since: Instant::now(), tick });
        }
        // A tick that is over wakes the task at once, which then looks at the time.
        let _ = self.poll_timeout(cx);
    }

    /// Whether the peer has taken nothing for the whole time.
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
