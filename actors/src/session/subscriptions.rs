//! The subscriptions of one session. Nearly every session has few, so the first one costs no allocation.

use crate::ids::SubscriptionId;
use crate::protocol::messages::EventId;

type Entry = (EventId, SubscriptionId);

#[derive(Default)]
enum Entries {
    #[default]
    None,
    One(Entry),
    #[expect(
        clippy::box_collection,
        reason = "every session pays for the size of this enum, and few need this variant"
    )]
    Many(Box<Vec<Entry>>),
}

/// The ids of a session's subscriptions.
#[derive(Default)]
pub(super) struct Subscriptions {
    entries: Entries,
    /// Subscriptions that the registry has not answered yet. They count against the limit already.
    pending: u32,
    last_event_id: u32,
}

impl Subscriptions {
    /// The number of subscriptions, including pending ones.
    pub fn len(&self) -> usize {
        let held = match &self.entries {
            Entries::None => 0,
            Entries::One(_) => 1,
            Entries::Many(entries) => entries.len(),
        };
        held + self.pending as usize
    }

    /// A new id, unique in the session. Sessions that subscribe in the same order have equal ids. `None` if the
    /// session has used all ids.
    pub fn next_event_id(&mut self) -> Option<EventId> {
        self.last_event_id = self.last_event_id.checked_add(1)?;
        Some(EventId(self.last_event_id))
    }

    /// Notes subscriptions that are sent to the registry.
    pub fn note_pending(&mut self, specs: usize) {
        self.pending += u32::try_from(specs).expect("the length of a message bounds its entries far below 2^32");
    }

    /// Notes that pending subscriptions were answered.
    pub fn note_answered(&mut self, specs: usize) {
        self.pending = self.pending.saturating_sub(u32::try_from(specs).unwrap_or(u32::MAX));
    }

    /// Adds a subscription.
    pub fn insert(&mut self, event: EventId, id: SubscriptionId) {
        match &mut self.entries {
            Entries::None => self.entries = Entries::One((event, id)),
            Entries::One(first) => self.entries = Entries::Many(Box::new(vec![*first, (event, id)])),
            Entries::Many(entries) => entries.push((event, id)),
        }
    }

    /// Removes a subscription.
    pub fn remove(&mut self, event: EventId) -> Option<SubscriptionId> {
        match &mut self.entries {
            Entries::One((held, id)) if *held == event => {
                let id = *id;
                self.entries = Entries::None;
                Some(id)
            }
            Entries::Many(entries) => {
                let position = entries.iter().position(|(held, _)| *held == event)?;
                Some(entries.swap_remove(position).1)
            }
            _ => None,
        }
    }

    /// Removes all subscriptions.
    pub fn take_all(&mut self) -> Vec<SubscriptionId> {
        match std::mem::take(&mut self.entries) {
            Entries::None => Vec::new(),
            Entries::One((_, id)) => vec![id],
            Entries::Many(entries) => entries.into_iter().map(|(_, id)| id).collect(),
        }
    }
}
