//! The sessions of a worker by slot. A slot is reused, its tenants are told apart by their generation.

use crate::session::Session;
use crate::session::session_ref::SessionRef;
use slab::Slab;

const SLOTS_FIT: &str = "a process has fewer sockets than u32 counts";

/// See the module.
pub struct Slots {
    worker: u16,
    slab: Slab<Session>,
    /// One past the highest slot ever used.
    end: u32,
    last_generation: u32,
}

impl Slots {
    /// No sessions.
    pub fn new(worker: u16) -> Slots {
        Slots { worker, slab: Slab::new(), end: 0, last_generation: 0 }
    }

    /// The slot of the next session to move in.
    pub fn next_slot(&self) -> u32 {
        u32::try_from(self.slab.vacant_key()).expect(SLOTS_FIT)
    }

    /// Moves a session in, made for the address that it gets.
    pub fn insert(&mut self, make: impl FnOnce(SessionRef) -> Session) -> SessionRef {
        let entry = self.slab.vacant_entry();
        let slot = u32::try_from(entry.key()).expect(SLOTS_FIT);
        self.last_generation = self.last_generation.wrapping_add(1);
        let reference = SessionRef { worker: self.worker, slot, generation: self.last_generation };
        entry.insert(make(reference));
        self.end = self.end.max(slot + 1);
        reference
    }

    /// The session, if it still lives.
    pub fn find(&mut self, session: SessionRef) -> Option<&mut Session> {
        self.slab.get_mut(session.slot as usize).filter(|found| found.reference() == session)
    }

    /// Whether the session still lives.
    pub fn holds(&self, session: SessionRef) -> bool {
        self.at(session.slot) == Some(session)
    }

    /// Who lives in a slot.
    pub fn at(&self, slot: u32) -> Option<SessionRef> {
        self.slab.get(slot as usize).map(Session::reference)
    }

    /// The session in a slot.
    pub fn get(&self, slot: u32) -> Option<&Session> {
        self.slab.get(slot as usize)
    }

    /// Moves a session out.
    pub fn remove(&mut self, session: SessionRef) -> Option<Session> {
        if self.holds(session) { self.slab.try_remove(session.slot as usize) } else { None }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// One past the highest slot ever used.
    pub fn end(&self) -> u32 {
        self.end
    }
}
