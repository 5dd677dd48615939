//! Decides whether a broadcast waits for the next ones, to be written together with them.
//!
//! Writing to a thousand sockets takes milliseconds, for one frame as for fifty. If broadcasts arrive faster, they
//! queue behind the one that is being written. Broadcasts that arrived together once probably arrive together again, so
//! the next ones wait for each other as long as this brings more frames together. A single broadcast never waits.

use std::future::Future as _;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Maximum wait. The runtime rounds it up to the next millisecond. It is less than the time saved in writing.
const LONGEST_DELAY: Duration = Duration::from_millis(1);

/// Number of broadcasts that do not wait for more than arrived together before, after too many useless waits.
const SUSPENDED_BROADCASTS: u8 = 8;

/// Number of useless waits that one successful wait makes up for.
const CREDIT_PER_SUCCESS: u8 = 2;

/// Maximum credit.
const MAX_CREDIT: u8 = 8;

/// The state of the decision whether broadcasts wait.
#[derive(Default)]
pub struct CoalescingDelay {
    /// The number of messages that are expected together, including the broadcast.
    expected: usize,
    /// The number of messages that were dispatched together the last time.
    last: usize,
    /// The number of useless waits that are still allowed.
    credit: u8,
    /// The number of broadcasts for which waiting for more is suspended.
    suspended: u8,
    wait: Option<Pin<Box<Sleep>>>,
    /// Whether the wait of the next broadcast timed out.
    is_overdue: bool,
}

impl CoalescingDelay {
    /// Records the number of messages that were dispatched with a broadcast.
    pub fn record(&mut self, together: usize) {
        let is_overdue = std::mem::take(&mut self.is_overdue);
        // Lowered gradually: on a busy machine the senders may not have run within one wait.
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

    /// Whether a broadcast waits, given the number of `waiting` messages, itself included. If so, `task` is woken at
    /// the end of the wait.
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

    /// Waits until the delay is over.
    async fn wait_to_end(delay: &mut CoalescingDelay, waiting: usize) {
        let over = poll_fn(|task| if delay.should_wait(waiting, task) { Poll::Pending } else { Poll::Ready(()) });
        tokio::time::timeout(Duration::from_secs(10), over).await.expect("woken when its time is over");
    }

    #[actix::test]
    async fn a_single_broadcast_is_not_delayed() {
        let mut delay = CoalescingDelay::default();
        for _ in 0..3 {
            assert!(!should_wait(&mut delay, 1).await);
            delay.record(1);
        }
    }

    #[actix::test]
    async fn after_broadcasts_arrived_together_the_next_ones_wait_for_a_bounded_time() {
        let mut delay = CoalescingDelay::default();
        delay.record(3);
        assert!(should_wait(&mut delay, 5).await);
        assert!(!should_wait(&mut delay, 6).await);
        wait_to_end(&mut delay, 5).await;
    }

    #[actix::test]
    async fn after_useless_waits_no_more_are_expected_than_arrived_together() {
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
    async fn single_broadcasts_are_soon_not_delayed_after_others_arrived_together() {
        let mut delay = CoalescingDelay::default();
        delay.record(64);
        for _ in 0..16 {
            delay.record(1);
        }
        assert!(!should_wait(&mut delay, 1).await);
    }
}
