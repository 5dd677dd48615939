//! Limits the sessions of the node, of each user and of each address.
//!
//! [`Admission::admit`] gives a session its connection slot. Dropping the slot releases it.

use super::error::HttpError;
use actix_http::StatusCode;
use actors::counters::{CountedSession, Counters, Limit};
use actors::fingerprint::{Fingerprint, Fingerprints};
use actors::protocol::codes::ErrorCode;
use actors::session::ConnectionSlot;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The limits of a node. 0 means no limit, except for `sessions`.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    pub sessions: u64,
    pub sessions_per_user: usize,
    pub sessions_per_address: usize,
}

/// Admits sessions within the limits.
pub struct Admission {
    limits: AdmissionLimits,
    counters: Arc<Counters>,
    fingerprints: Fingerprints,
    users: Arc<Tally<Fingerprint>>,
    addresses: Arc<Tally<IpAddr>>,
}

impl Admission {
    /// An admission without any session.
    pub fn new(limits: AdmissionLimits, counters: Arc<Counters>) -> Admission {
        let (users, addresses) = (Arc::new(Tally::new()), Arc::new(Tally::new()));
        Admission { limits, counters, fingerprints: Fingerprints::default(), users, addresses }
    }

    /// The fingerprint of a user of a project.
    pub fn user(&self, project: &str, subject: &str) -> Fingerprint {
        self.fingerprints.of(|hasher| (project, subject).hash(hasher))
    }

    /// The maximum number of sessions.
    pub fn max_sessions(&self) -> u64 {
        self.limits.sessions
    }

    /// Whether all connection slots are taken. Asked before tokens are verified, which costs more.
    pub fn is_full(&self) -> bool {
        self.counters.sessions.value() >= self.limits.sessions
    }

    /// Takes a connection slot of the node, and one of the user and of the address if those are limited.
    ///
    /// A client without good tokens has no user. It holds a slot of its address until it has received the refusal.
    pub fn admit(&self, user: Option<Fingerprint>, address: Option<IpAddr>) -> Result<ConnectionSlot, HttpError> {
        let counted = CountedSession::count(&self.counters, self.limits.sessions).ok_or_else(|| self.full())?;
        let mut limit_slots = LimitSlots::default();
        if let (1.., Some(user)) = (self.limits.sessions_per_user, user) {
            let slot = Tally::enter(&self.users, user, self.limits.sessions_per_user);
            limit_slots.user = Some(slot.ok_or_else(|| self.too_many(Limit::SessionsPerUser))?);
        }
        if let (1.., Some(address)) = (self.limits.sessions_per_address, address) {
            let slot = Tally::enter(&self.addresses, address, self.limits.sessions_per_address);
            limit_slots.address = Some(slot.ok_or_else(|| self.too_many(Limit::SessionsPerAddress))?);
        }
        let has_limit_slots = limit_slots.user.is_some() || limit_slots.address.is_some();
        Ok(ConnectionSlot { counted, limit_slots: if has_limit_slots { Some(Box::new(limit_slots)) } else { None } })
    }

    /// The answer of a node that has no connection slot left.
    pub fn full(&self) -> HttpError {
        self.counters.count_limit(Limit::Sessions);
        let message = "the node has reached its limit of sessions: try again, or use another node";
        HttpError::unavailable(ErrorCode::TemporarilyUnavailable, message)
    }

    fn too_many(&self, limit: Limit) -> HttpError {
        self.counters.count_limit(limit);
        let whose = if limit == Limit::SessionsPerUser { "this user" } else { "this address" };
        let message = format!("too many sessions of {whose}: close some, or raise limits.{}", limit.as_str());
        HttpError::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimited, message)
    }
}

/// The slots of one session under the limits of its user and its address. Dropping them releases them.
#[derive(Default)]
struct LimitSlots {
    user: Option<Entered<Fingerprint>>,
    address: Option<Entered<IpAddr>>,
}

/// Counts the sessions of each key.
struct Tally<K>(Mutex<HashMap<K, usize>>);

impl<K: Copy + Eq + Hash> Tally<K> {
    fn new() -> Tally<K> {
        Tally(Mutex::new(HashMap::new()))
    }

    fn enter(tally: &Arc<Tally<K>>, key: K, most: usize) -> Option<Entered<K>> {
        let mut counts = tally.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key).or_insert(0);
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Entered { tally: tally.clone(), key })
    }
}

/// One session, counted until it is dropped.
struct Entered<K: Copy + Eq + Hash> {
    tally: Arc<Tally<K>>,
    key: K,
}

impl<K: Copy + Eq + Hash> Drop for Entered<K> {
    fn drop(&mut self) {
        let mut counts = self.tally.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(sessions_per_user: usize) -> Admission {
        let limits = AdmissionLimits { sessions: 2, sessions_per_user, sessions_per_address: 1 };
        Admission::new(limits, Arc::default())
    }

    #[test]
    fn a_user_has_as_many_slots_as_allowed_and_gets_released_ones_back() {
        let admission = admission(1);
        let (one, other) = (admission.user("demo", "one"), admission.user("demo", "other"));
        let connection_slot = admission.admit(Some(one), None).expect("the first slot");
        assert!(admission.admit(Some(one), None).is_err());
        assert!(admission.admit(Some(other), None).is_ok());
        drop(connection_slot);
        assert!(admission.admit(Some(one), None).is_ok());
        assert!(admission.users.0.lock().expect("not poisoned").is_empty());
        assert_eq!(admission.counters.sessions.value(), 0);
    }

    #[test]
    fn a_client_without_good_tokens_holds_a_slot_of_its_address() {
        let admission = admission(0);
        let address = Some(IpAddr::from([127, 0, 0, 1]));
        let connection_slot = admission.admit(None, address).expect("the first slot");
        assert!(admission.admit(None, address).is_err());
        drop(connection_slot);
        assert!(admission.admit(None, address).is_ok());
    }

    #[test]
    fn a_full_node_admits_no_session() {
        let admission = admission(0);
        let slots = [(); 2].map(|()| admission.admit(None, None).expect("a connection slot"));
        assert!(admission.is_full() && admission.admit(None, None).is_err());
        drop(slots);
        assert!(!admission.is_full());
    }
}
