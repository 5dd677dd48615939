//! What the registry does when the bus says that it missed something: each subscription of the channels is told `GAP`,
//! after what arrived before.

use super::deliveries::build_gap_frame;
use super::index::ChannelId;
use super::on_published::Told;
use super::{SessionRegistry, Waiting};
use crate::backpressure::QueuePermit;
use crate::bus::Missed;
use crate::protocol::messages::EventId;
use actix::prelude::*;
use hashbrown::{HashMap, HashSet};

impl Handler<Missed> for SessionRegistry {
    type Result = ();

    fn handle(&mut self, message: Missed, ctx: &mut Context<Self>) {
        self.waiting.push_back(Waiting::Missed(message));
        self.tell_waiting(ctx);
    }
}

impl SessionRegistry {
    /// One frame for each event id, whatever the condition: what was missed can't be matched.
    pub(super) fn tell_gap(&mut self, missed: &Missed) {
        let channels: HashSet<ChannelId> = missed.channels.iter().filter_map(|key| self.channels.find(key)).collect();
        let mut told: Vec<Told> = Vec::new();
        let mut places: HashMap<EventId, usize> = HashMap::new();
        let mut subscriptions = 0;
        let (deliveries, workers) = (&self.deliveries, self.hubs.len());
        self.index.for_each(&|channel| channels.contains(&channel), &mut |delivery, session| {
            subscriptions += 1;
            let event_id = deliveries.event_id(delivery);
            let place = *places.entry(event_id).or_insert_with(|| {
                told.push(Told::new(build_gap_frame(event_id, missed.reason), workers, 0));
                told.len() - 1
            });
            told[place].push(session);
        });
        self.counters.count_gaps(missed.reason, subscriptions);
        self.tell_hubs(told, &QueuePermit::default());
    }
}
