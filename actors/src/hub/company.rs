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
const PATIENCE: Duration = Duration::from_millis(1);

/// For how many broadcasts no more are awaited than came together before, once waiting for more was in vain too often.
const REST: u8 = 8;

/// What one wait that brought more makes up for: so many in vain.
const REWARD: u8 = 2;

/// The most credit.
const MOST_CREDIT: u8 = 8;

/// See the module.
#[derive(Default)]
pub struct Company {
    /// How many messages are likely to be handed out together, the broadcast included.
    expected: usize,
    /// How many were, the last time.
    last: usize,
    /// Waits for more than the last time that may be in vain.
    credit: u8,
    rest: u8,
    wait: Option<Pin<Box<Sleep>>>,
    /// Whether the wait for the broadcast in front took all its time.
    is_overdue: bool,
}

impl Company {
    /// Notes how many messages were handed out with a broadcast.
    pub fn expect(&mut self, together: usize) {
        let is_overdue = std::mem::take(&mut self.is_overdue);
        // Given up bit by bit: on a busy machine those that send may not have had the processor within one wait.
        self.expected = together.max(self.expected / 4 * 3);
        if self.rest > 0 {
            self.rest -= 1;
        } else if together > self.last {
            self.credit = (self.credit + REWARD).min(MOST_CREDIT);
        } else if is_overdue {
            self.credit = self.credit.saturating_sub(1);
            if self.credit == 0 {
                (self.rest, self.credit, self.expected) = (REST, 1, together);
            }
        }
        if self.rest == 0 && together > 1 {
            self.expected = self.expected.max(together * 2);
        }
        self.last = together;
    }

    /// Whether a broadcast with `waiting` messages, itself included, is kept; if so, `task` is woken when its time is over.
    pub fn is_awaited(&mut self, waiting: usize, task: &mut Context<'_>) -> bool {
        if waiting >= self.expected {
            self.wait = None;
            return false;
        }
        let wait = self.wait.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
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

    async fn is_awaited(company: &mut Company, waiting: usize) -> bool {
        poll_fn(|task| Poll::Ready(company.is_awaited(waiting, task))).await
    }

    /// Until the wait is over.
    async fn sit_out(company: &mut Company, waiting: usize) {
        let over = poll_fn(|task| if company.is_awaited(waiting, task) { Poll::Pending } else { Poll::Ready(()) });
        tokio::time::timeout(Duration::from_secs(10), over).await.expect("woken when its time is over");
    }

    #[actix::test]
    async fn a_broadcast_that_comes_alone_goes_at_once() {
        let mut company = Company::default();
        for _ in 0..3 {
            assert!(!is_awaited(&mut company, 1).await);
            company.expect(1);
        }
    }

    #[actix::test]
    async fn after_some_came_together_more_are_awaited_and_no_longer_than_their_time() {
        let mut company = Company::default();
        company.expect(3);
        assert!(is_awaited(&mut company, 5).await);
        assert!(!is_awaited(&mut company, 6).await);
        sit_out(&mut company, 5).await;
    }

    #[actix::test]
    async fn after_waits_in_vain_no_more_are_awaited_than_came_together_for_a_while() {
        let mut company = Company::default();
        company.expect(2);
        for _ in 0..REWARD {
            assert!(is_awaited(&mut company, 2).await);
            sit_out(&mut company, 2).await;
            company.expect(2);
        }
        for _ in 0..REST {
            assert!(is_awaited(&mut company, 1).await);
            assert!(!is_awaited(&mut company, 2).await);
            company.expect(2);
        }
        assert!(is_awaited(&mut company, 2).await);
    }

    #[actix::test]
    async fn broadcasts_that_come_alone_go_at_once_soon_after_others_came_together() {
        let mut company = Company::default();
        company.expect(64);
        for _ in 0..16 {
            company.expect(1);
        }
        assert!(!is_awaited(&mut company, 1).await);
    }
}
