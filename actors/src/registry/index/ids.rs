//! The numbers that the registry gives the index: of channels and of deliveries.

/// A (project, event) with subscribers on this node. The registry assigns the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelId(pub u32);

/// How a match is delivered: the registry's interned (event id, selection, with or without data).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeliveryId(pub u32);
