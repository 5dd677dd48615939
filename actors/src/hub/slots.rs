//! The sessions of a worker by slot. Slots are reused. Generations distinguish the sessions of a slot.

use crate::chunked_slab::ChunkedSlab;
use crate::ids::SessionRef;
use crate::session::Session;

/// The sessions of one worker.
pub struct Slots {
    worker: u16,
    slab: ChunkedSlab<Session>,
    last_generation: u32,
}

impl Slots {
    /// No sessions.
    pub fn new(worker: u16) -> Slots {
        Slots { worker, slab: ChunkedSlab::default(), last_generation: 0 }
    }

    /// The slot of the next session.
    pub fn next_slot(&self) -> u32 {
        self.slab.next_id()
    }

    /// Inserts a session, which `make` builds for its reference.
    pub fn insert(&mut self, make: impl FnOnce(SessionRef) -> Session) -> SessionRef {
        self.last_generation = self.last_generation.wrapping_add(1);
        let (worker, slot) = (self.worker, self.slab.next_id());
        let reference = SessionRef { worker, slot, generation: self.last_generation };
        self.slab.insert(make(reference));
        reference
    }

    /// The session, if it still exists.
    pub fn find(&mut self, session: SessionRef) -> Option<&mut Session> {
        self.slab.get_mut(session.slot).filter(|found| found.reference() == session)
    }

    /// Whether the session still exists.
    pub fn holds(&self, session: SessionRef) -> bool {
        self.at(session.slot) == Some(session)
    }

    /// The reference of the session in a slot.
    pub fn at(&self, slot: u32) -> Option<SessionRef> {
        self.slab.get(slot).map(Session::reference)
    }

    /// The session in a slot.
    pub fn get(&self, slot: u32) -> Option<&Session> {
        self.slab.get(slot)
    }

    /// Removes a session.
    pub fn remove(&mut self, session: SessionRef) -> Option<Session> {
        if self.holds(session) { self.slab.remove(session.slot) } else { None }
    }

    /// The number of sessions.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// One past the highest used slot.
    pub fn end(&self) -> u32 {
        self.slab.end()
    }
}
