//! The ids of sessions and subscriptions on one node.

/// The address of a session: its worker, its slot there, and the generation of the slot. Slots are reused, generations
/// are not: compare both before you write to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef {
    pub worker: u16,
    pub slot: u32,
    pub generation: u32,
}

impl SessionRef {
    /// The session's id as its client has it from `CONNECTED`, and as log lines name it. `node` is the node's name.
    pub fn public_id(self, node: &str) -> String {
        format!("{node}-{:x}-{:x}-{:x}", self.worker, self.slot, self.generation)
    }
}

/// The id of a subscription on this node. Ids are reused after removal, so a removal also names the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionId(pub u32);
