//! A report from the bus that it may have missed publications: every subscription of the channels receives `GAP`, after
//! everything that arrived earlier.

use super::SessionRegistry;
use super::deliveries::build_gap_frame;
use super::dispatch::{FrameForSessions, Waiting};
use super::index::ChannelId;
use crate::backpressure::QueuePermit;
use crate::bus::Missed;
use crate::protocol::messages::EventId;
use actix::prelude::*;
use hashbrown::{HashMap, HashSet};

impl Handler<Missed> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, message: Missed, ctx: &mut Context<Self>) {
        self.waiting.push_back(Waiting::Missed(message));
        self.dispatch_waiting(ctx);
    }
}

impl SessionRegistry {
    /// Builds one frame per event id, whatever the conditions are: missed data cannot be matched.
    pub(super) fn dispatch_gap(&mut self, missed: &Missed) {
        let channels: HashSet<ChannelId> = missed.channels.iter().filter_map(|key| self.channels.find(key)).collect();
        let mut frames: Vec<FrameForSessions> = Vec::new();
        let mut positions: HashMap<EventId, usize> = HashMap::new();
        let mut subscriptions = 0;
        let (deliveries, workers) = (&self.deliveries, self.hubs.len());
        self.index.for_each(&|channel| channels.contains(&channel), &mut |delivery, session| {
            subscriptions += 1;
            let event_id = deliveries.event_id(delivery);
            let position = *positions.entry(event_id).or_insert_with(|| {
                frames.push(FrameForSessions::new(build_gap_frame(event_id, missed.reason), workers, 0));
                frames.len() - 1
            });
            frames[position].push(session);
        });
        self.counters.count_gaps(missed.reason, subscriptions);
        self.dispatch_frames(frames, &QueuePermit::default());
    }
}
