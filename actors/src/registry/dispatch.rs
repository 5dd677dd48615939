//! Dispatches frames to the hubs. Input from the bus waits here while the hubs have no room, and each hub receives its
//! frames in one message.

use super::SessionRegistry;
use super::matches::{Match, SessionsByWorker};
use crate::backpressure::{FanOut, FanOutDrained, QueuePermit};
use crate::bus::{Missed, Published};
use crate::hub::messages::{Dispatch, TargetedFrame};
use crate::ids::SessionRef;
use crate::protocol::frame::OutgoingFrame;
use actix::prelude::*;
use bytes::Bytes;
use std::collections::VecDeque;

/// Input from the bus that is not dispatched yet.
pub(super) enum Waiting {
    Published(Published),
    /// Only at the front of the queue.
    Remainder(Remainder),
    Missed(Missed),
}

/// The matches of a publication that are not dispatched yet, because the hubs had no more room.
pub(super) struct Remainder {
    pub published: Published,
    pub matches: VecDeque<Match>,
}

/// One frame and the sessions that receive it.
pub(super) struct FrameForSessions {
    pub frame: OutgoingFrame,
    pub sessions: SessionsByWorker,
    pub notifications: u32,
}

impl FrameForSessions {
    /// A frame without sessions.
    pub fn new(frame: Bytes, workers: usize, notifications: u32) -> FrameForSessions {
        FrameForSessions { frame: frame.into(), sessions: SessionsByWorker::new(workers), notifications }
    }

    /// Adds a session.
    pub fn push(&mut self, session: SessionRef) {
        self.sessions.push(session);
    }
}

impl Handler<FanOutDrained> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, _: FanOutDrained, ctx: &mut Context<Self>) {
        self.dispatch_waiting(ctx);
    }
}

impl SessionRegistry {
    /// Dispatches waiting publications and gaps while the hubs have room.
    pub(super) fn dispatch_waiting(&mut self, ctx: &mut Context<Self>) {
        while self.has_room() {
            match self.waiting.pop_front() {
                Some(Waiting::Published(published)) => self.dispatch_published(published),
                Some(Waiting::Remainder(remainder)) => self.dispatch_remainder(remainder),
                Some(Waiting::Missed(missed)) => self.dispatch_gap(&missed),
                None => return,
            }
            if !self.is_partly_dispatched() {
                self.run_deferred(ctx);
            }
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.fan_out.as_ref().is_some_and(FanOut::has_room)
    }

    /// Whether a publication is partly dispatched. Requests of sessions must then wait for the remainder.
    pub(super) fn is_partly_dispatched(&self) -> bool {
        matches!(self.waiting.front(), Some(Waiting::Remainder(_)))
    }

    /// Sends each hub its frames in one message.
    pub(super) fn dispatch_frames(&self, frames: Vec<FrameForSessions>, queue_permit: &QueuePermit) {
        let workers = self.hubs.len();
        let mut by_worker: Vec<Vec<TargetedFrame>> = std::iter::repeat_with(Vec::new).take(workers).collect();
        for FrameForSessions { frame, sessions, notifications } in frames {
            for (targeted, sessions) in by_worker.iter_mut().zip(sessions.0) {
                if !sessions.is_empty() {
                    targeted.push(TargetedFrame { frame: frame.clone(), sessions, notifications });
                }
            }
        }
        for (hub, frames) in self.hubs.iter().zip(by_worker) {
            if let (Some(hub), Some(fan_out), false) = (hub, &self.fan_out, frames.is_empty()) {
                let fan_out_permit = fan_out.acquire(frames.iter().map(TargetedFrame::bytes).sum());
                // The message must not be refused. Its bytes are bounded by queue_permit and fan_out_permit.
                let (publication, queue_permit) = (self.publication, queue_permit.clone());
                hub.do_send(Dispatch { publication, frames, queue_permit, fan_out_permit });
            }
        }
    }
}
