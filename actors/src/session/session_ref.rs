//! The address of a session: which worker, which slot, and which of the slot's successive tenants.

/// Names one session on this node. A slot is reused, its generation is not: compare both before every write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef {
    pub worker: u16,
    pub slot: u32,
    pub generation: u32,
}
