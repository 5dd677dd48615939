//! Whether a broadcast waits a moment for the next ones, to be written together with them.
//!
//! One write to each of a thousand sockets takes milliseconds, whether it holds one frame or fifty. When broadcasts come faster
//! than that, they pile up behind the one that is being written; those that came together once will come together again, and
//! while waiting for more pays, more are awaited. A broadcast that comes alone never waits.

use std::future::Future as _;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// The longest wait, rounded up by the runtime's clock to the next millisecond: less than what it saves in writing.
const LONGEST_DELAY: Duration = Duration::from_millis(1);

/// For how many broadcasts no more are awaited than came together before, once waiting for more was in vain too often.
const SUSPENDED_BROADCASTS: u8 = 8;

/// What one wait that brought more makes up for: so many in vain.
const CREDIT_PER_SUCCESS: u8 = 2;

/// The most credit.
const MAX_CREDIT: u8 = 8;

/// See the module.
#[derive(Default)]
pub struct CoalescingDelay {
    /// How many messages are likely to be handed out together, the broadcast included.
    expected: usize,
    /// How many were, the last time.
    last: usize,
    /// Waits for more than the last time that may be in vain.
    credit: u8,
    suspended: u8,
    wait: Option<Pin<Box<Sleep>>>,
    /// Whether the wait for the broadcast in front took all its time.
    is_overdue: bool,
}

impl CoalescingDelay {
    /// Notes how many messages were handed out with a broadcast.
    pub fn record(&mut self, together: usize) {
        let is_overdue = std::mem::take(&mut self.is_overdue);
        // Given up bit by bit: on a busy machine those that send may not have had the processor within one wait.
        self.expected = together.max(self.expected / 4 * 3);
        if self.suspended > 0 {
            self.suspended -= 1;
        } else if together > self.last {
            self.credit = (self.credit + CREDIT_PER_SUCCESS).min(MAX_CREDIT);
        } else if is_overdue {
            self.credit = self.credit.saturating_sub(1);
            if self.credit == 0 {
                (self.suspended, self.credit, self.expected) = (SUSPENDED_BROADCASTS, 1, together);
            }
        }
        if self.suspended == 0 && together > 1 {
            self.expected = self.expected.max(together * 2);
        }
        self.last = together;
    }

    /// Whether a broadcast with `waiting` messages, itself included, is kept; if so, `task` is woken when its time is over.
    pub fn should_wait(&mut self, waiting: usize, task: &mut Context<'_>) -> bool {
        if waiting >= self.expected {
            self.wait = None;
            return false;
        }
        let wait = self.wait.get_or_insert_with(|| Box::pin(sleep(LONGEST_DELAY)));
        self.is_overdue = wait.as_mut().poll(task).is_ready();
        if self.is_overdue {
            self.wait = None;
        }
        !self.is_overdue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::task::Poll;

    async fn should_wait(delay: &mut CoalescingDelay, waiting: usize) -> bool {
        poll_fn(|task| Poll::Ready(delay.should_wait(waiting, task))).await
    }

    /// Until the wait is over.
    async fn wait_to_end(delay: &mut CoalescingDelay, waiting: usize) {
        let over = poll_fn(|task| if delay.should_wait(waiting, task) { Poll::Pending } else { Poll::Ready(()) });
        tokio::time::timeout(Duration::from_secs(10), over).await.expect("woken when its time is over");
    }

    #[actix::test]
    async fn a_broadcast_that_comes_alone_goes_at_once() {
        let mut delay = CoalescingDelay::default();
        for _ in 0..3 {
            assert!(!should_wait(&mut delay, 1).await);
            delay.record(1);
        }
    }

    #[actix::test]
    async fn after_some_came_together_more_are_awaited_and_no_longer_than_their_time() {
        let mut delay = CoalescingDelay::default();
        delay.record(3);
        assert!(should_wait(&mut delay, 5).await);
        assert!(!should_wait(&mut delay, 6).await);
        wait_to_end(&mut delay, 5).await;
    }

    #[actix::test]
    async fn after_waits_in_vain_no_more_are_awaited_than_came_together_for_a_while() {
        let mut delay = CoalescingDelay::default();
        delay.record(2);
        for _ in 0..CREDIT_PER_SUCCESS {
            assert!(should_wait(&mut delay, 2).await);
            wait_to_end(&mut delay, 2).await;
            delay.record(2);
        }
        for _ in 0..SUSPENDED_BROADCASTS {
            assert!(should_wait(&mut delay, 1).await);
            assert!(!should_wait(&mut delay, 2).await);
            delay.record(2);
        }
        assert!(should_wait(&mut delay, 2).await);
    }

    #[actix::test]
    async fn broadcasts_that_come_alone_go_at_once_soon_after_others_came_together() {
        let mut delay = CoalescingDelay::default();
        delay.record(64);
        for _ in 0..16 {
            delay.record(1);
        }
        assert!(!should_wait(&mut delay, 1).await);
    }
}
