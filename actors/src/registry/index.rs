//! Who wants to hear what: the subscriptions of all channels of a node, found without trying each.

use crate::condition::{Condition, document::Document};
use crate::session::session_ref::SessionRef;

/// A (project, event) with subscribers on this node; numbered by the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelId(pub u32);

/// How a match is told: the registry's interned (event id, selection, with or without data).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeliveryId(pub u32);

/// Names one subscription on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionId(pub u32);

/// The index.
#[derive(Default)]
pub struct SubscriptionIndex {}

impl SubscriptionIndex {
    /// Adds a subscription; `None` matches everything.
    pub fn insert(
        &mut self,
        channel: ChannelId,
        condition: Option<Condition>,
        delivery: DeliveryId,
        target: SessionRef,
    ) -> SubscriptionId {
        let _ = (channel, condition, delivery, target);
        todo!()
    }

    /// Removes a subscription, if it is still `target`'s.
    pub fn remove(&mut self, id: SubscriptionId, target: SessionRef) -> Option<(ChannelId, DeliveryId)> {
        let _ = (id, target);
        todo!()
    }

    /// Calls `on_match` once for each subscription of `channel` whose condition the event data meets, those of one
    /// delivery and condition one after the other.
    pub fn find(
        &mut self,
        channel: ChannelId,
        document: &Document<'_>,
        on_match: &mut dyn FnMut(DeliveryId, SessionRef),
    ) {
        let _ = (channel, document, on_match);
        todo!()
    }

    /// Subscriptions held.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
