//! The distinct ways in which matches are told, interned: sessions that subscribe alike share one, and one emit builds
//! one frame for each.

use super::index::DeliveryId;
use crate::condition::document::Document;
use crate::protocol::codes::GapReason;
use crate::protocol::frame::TextFrameBuilder;
use crate::protocol::messages::{self, EventId, WriteData};
use crate::session::registration::Delivery;
use bytes::Bytes;
use hashbrown::HashMap;
use slab::Slab;
use std::sync::Arc;

/// What a notification holds beside its event data, about.
const ENVELOPE_BYTES: usize = 128;

struct Shared {
    delivery: Arc<Delivery>,
    holders: usize,
}

/// See the module.
#[derive(Default)]
pub(super) struct Deliveries {
    ids: HashMap<Arc<Delivery>, DeliveryId>,
    shared: Slab<Shared>,
}

impl Deliveries {
    /// The id of a delivery, held once more.
    pub fn intern(&mut self, delivery: Delivery) -> DeliveryId {
        if let Some(id) = self.ids.get(&delivery) {
            self.shared[id.0 as usize].holders += 1;
            return *id;
        }
        let delivery = Arc::new(delivery);
        let place = self.shared.insert(Shared { delivery: delivery.clone(), holders: 1 });
        let id = DeliveryId(u32::try_from(place).expect("a delivery takes more than a byte of memory"));
        self.ids.insert(delivery, id);
        id
    }

    /// Lets one hold of a delivery go.
    pub fn release(&mut self, id: DeliveryId) {
        let shared = &mut self.shared[id.0 as usize];
        shared.holders -= 1;
        if shared.holders == 0 {
            let shared = self.shared.remove(id.0 as usize);
            self.ids.remove(&shared.delivery);
        }
    }

    /// The event id that a delivery is told under.
    pub fn event_id(&self, id: DeliveryId) -> EventId {
        self.shared[id.0 as usize].delivery.event_id
    }

    /// The whole frame that tells `document`, the data of an emit of `event`.
    pub fn build_frame(&self, id: DeliveryId, event: &str, document: &Document<'_>) -> Bytes {
        let delivery = &self.shared[id.0 as usize].delivery;
        let mut frame = TextFrameBuilder::with_capacity(ENVELOPE_BYTES + event.len() + document.text().len());
        let write_data = |out: &mut Vec<u8>| match &delivery.selection {
            None => out.extend_from_slice(document.text().as_bytes()),
            Some(selection) => selection.apply(document, out),
        };
        let write_data: Option<&WriteData<'_>> = if delivery.with_data { Some(&write_data) } else { None };
        messages::write_notification(frame.buffer(), delivery.event_id, event, write_data);
        frame.finish()
    }
}

/// The whole frame that says that notifications may have been missed.
pub(super) fn build_gap_frame(event_id: EventId, reason: GapReason) -> Bytes {
    let mut frame = TextFrameBuilder::with_capacity(ENVELOPE_BYTES);
    messages::write_gap(frame.buffer(), event_id, reason);
    frame.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_deliveries_are_one_until_the_last_is_let_go() {
        let mut deliveries = Deliveries::default();
        let delivery = Delivery { event_id: EventId(1), selection: None, with_data: true };
        let first = deliveries.intern(delivery.clone());
        assert_eq!(deliveries.intern(delivery), first);
        deliveries.release(first);
        assert_eq!(deliveries.ids.len(), 1);
        deliveries.release(first);
        assert!(deliveries.ids.is_empty() && deliveries.shared.is_empty());
    }
}
