//! The distinct ways in which matches are told, interned: sessions that subscribe alike share one, and one emit builds
//! one frame for each.

use super::index::DeliveryId;
use super::index::interner::Interner;
use crate::condition::document::Document;
use crate::protocol::codes::GapReason;
use crate::protocol::frame::TextFrameBuilder;
use crate::protocol::messages::{self, EventId, WriteData};
use crate::session::request::Delivery;
use bytes::Bytes;

/// What a notification holds beside its event data, about.
const ENVELOPE_BYTES: usize = 128;

/// See the module.
#[derive(Default)]
pub(super) struct Deliveries(Interner<Delivery>);

impl Deliveries {
    /// The id of a delivery, held once more.
    pub fn intern(&mut self, delivery: &Delivery) -> DeliveryId {
        DeliveryId(self.0.acquire(delivery, || delivery.clone()))
    }

    /// Lets one hold of a delivery go.
    pub fn release(&mut self, id: DeliveryId) {
        self.0.release(id.0);
    }

    /// The event id that a delivery is told under.
    pub fn event_id(&self, id: DeliveryId) -> EventId {
        self.0[id.0].event_id
    }

    /// The whole frame that tells `document`, the data of an emit of `event`.
    pub fn build_frame(&self, id: DeliveryId, event: &str, document: &Document<'_>) -> Bytes {
        let delivery = &self.0[id.0];
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
