//! Whether a broadcast waits a moment for the next ones, to be written together with them.
//!
//! One write to each of a thousand sockets takes milliseconds, whether it holds one frame or fifty. When broadcasts come faster
//! than that, they pile up behind the one that is being written; those that came together once will come together again.
//! A broadcast that comes alone never waits.

use std::future::Future as _;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// The longest wait, rounded up by the runtime's clock to the next millisecond: less than what it saves in writing.
const PATIENCE: Duration = Duration::from_millis(1);

/// See the module.
#[derive(Default)]
pub struct Company {
    /// How many messages are likely to be handed out together, the broadcast included.
    expected: usize,
    wait: Option<Pin<Box<Sleep>>>,
}

impl Company {
    /// Notes how many messages were handed out with a broadcast.
    pub fn expect(&mut self, together: usize) {
        // Given up bit by bit: on a busy machine those that send may not have had the processor within one wait.
        self.expected = together.max(self.expected / 4 * 3);
    }

    /// Whether a broadcast with `waiting` messages, itself included, is kept; if so, `task` is woken when its time is over.
    pub fn is_awaited(&mut self, waiting: usize, task: &mut Context<'_>) -> bool {
        if waiting >= self.expected {
            self.wait = None;
            return false;
        }
        let wait = self.wait.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        let is_over = wait.as_mut().poll(task).is_ready();
        if is_over {
            self.wait = None;
        }
        !is_over
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

    #[actix::test]
    async fn a_broadcast_waits_for_as_many_as_came_together_before_and_no_longer_than_its_time() {
        let mut company = Company::default();
        assert!(!is_awaited(&mut company, 1).await);
        company.expect(3);
        assert!(is_awaited(&mut company, 2).await);
        assert!(!is_awaited(&mut company, 3).await);
        let alone = poll_fn(|task| if company.is_awaited(2, task) { Poll::Pending } else { Poll::Ready(()) });
        tokio::time::timeout(Duration::from_secs(10), alone).await.expect("woken when its time is over");
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
