//! The distinct deliveries (event id, selection, with or without data), interned. Subscriptions with equal deliveries
//! share one, and a publication builds one frame for each.

use super::index::DeliveryId;
use super::index::interner::Interner;
use crate::condition::document::Document;
use crate::protocol::codes::GapReason;
use crate::protocol::frame::{OutgoingFrame, SharedData, TextFrameBuilder};
use crate::protocol::messages::{self, EventId, WriteData};
use crate::session::request::Delivery;
use bytes::Bytes;

/// Approximate size of a notification without its event data and event name.
const ENVELOPE_BYTES: usize = 128;

/// The deliveries of all subscriptions.
#[derive(Default)]
pub(super) struct Deliveries(Interner<Delivery>);

impl Deliveries {
    /// The id of a delivery. Adds a holder.
    pub fn intern(&mut self, delivery: &Delivery) -> DeliveryId {
        DeliveryId(self.0.acquire(delivery, || delivery.clone()))
    }

    /// Removes a holder of a delivery.
    pub fn release(&mut self, id: DeliveryId) {
        self.0.release(id.0);
    }

    /// The event id in the notifications of a delivery.
    pub fn event_id(&self, id: DeliveryId) -> EventId {
        self.0[id.0].event_id
    }

    /// The complete frame of a notification of `event` with `document` as its data.
    /// With `shared`, a copy of that data, frames with the whole data refer to it instead of copying it.
    pub fn build_frame(
        &self,
        id: DeliveryId,
        event: &str,
        document: &Document<'_>,
        shared: Option<&Bytes>,
    ) -> OutgoingFrame {
        let delivery = &self.0[id.0];
        if let (Some(data), true, None) = (shared, delivery.with_data, &delivery.selection) {
            let mut frame = TextFrameBuilder::with_capacity(ENVELOPE_BYTES + event.len());
            messages::write_notification_head(frame.buffer(), delivery.event_id, event);
            let shared = SharedData { data: data.clone(), end: messages::NOTIFICATION_END };
            let head = frame.finish_head(shared.data.len() + shared.end.len());
            return OutgoingFrame { head, shared: Some(shared) };
        }
        let mut frame = TextFrameBuilder::with_capacity(ENVELOPE_BYTES + event.len() + document.text().len());
        let write_data = |out: &mut Vec<u8>| match &delivery.selection {
            None => out.extend_from_slice(document.text().as_bytes()),
            Some(selection) => selection.apply(document, out),
        };
        let write_data: Option<&WriteData<'_>> = if delivery.with_data { Some(&write_data) } else { None };
        messages::write_notification(frame.buffer(), delivery.event_id, event, write_data);
        frame.finish().into()
    }
}

/// The complete frame of a `GAP`: notifications may have been missed.
pub(super) fn build_gap_frame(event_id: EventId, reason: GapReason) -> Bytes {
    let mut frame = TextFrameBuilder::with_capacity(ENVELOPE_BYTES);
    messages::write_gap(frame.buffer(), event_id, reason);
    frame.finish()
}
