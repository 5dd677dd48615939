//! Collects how many sessions each node ended for a disconnect-user call.
//!
//! The call takes a number and announces it on the bus. Each node that carries it out replies with the number and its
//! count of sessions, and the call adds the counts up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// How long a call waits for the replies of all nodes.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// The most replies that wait for one call: more nodes than share one Redis.
const MAX_REPLIES: usize = 1_000;

/// The calls of this node that wait for replies. Clones share them.
#[derive(Clone)]
pub struct DisconnectReplies {
    calls: Arc<Mutex<HashMap<u64, mpsc::Sender<u64>>>>,
    next: Arc<AtomicU64>,
}

/// One call that waits. It is forgotten when this is dropped.
pub struct PendingDisconnect {
    /// The number of the call.
    pub call: u64,
    replies: mpsc::Receiver<u64>,
    waiting: DisconnectReplies,
}

/// The sum of the replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnected {
    pub sessions: u64,
    /// The nodes that have replied in time.
    pub nodes: u64,
}

impl DisconnectReplies {
    /// Numbers the calls from `first` on, which must be random: nodes share the numbers.
    pub fn new(first: u64) -> DisconnectReplies {
        DisconnectReplies { calls: Arc::default(), next: Arc::new(AtomicU64::new(first)) }
    }

    /// Begins a call.
    pub fn begin(&self) -> PendingDisconnect {
        let call = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, replies) = mpsc::channel(MAX_REPLIES);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(call, sender);
        PendingDisconnect { call, replies, waiting: self.clone() }
    }

    /// Notes the reply of one node. Returns whether the call is one of this node.
    pub fn add(&self, call: u64, sessions: u64) -> bool {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = calls.get(&call) else { return false };
        // A reply that finds the channel full is lost, and the answer says that a node did not reply.
        let _ = sender.try_send(sessions);
        true
    }
}

impl PendingDisconnect {
    /// Adds the replies up, until `nodes` nodes have replied or the time is over.
    pub async fn collect(self, nodes: u64) -> Disconnected {
        self.collect_within(REPLY_TIMEOUT, nodes).await
    }

    async fn collect_within(mut self, time: Duration, nodes: u64) -> Disconnected {
        let deadline = Instant::now() + time;
        let mut sum = Disconnected { sessions: 0, nodes: 0 };
        while sum.nodes < nodes {
            let Ok(Some(sessions)) = timeout_at(deadline, self.replies.recv()).await else { break };
            sum.sessions += sessions;
            sum.nodes += 1;
        }
        sum
    }
}

impl Drop for PendingDisconnect {
    fn drop(&mut self) {
        self.waiting.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn replies_are_added_up_until_all_nodes_have_replied() {
        let calls = DisconnectReplies::new(7);
        let pending = calls.begin();
        assert!(calls.add(7, 2) && calls.add(7, 1));
        assert!(!calls.add(8, 9), "no such call");
        assert_eq!(pending.collect(2).await, Disconnected { sessions: 3, nodes: 2 });
        assert!(!calls.add(7, 1), "the call is forgotten");
    }

    #[tokio::test]
    async fn a_node_that_does_not_reply_is_not_waited_for_without_end() {
        let calls = DisconnectReplies::new(u64::MAX);
        let pending = calls.begin();
        assert!(calls.add(u64::MAX, 2));
        assert_eq!(pending.collect_within(Duration::from_millis(10), 3).await, Disconnected { sessions: 2, nodes: 1 });
    }
}
