//! What the registry does with an emit that the bus hands it: match, build each frame once, tell each hub once.

use super::deliveries::build_gap_frame;
use super::index::{ChannelId, DeliveryId};
use super::matches::{ByWorker, Gathering, Match, Verdict};
use super::{SessionRegistry, Waiting};
use crate::backpressure::QueuePermit;
use crate::backpressure::{FanOut, FanOutDrained};
use crate::bus::Published;
use crate::condition::document::Document;
use crate::counters::Limit;
use crate::hub::messages::{Dispatch, TargetedFrame};
use crate::ids::SessionRef;
use crate::protocol::codes::GapReason;
use actix::prelude::*;
use bytes::Bytes;
use std::collections::VecDeque;

/// Bytes of frames that are built before the hubs are told and asked for room again: an emit may have as many frames as
/// it has subscribers, each as long as its data.
const PORTION_BYTES: usize = 1 << 20;

/// One frame and whom it is for.
pub(super) struct Told {
    frame: Bytes,
    sessions: ByWorker,
    notifications: u32,
}

impl Told {
    /// A frame for nobody yet.
    pub fn new(frame: Bytes, workers: usize, notifications: u32) -> Told {
        Told { frame, sessions: ByWorker::new(workers), notifications }
    }

    /// Adds a session.
    pub fn push(&mut self, session: SessionRef) {
        self.sessions.push(session);
    }
}

impl Handler<Published> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, message: Published, ctx: &mut Context<Self>) {
        self.waiting.push_back(Waiting::Published(message));
        self.tell_waiting(ctx);
    }
}

impl Handler<FanOutDrained> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, _: FanOutDrained, ctx: &mut Context<Self>) {
        self.tell_waiting(ctx);
    }
}

/// What is left to tell of an emit whose frames were more than the hubs have room for.
pub(super) struct Rest {
    published: Published,
    matches: VecDeque<Match>,
}

impl SessionRegistry {
    /// Tells what waits, until the hubs have enough on their way.
    pub(super) fn tell_waiting(&mut self, ctx: &mut Context<Self>) {
        while self.has_room() {
            match self.waiting.pop_front() {
                Some(Waiting::Published(published)) => self.tell(published),
                Some(Waiting::Rest(rest)) => self.tell_rest(rest),
                Some(Waiting::Missed(missed)) => self.tell_gap(&missed),
                None => return,
            }
            if !self.is_halfway() {
                self.take_deferred(ctx);
            }
        }
    }

    fn has_room(&self) -> bool {
        self.fan_out.as_ref().is_some_and(FanOut::has_room)
    }

    /// Whether an emit is told in part: what subscribes or leaves meanwhile has to wait for the rest of it.
    pub(super) fn is_halfway(&self) -> bool {
        matches!(self.waiting.front(), Some(Waiting::Rest(_)))
    }

    fn tell(&mut self, published: Published) {
        let channel = &published.publication.channel;
        let Some(id) = self.channels.find(channel) else { return };
        let Some(document) = read(&published) else {
            return log::error!("the bus handed over event data that is not JSON: event={:?}", channel.event);
        };
        let matches = self.matches(id, &document);
        if let Some(matches) = self.tell_portions(&published, &document, matches) {
            self.waiting.push_front(Waiting::Rest(Rest { published, matches }));
        }
    }

    fn tell_rest(&mut self, rest: Rest) {
        let Rest { published, matches } = rest;
        let left = read(&published).and_then(|document| self.tell_portions(&published, &document, matches));
        if let Some(matches) = left {
            self.waiting.push_front(Waiting::Rest(Rest { published, matches }));
        }
    }

    /// Builds frames and tells them, a portion at a time; answers what is left when the hubs have no more room.
    fn tell_portions(
        &mut self,
        published: &Published,
        document: &Document<'_>,
        mut matches: VecDeque<Match>,
    ) -> Option<VecDeque<Match>> {
        let event = &published.publication.channel.event;
        while !matches.is_empty() {
            if !self.has_room() {
                return Some(matches);
            }
            let (mut told, mut bytes) = (Vec::new(), 0);
            while bytes < PORTION_BYTES {
                let Some(Match { verdict, delivery, sessions }) = matches.pop_front() else { break };
                let (frame, notifications) = self.build(delivery, verdict, event, document);
                bytes += frame.len();
                told.push(Told { frame, sessions, notifications });
            }
            self.tell_hubs(told, &published.queue_permit);
        }
        None
    }

    /// Tells each hub once.
    pub(super) fn tell_hubs(&self, told: Vec<Told>, queue_permit: &QueuePermit) {
        let workers = self.hubs.len();
        let mut frames: Vec<Vec<TargetedFrame>> = std::iter::repeat_with(Vec::new).take(workers).collect();
        for Told { frame, sessions, notifications } in told {
            for (frames, sessions) in frames.iter_mut().zip(sessions.0) {
                if !sessions.is_empty() {
                    frames.push(TargetedFrame { frame: frame.clone(), sessions, notifications });
                }
            }
        }
        for (hub, frames) in self.hubs.iter().zip(frames) {
            if let (Some(hub), Some(fan_out), false) = (hub, &self.fan_out, frames.is_empty()) {
                let fan_out_permit = fan_out.acquire(frames.iter().map(TargetedFrame::bytes).sum());
                // Must not be refused: what is on its way is bounded in bytes by queue_permit and fan_out_permit.
                hub.do_send(Dispatch { frames, queue_permit: queue_permit.clone(), fan_out_permit });
            }
        }
    }

    /// Who is told so, and, behind them, who is told that it could not be found out.
    fn matches(&mut self, id: ChannelId, document: &Document<'_>) -> VecDeque<Match> {
        let workers = self.hubs.len();
        let (mut met, mut open) = (Gathering::new(Verdict::Met, workers), Gathering::new(Verdict::Undecided, workers));
        let undecided = self.index.find(id, document, &mut |delivery, session| met.add(delivery, session));
        if !undecided.is_empty() {
            self.index.for_each_undecided(&undecided, &mut |delivery, session| open.add(delivery, session));
        }
        if open.count > 0 {
            self.counters.count_limit(Limit::ConditionCost);
            self.counters.count_gaps(GapReason::ConditionTooCostly, open.count as u64);
        }
        let told = met.count + open.count;
        self.counters.condition_drops.add(self.channels.subscribers(id).saturating_sub(told) as u64);
        met.matches.extend(open.matches);
        met.matches
    }

    fn build(&self, delivery: DeliveryId, verdict: Verdict, event: &str, document: &Document<'_>) -> (Bytes, u32) {
        match verdict {
            Verdict::Met => (self.deliveries.build_frame(delivery, event, document), 1),
            Verdict::Undecided => {
                let event_id = self.deliveries.event_id(delivery);
                (build_gap_frame(event_id, GapReason::ConditionTooCostly), 0)
            }
        }
    }
}

fn read(published: &Published) -> Option<Document<'_>> {
    Document::parse(std::str::from_utf8(&published.publication.data).ok()?).ok()
}
