//! How a hub hands out what the registry said: in its order, a turn's worth at a time, and frames that go to the same
//! sessions one after the other as one.

use super::coalescing::CoalescedFrames;
use super::messages::{Answer, Answers, Dispatch};
use super::{Incoming, SessionHub};
use crate::backpressure::{FanOutPermit, QueuePermit};
use crate::session::{Subscribed, Unsubscribed, release_orphans};
use std::task::Context as TaskContext;

/// Frames and answers handed out in one turn, after which they are written and sockets are looked at: a storm of
/// broadcasts must not keep pings and other clients waiting. Frames that are joined count once.
const DISPATCHES_PER_TURN: usize = 16_384;

/// From how many sessions on writing an emit takes far longer than others need to catch up with it.
const BROADCAST_SESSIONS: usize = 256;

/// What is under way in one turn: the last frames, which the next may still join, and the room that they take up to here.
struct DispatchTurn {
    left: usize,
    last: Option<CoalescedFrames>,
    permits: Vec<(QueuePermit, FanOutPermit)>,
}

impl SessionHub {
    /// Whether the broadcast in front is kept for those that are expected to follow at once.
    pub(super) fn delays_broadcast(&mut self, task: &mut TaskContext<'_>) -> bool {
        self.is_broadcast_next() && self.coalescing_delay.should_wait(self.incoming.len(), task)
    }

    fn is_broadcast_next(&self) -> bool {
        match self.incoming.front() {
            Some(Incoming::Dispatch(message)) => message.frames.iter().any(|t| t.sessions.len() >= BROADCAST_SESSIONS),
            _ => false,
        }
    }

    /// Hands out what the registry said, in its order, up to a turn's worth.
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

    /// Delivers the last frames to their sessions, and releases the permits of all messages before the present one.
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
    async fn a_ping_is_answered_before_a_storm_is_handed_out_to_its_end() {
        let hub = HubUnderTest::start();
        let (mut peer, adopt) = hub.client();
        hub.address.send(adopt).await.expect("the hub lives");
        peer.say(PING);
        let nobody = SessionRef { generation: 0, ..FIRST };
        for _ in 0..16 {
            let storm = (0..DISPATCHES_PER_TURN).map(|_| testing::unregistered(nobody));
            hub.address.do_send(Answers(storm.collect()));
        }
        hub.address.do_send(Answers(vec![testing::unregistered(FIRST)]));
        testing::turns(1000).await;
        let heard = peer.hear("UNREGISTER", 1);
        let (pong, last) = (heard.find("ping"), heard.find("UNREGISTER"));
        assert!(pong.is_some() && pong < last, "{heard:?}");
    }
}
