//! A publication from the bus: match it, build each frame once, and send each hub one message per batch.

use super::SessionRegistry;
use super::deliveries::build_gap_frame;
use super::dispatch::{FrameForSessions, Remainder, Waiting};
use super::index::{ChannelId, DeliveryId};
use super::matches::{Match, MatchCollector, Verdict};
use crate::bus::Published;
use crate::condition::document::Document;
use crate::counters::Limit;
use crate::protocol::codes::GapReason;
use crate::protocol::frame::OutgoingFrame;
use actix::prelude::*;
use bytes::Bytes;
use std::collections::VecDeque;

/// Bytes of frames in one batch. After each batch the registry checks whether the hubs have room: a publication can
/// have as many frames as subscribers, each as long as the event data.
const BATCH_BYTES: usize = 1 << 20;

/// Event data of this size is shared by the frames of an emit instead of being copied into each. Smaller data is
/// copied, because one buffer is faster to write than three, and so is selected data. Copies are bounded by
/// `limits.queued_bytes` twice: on their way to the hubs by the fan-out permits, and past a session's send buffer by
/// the node's burst bytes.
const SHARED_DATA_BYTES: usize = 16 * 1024;

impl Handler<Published> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, message: Published, ctx: &mut Context<Self>) {
        self.waiting.push_back(Waiting::Published(message));
        self.dispatch_waiting(ctx);
    }
}

impl SessionRegistry {
    pub(super) fn dispatch_published(&mut self, published: Published) {
        let channel = &published.publication.channel;
        let Some(id) = self.channels.find(channel) else { return };
        self.publication += 1;
        let Some(document) = read(&published) else {
            return log::error!("the bus delivered event data that is not JSON: event={:?}", channel.event);
        };
        let matches = self.matches(id, &document);
        if let Some(matches) = self.dispatch_batches(&published, &document, matches) {
            self.waiting.push_front(Waiting::Remainder(Remainder { published, matches }));
        }
    }

    pub(super) fn dispatch_remainder(&mut self, remainder: Remainder) {
        let Remainder { published, matches } = remainder;
        let left = read(&published).and_then(|document| self.dispatch_batches(&published, &document, matches));
        if let Some(matches) = left {
            self.waiting.push_front(Waiting::Remainder(Remainder { published, matches }));
        }
    }

    /// Builds and dispatches frames in batches. Returns the remaining matches if the hubs have no more room.
    fn dispatch_batches(
        &mut self,
        published: &Published,
        document: &Document<'_>,
        mut matches: VecDeque<Match>,
    ) -> Option<VecDeque<Match>> {
        let event = &published.publication.channel.event;
        let text = document.text().as_bytes();
        let shares_data = matches.len() > 1 && text.len() >= SHARED_DATA_BYTES;
        let shared = shares_data.then(|| Bytes::copy_from_slice(text));
        while !matches.is_empty() {
            if !self.has_room() {
                return Some(matches);
            }
            let (mut frames, mut bytes) = (Vec::new(), 0);
            while bytes < BATCH_BYTES {
                let Some(Match { verdict, delivery, sessions }) = matches.pop_front() else { break };
                let (frame, notifications) = self.build(delivery, verdict, event, document, shared.as_ref());
                bytes += frame.head.len();
                frames.push(FrameForSessions { frame, sessions, notifications });
            }
            self.dispatch_frames(frames, &published.queue_permit);
        }
        None
    }

    /// The matches, followed by the subscriptions that could not be decided and receive a gap.
    fn matches(&mut self, id: ChannelId, document: &Document<'_>) -> VecDeque<Match> {
        let workers = self.hubs.len();
        let mut matched = MatchCollector::new(Verdict::Matched, workers);
        let mut undecided = MatchCollector::new(Verdict::Undecided, workers);
        let unresolved = self.index.find(id, document, &mut |delivery, session| matched.add(delivery, session));
        if !unresolved.is_empty() {
            self.index.for_each_undecided(&unresolved, &mut |delivery, session| undecided.add(delivery, session));
        }
        if undecided.count > 0 {
            self.counters.count_limit(Limit::ConditionCost);
            self.counters.count_gaps(GapReason::ConditionTooCostly, undecided.count as u64);
        }
        let notified = matched.count + undecided.count;
        self.counters.condition_drops.add(self.channels.subscribers(id).saturating_sub(notified) as u64);
        matched.matches.extend(undecided.matches);
        matched.matches
    }

    fn build(
        &self,
        delivery: DeliveryId,
        verdict: Verdict,
        event: &str,
        document: &Document<'_>,
        shared: Option<&Bytes>,
    ) -> (OutgoingFrame, u32) {
        match verdict {
            Verdict::Matched => (self.deliveries.build_frame(delivery, event, document, shared), 1),
            Verdict::Undecided => {
                let event_id = self.deliveries.event_id(delivery);
                (build_gap_frame(event_id, GapReason::ConditionTooCostly).into(), 0)
            }
        }
    }
}

fn read(published: &Published) -> Option<Document<'_>> {
    Document::parse(std::str::from_utf8(&published.publication.data).ok()?).ok()
}
