//! A hub's turn: what the registry said is dispatched, sockets that are ready are read, then one write per session that
//! has something to say, then one message to the registry. The messages of the mailbox came just before it.

use super::SessionHub;
use super::messages::Requests;
use super::poller::Readiness;
use crate::session::{Flush, ReadOn, Readable, TokensVerified};
use actix::fut::ActorFuture;
use actix::prelude::*;
use std::future::Future as _;
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};
use tokio::task::yield_now;

/// Rounds of readiness in one turn, after which other tasks of the worker have theirs.
const ROUNDS_A_TURN: usize = 4;

/// Sessions written to in one turn of those that were handed something out, about a millisecond of work: between two portions
/// of a broadcast the worker answers HTTP calls, and the emits that come in meanwhile are written together after it.
const WRITES_A_TURN: usize = 64;

/// What a hub does in each of its turns, after the messages of its mailbox. Never ends.
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
        // What was dispatched is written before more is: frames that wait meanwhile are joined.
        let is_writing = hub.unwritten >= WRITES_A_TURN;
        let is_delayed = !is_writing && hub.delays_broadcast(task);
        if !is_writing && !is_delayed {
            let before = hub.ctx.dirty.len();
            hub.dispatch();
            hub.unwritten += hub.ctx.dirty.len() - before;
        }
        hub.on_unread();
        hub.scan_for_disconnects();
        let is_drained = (0..ROUNDS_A_TURN).any(|_| hub.poll_sockets(task).is_pending());
        hub.settle(ctx);
        let has_incoming = !is_delayed && !hub.incoming.is_empty();
        let is_written = hub.ctx.dirty.is_empty();
        if !is_drained
            || !is_written
            || has_incoming
            || !hub.ctx.unread.is_empty()
            || hub.disconnect_scan.is_under_way()
        {
            // Woken after the runtime has looked at sockets, the hub's and the worker's others: woken at once, it would have
            // some sixty turns before that.
            let _ = pin!(yield_now()).poll(task);
        }
        Poll::Pending
    }
}

impl SessionHub {
    /// One round of readiness; `Pending` when there is no more for now.
    fn poll_sockets(&mut self, task: &mut TaskContext<'_>) -> Poll<()> {
        let Some(poller) = &mut self.poller else { return Poll::Pending };
        match poller.poll(task, &mut self.ready) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => {
                self.on_readiness();
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                log::error!("worker {} lost its sockets: {error}", self.worker);
                self.poller = None;
                Poll::Pending
            }
        }
    }

    fn on_readiness(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for Readiness { slot, is_readable, is_writable, is_read_closed } in ready.drain(..) {
            // A socket leaves the poll when it is dropped, so that an event names the slot's present tenant; one that
            // was taken in the same round is at most polled for nothing.
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
            self.with(session, ReadOn);
        }
    }

    /// The end of a turn: what the sessions left to do is done.
    pub(super) fn settle(&mut self, ctx: &mut Context<Self>) {
        let mut requests = Vec::new();
        // What clients asked for is answered at once: however much they ask, a turn brings what was dispatched nearer its end.
        let kept = self.unwritten.saturating_sub(WRITES_A_TURN);
        while !self.ctx.requests.is_empty() || self.ctx.dirty.len() > kept {
            let asked = std::mem::take(&mut self.ctx.requests);
            // What is refused is answered, and has something to write.
            requests.extend(self.authorize_requests(asked, ctx));
            while self.ctx.dirty.len() > kept
                && let Some(slot) = self.ctx.dirty.pop_front()
            {
                if let Some(session) = self.sessions.at(slot) {
                    self.with(session, Flush);
                }
            }
        }
        self.unwritten = kept;
        for (session, patience_seconds) in self.ctx.closing.drain(..) {
            self.closing_deadlines.insert((self.ctx.now + patience_seconds).into(), session);
        }
        for (session, deadline) in self.ctx.write_deadlines.drain(..) {
            self.write_deadlines.insert(deadline.into(), session);
        }
        for session in self.ctx.expiring.drain(..) {
            if let Some(found) = self.sessions.find(session) {
                self.expiry.insert(found.note_end(), session);
            }
        }
        self.ctx.counters.notifications.add(std::mem::take(&mut self.ctx.notifications));
        for request in std::mem::take(&mut self.ctx.refreshes) {
            let (session, guid) = (request.session, request.guid.clone());
            let verdict = self.authorizer.verify_tokens(request).into_actor(self);
            ctx.spawn(verdict.map(move |result, hub, ctx| {
                hub.with(session, TokensVerified { guid, result });
                // Futures behind the turn's are polled after it, and nothing else would wake the hub.
                hub.settle(ctx);
            }));
        }
        if !requests.is_empty() {
            // Bounded by the sessions: each has at most its messages of a second and its subscriptions under way.
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
    async fn what_the_registry_says_while_others_are_welcomed_waits_for_no_later_event() {
        for others in [1, 3 * WRITES_A_TURN] {
            let hub = HubUnderTest::start();
            let (mut peer, adopt) = hub.client();
            hub.address.send(adopt).await.expect("the hub lives");
            let (_peers, adopts): (Vec<Peer>, Vec<_>) = (0..others).map(|_| hub.client()).unzip();
            for adopt in adopts {
                hub.address.do_send(adopt);
            }
            hub.address.do_send(Answers(vec![testing::unregistered(FIRST)]));
            testing::turns(1000).await;
            let heard = peer.hear("UNREGISTER", 1);
            assert!(heard.contains("UNREGISTER"), "beside {others} others: {heard:?}");
        }
    }

    #[actix::test]
    async fn what_the_registry_says_is_told_while_every_client_keeps_the_hub_busy() {
        let hub = HubUnderTest::start();
        let mut peers = Vec::new();
        for _ in 0..3 * WRITES_A_TURN {
            let (peer, adopt) = hub.client();
            hub.address.send(adopt).await.expect("the hub lives");
            peers.push(peer);
        }
        let everybody =
            (0..).zip(1..).map(|(slot, generation)| SessionRef { worker: 0, slot, generation }).take(peers.len());
        hub.address.do_send(Answers(everybody.map(testing::unregistered).collect()));
        for turn in 0..200 {
            if turn == 50 {
                hub.address.do_send(Answers(vec![testing::unregistered(FIRST)]));
            }
            peers.iter_mut().for_each(|peer| peer.say(PING));
            testing::turns(1).await;
        }
        assert_eq!(peers[0].hear("UNREGISTER", 2).matches("UNREGISTER").count(), 2);
    }
}
