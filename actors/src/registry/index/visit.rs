//! One find under way: the keys of the event data are visited, each group's program run and its members told.

use super::DeliveryId;
use super::fingerprint::Fingerprint;
use super::group::Identity;
use super::groups::Groups;
use super::programs::Programs;
use super::subscriptions::Subscriptions;
use crate::condition::document::Document;
use crate::session::session_ref::SessionRef;

/// One find under way.
pub(super) struct Visit<'a> {
    pub(super) programs: &'a mut Programs,
    pub(super) groups: &'a mut Groups,
    pub(super) subscriptions: &'a mut Subscriptions,
    pub(super) document: &'a Document<'a>,
    pub(super) emit: u32,
    pub(super) on_match: &'a mut dyn FnMut(DeliveryId, SessionRef),
}

impl Visit<'_> {
    /// Tells the groups of a key whose program holds; nothing the second time, as for an array's equal elements.
    pub(super) fn key(&mut self, key: Fingerprint) {
        let mut next = self.groups.visit(key, self.emit);
        while let Some(group) = next {
            let (identity, following) = self.groups.look(group);
            if self.programs.holds(identity.program, self.document, self.emit) {
                self.tell(group, &identity);
            }
            next = following;
        }
    }

    fn tell(&mut self, group: u32, identity: &Identity) {
        for member in self.groups.members(group) {
            let tell = !identity.several || self.subscriptions.tell_first(member.subscription, self.emit);
            if tell {
                (self.on_match)(identity.delivery, member.target);
            }
        }
    }
}
