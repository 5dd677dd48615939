//! Dispatches the messages of the registry to the sessions: in order, a bounded number per turn, and consecutive frames
//! for the same sessions as one.

use super::coalescing::CoalescedFrames;
use super::messages::{Answer, Answers, Dispatch};
use super::{Incoming, SessionHub};
use crate::backpressure::{FanOutPermit, QueuePermit};
use crate::session::{Subscribed, Unsubscribed, release_orphans};
use std::task::Context as TaskContext;

/// Maximum number of frames and answers dispatched in one turn. After it they are written and the sockets are polled,
/// so a storm of broadcasts does not delay pings and other clients. Coalesced frames count once.
const DISPATCHES_PER_TURN: usize = 16_384;

/// Minimum number of sessions of a broadcast. Writing to so many takes longer than the next emits need to arrive.
const BROADCAST_SESSIONS: usize = 256;

/// The state of one turn: the last frames, which may be coalesced with the next ones, and the permits that they hold.
struct DispatchTurn {
    left: usize,
    last: Option<CoalescedFrames>,
    permits: Vec<(QueuePermit, FanOutPermit)>,
}

impl SessionHub {
    /// Whether the next broadcast is delayed, because others are expected to follow at once.
    pub(super) fn delays_broadcast(&mut self, task: &mut TaskContext<'_>) -> bool {
        self.is_broadcast_next() && self.coalescing_delay.should_wait(self.incoming.len(), task)
    }

    fn is_broadcast_next(&self) -> bool {
        match self.incoming.front() {
            Some(Incoming::Dispatch(message)) => message.frames.iter().any(|t| t.sessions.len() >= BROADCAST_SESSIONS),
            _ => false,
        }
    }

    /// Dispatches the messages of the registry in order, up to the limit of a turn.
    pub(super) fn dispatch(&mut self) {
        let is_broadcast = self.is_broadcast_next();
        let before = self.incoming.len();
        let mut turn = DispatchTurn { left: DISPATCHES_PER_TURN, last: None, permits: Vec::new() };
        while turn.left > 0 {
            match self.incoming.pop_front() {
                None => break,
                Some(Incoming::Dispatch(message)) => self.deliver(message, &mut turn),
                Some(Incoming::Answers(message)) => {
                    self.flush_last(&mut turn);
                    turn.left = turn.left.saturating_sub(message.0.len());
                    self.answer(message);
                }
            }
        }
        self.flush_last(&mut turn);
        if is_broadcast {
            self.coalescing_delay.record(before - self.incoming.len());
        }
    }

    fn deliver(&mut self, message: Dispatch, turn: &mut DispatchTurn) {
        let publication = message.publication;
        for frame in message.frames {
            let is_coalesced = turn.last.as_mut().is_some_and(|last| last.add(publication, &frame));
            if !is_coalesced {
                self.flush_last(turn);
                turn.left = turn.left.saturating_sub(frame.sessions.len());
                turn.last = Some(CoalescedFrames::new(publication, frame));
            }
        }
        turn.permits.push((message.queue_permit, message.fan_out_permit));
    }

    /// Delivers the last frames to their sessions, and releases the permits of all earlier messages.
    fn flush_last(&mut self, turn: &mut DispatchTurn) {
        if let Some((deliver, sessions)) = turn.last.take().map(CoalescedFrames::finish) {
            for session in sessions {
                self.with(session, deliver.clone());
            }
        }
        turn.permits.clear();
    }

    fn answer(&mut self, message: Answers) {
        for answer in message.0 {
            match answer {
                Answer::Subscribed { session, results, answer } => {
                    if self.sessions.holds(session) {
                        self.with(session, Subscribed { results, answer });
                    } else {
                        release_orphans(session, &results, &mut self.ctx);
                    }
                }
                Answer::Unsubscribed { session, answer } => {
                    self.with(session, Unsubscribed(*answer));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, FIRST, HubUnderTest, PING};
    use super::*;
    use crate::ids::SessionRef;

    #[actix::test]
    async fn a_ping_is_answered_before_a_storm_is_completely_dispatched() {
        let hub = HubUnderTest::start();
        let (mut peer, adopt) = hub.client();
        hub.address.send(adopt).await.expect("the hub lives");
        peer.send(PING);
        let gone = SessionRef { generation: 0, ..FIRST };
        for _ in 0..16 {
            let storm = (0..DISPATCHES_PER_TURN).map(|_| testing::unregistered(gone));
            hub.address.do_send(Answers(storm.collect()));
        }
        hub.address.do_send(Answers(vec![testing::unregistered(FIRST)]));
        testing::turns(1000).await;
        let received = peer.read_until("UNREGISTER", 1);
        let (pong, last) = (received.find("ping"), received.find("UNREGISTER"));
        assert!(pong.is_some() && pong < last, "{received:?}");
    }
}
