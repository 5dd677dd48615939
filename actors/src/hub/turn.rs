//! A turn of the hub. It runs after the messages of the mailbox: dispatch the registry's messages, read the sockets
//! that are ready, make one write for each session with output, and send one message to the registry.

use super::SessionHub;
use super::messages::Requests;
use super::poller::Readiness;
use crate::session::{ContinueReading, Flush, Readable, TokensVerified};
use actix::fut::ActorFuture;
use actix::prelude::*;
use std::future::Future as _;
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};
use tokio::task::yield_now;

/// Polls of the sockets in one turn. After them the worker's other tasks run.
const POLLS_PER_TURN: usize = 4;

/// Sessions with dispatched frames that are written in one turn, about a millisecond of work. Between two portions of a
/// broadcast the worker answers HTTP calls, and the emits that arrive meanwhile are written together afterwards.
const WRITES_PER_TURN: usize = 64;

/// The turns of a hub, each after the messages of its mailbox. Never ends.
pub(super) struct Turn;

impl ActorFuture<SessionHub> for Turn {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        hub: &mut SessionHub,
        ctx: &mut Context<SessionHub>,
        task: &mut TaskContext<'_>,
    ) -> Poll<()> {
        hub.read_clock();
        // Dispatched frames are written before more are dispatched. Frames that wait meanwhile are coalesced.
        let is_writing = hub.unwritten >= WRITES_PER_TURN;
        let is_delayed = !is_writing && hub.delays_broadcast(task);
        if !is_writing && !is_delayed {
            let before = hub.ctx.dirty.len();
            hub.dispatch();
            hub.unwritten += hub.ctx.dirty.len() - before;
        }
        hub.on_unread();
        hub.scan_for_disconnects();
        let is_drained = (0..POLLS_PER_TURN).any(|_| hub.poll_sockets(task).is_pending());
        hub.settle(ctx);
        let has_incoming = !is_delayed && !hub.incoming.is_empty();
        let is_written = hub.ctx.dirty.is_empty();
        if !is_drained
            || !is_written
            || has_incoming
            || !hub.ctx.unread.is_empty()
            || hub.disconnect_scan.is_under_way()
        {
            // Yield, so that the runtime polls all sockets of the worker first. A direct wake-up would run the hub
            // about sixty times before that.
            let _ = pin!(yield_now()).poll(task);
        }
        Poll::Pending
    }
}

impl SessionHub {
    /// Polls the sockets once. `Pending` if nothing is ready.
    fn poll_sockets(&mut self, task: &mut TaskContext<'_>) -> Poll<()> {
        let Some(poller) = &mut self.poller else { return Poll::Pending };
        match poller.poll(task, &mut self.ready) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => {
                self.on_readiness();
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                log::error!(worker = self.worker, cause:% = error; "the worker can no longer poll its sockets");
                self.poller = None;
                Poll::Pending
            }
        }
    }

    fn on_readiness(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for Readiness { slot, is_readable, is_writable, is_read_closed } in ready.drain(..) {
            // A dropped socket leaves the poll, so an event belongs to the current session of the slot. If the slot was
            // reused in this poll, the new session is at most polled for nothing.
            let Some(session) = self.sessions.at(slot) else { continue };
            if is_writable {
                self.with(session, Flush);
            }
            if is_readable {
                self.with(session, Readable { is_read_closed });
            }
        }
        self.ready = ready;
    }

    fn on_unread(&mut self) {
        for session in std::mem::take(&mut self.ctx.unread) {
            self.with(session, ContinueReading);
        }
    }

    /// The end of a turn: does what the sessions left in the context.
    pub(super) fn settle(&mut self, ctx: &mut Context<Self>) {
        let mut requests = Vec::new();
        // Requests of clients are answered at once, but each turn also writes a portion of the dispatched frames.
        let remaining = self.unwritten.saturating_sub(WRITES_PER_TURN);
        while !self.ctx.requests.is_empty() || self.ctx.dirty.len() > remaining {
            let new = std::mem::take(&mut self.ctx.requests);
            // A refused request is answered here, so its session has output.
            requests.extend(self.authorize_requests(new, ctx));
            while self.ctx.dirty.len() > remaining
                && let Some(slot) = self.ctx.dirty.pop_front()
            {
                if let Some(session) = self.sessions.at(slot) {
                    self.with(session, Flush);
                }
            }
        }
        self.unwritten = remaining;
        for (session, seconds) in self.ctx.closing.drain(..) {
            self.closing_deadlines.insert((self.ctx.now + seconds).into(), session);
        }
        for (session, deadline) in self.ctx.write_deadlines.drain(..) {
            self.write_deadlines.insert(deadline.into(), session);
        }
        for session in self.ctx.expiring.drain(..) {
            if let Some(found) = self.sessions.find(session) {
                self.expiry.insert(found.schedule_expiry(), session);
            }
        }
        self.ctx.counters.notifications.add(std::mem::take(&mut self.ctx.notifications));
        for request in std::mem::take(&mut self.ctx.refreshes) {
            let (session, guid) = (request.session, request.guid.clone());
            let verdict = self.authorizer.verify_tokens(request).into_actor(self);
            ctx.spawn(verdict.map(move |result, hub, ctx| {
                hub.with(session, TokensVerified { guid, result });
                // This future runs after the turn, and nothing else would wake the hub.
                hub.settle(ctx);
            }));
        }
        if !requests.is_empty() {
            // Bounded: each session has a limit of messages per second and of subscriptions.
            self.registry.do_send(Requests { worker: self.worker, requests });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::Answers;
    use super::super::testing::{self, FIRST, HubUnderTest, PING, Peer};
    use super::*;
    use crate::ids::SessionRef;

    #[actix::test]
    async fn answers_that_arrive_while_clients_connect_need_no_later_event() {
        for others in [1, 3 * WRITES_PER_TURN] {
            let hub = HubUnderTest::start();
            let (mut peer, adopt) = hub.client();
            hub.address.send(adopt).await.expect("the hub lives");
            let (_peers, adopts): (Vec<Peer>, Vec<_>) = (0..others).map(|_| hub.client()).unzip();
            for adopt in adopts {
                hub.address.do_send(adopt);
            }
            hub.address.do_send(Answers(vec![testing::unregistered(FIRST)]));
            testing::turns(1000).await;
            let received = peer.read_until("UNREGISTER", 1);
            assert!(received.contains("UNREGISTER"), "beside {others} others: {received:?}");
        }
    }

    #[actix::test]
    async fn answers_are_delivered_while_every_client_keeps_the_hub_busy() {
        let hub = HubUnderTest::start();
        let mut peers = Vec::new();
        for _ in 0..3 * WRITES_PER_TURN {
            let (peer, adopt) = hub.client();
            hub.address.send(adopt).await.expect("the hub lives");
            peers.push(peer);
        }
        let all = (0..).zip(1..).map(|(slot, generation)| SessionRef { worker: 0, slot, generation }).take(peers.len());
        hub.address.do_send(Answers(all.map(testing::unregistered).collect()));
        for turn in 0..200 {
            if turn == 50 {
                hub.address.do_send(Answers(vec![testing::unregistered(FIRST)]));
            }
            peers.iter_mut().for_each(|peer| peer.send(PING));
            testing::turns(1).await;
        }
        assert_eq!(peers[0].read_until("UNREGISTER", 2).matches("UNREGISTER").count(), 2);
    }
}
