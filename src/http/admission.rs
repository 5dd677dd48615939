//! Who may come in: limit_slots of the node, of each user and of each address.
//!
//! A place is taken before a session begins and given back when it ends, by the drop of what [`Admission::admit`] gave.

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

/// The bounds of a node; 0 is no bound but for `sessions`.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    pub sessions: u64,
    pub sessions_per_user: usize,
    pub sessions_per_address: usize,
}

/// See the module.
pub struct Admission {
    limits: AdmissionLimits,
    counters: Arc<Counters>,
    fingerprints: Fingerprints,
    users: Arc<Tally<Fingerprint>>,
    addresses: Arc<Tally<IpAddr>>,
}

impl Admission {
    /// Admits as many as `limits` say.
    pub fn new(limits: AdmissionLimits, counters: Arc<Counters>) -> Admission {
        let (users, addresses) = (Arc::new(Tally::new()), Arc::new(Tally::new()));
        Admission { limits, counters, fingerprints: Fingerprints::default(), users, addresses }
    }

    /// A user of a project, as this node knows them.
    pub fn user(&self, project: &str, subject: &str) -> Fingerprint {
        self.fingerprints.of(|hasher| (project, subject).hash(hasher))
    }

    /// The most sessions that the node takes.
    pub fn max_sessions(&self) -> u64 {
        self.limits.sessions
    }

    /// Whether the node has a place left; asked before the work of checking tokens.
    pub fn is_full(&self) -> bool {
        self.counters.sessions.value() >= self.limits.sessions
    }

    /// Gives a connection_slot of the node, and the limit_slots of an address and of a user where those are limited. A client without
    /// good tokens has no user, and holds its address's place while it is told so.
    pub fn admit(&self, user: Option<Fingerprint>, address: Option<IpAddr>) -> Result<ConnectionSlot, HttpError> {
        let counted = CountedSession::count(&self.counters, self.limits.sessions).ok_or_else(|| self.full())?;
        let mut limit_slots = LimitSlots::default();
        if let (1.., Some(user)) = (self.limits.sessions_per_user, user) {
            let place = Tally::enter(&self.users, user, self.limits.sessions_per_user);
            limit_slots.user = Some(place.ok_or_else(|| self.too_many(Limit::SessionsPerUser))?);
        }
        if let (1.., Some(address)) = (self.limits.sessions_per_address, address) {
            let place = Tally::enter(&self.addresses, address, self.limits.sessions_per_address);
            limit_slots.address = Some(place.ok_or_else(|| self.too_many(Limit::SessionsPerAddress))?);
        }
        let has_limit_slots = limit_slots.user.is_some() || limit_slots.address.is_some();
        Ok(ConnectionSlot { counted, limit_slots: if has_limit_slots { Some(Box::new(limit_slots)) } else { None } })
    }

    /// The answer of a node without a connection_slot left.
    pub fn full(&self) -> HttpError {
        self.counters.count_limit(Limit::Sessions);
        let message = "the node has as many sessions as it may: try again, or another node";
        HttpError::unavailable(ErrorCode::TemporarilyUnavailable, message)
    }

    fn too_many(&self, limit: Limit) -> HttpError {
        self.counters.count_limit(limit);
        let whose = if limit == Limit::SessionsPerUser { "this user" } else { "this address" };
        let message = format!("too many sessions of {whose}: close some, or raise limits.{}", limit.as_str());
        HttpError::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimited, message)
    }
}

/// The limit_slots of one session, given back by their drop.
#[derive(Default)]
struct LimitSlots {
    user: Option<Entered<Fingerprint>>,
    address: Option<Entered<IpAddr>>,
}

/// How many sessions each of something has.
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
    fn a_user_has_as_many_places_as_allowed_and_gets_them_back() {
        let admission = admission(1);
        let (one, other) = (admission.user("demo", "one"), admission.user("demo", "other"));
        let connection_slot = admission.admit(Some(one), None).expect("the first place");
        assert!(admission.admit(Some(one), None).is_err());
        assert!(admission.admit(Some(other), None).is_ok());
        drop(connection_slot);
        assert!(admission.admit(Some(one), None).is_ok());
        assert!(admission.users.0.lock().expect("not poisoned").is_empty());
        assert_eq!(admission.counters.sessions.value(), 0);
    }

    #[test]
    fn a_client_without_good_tokens_holds_its_address_place() {
        let admission = admission(0);
        let address = Some(IpAddr::from([127, 0, 0, 1]));
        let connection_slot = admission.admit(None, address).expect("the first place");
        assert!(admission.admit(None, address).is_err());
        drop(connection_slot);
        assert!(admission.admit(None, address).is_ok());
    }

    #[test]
    fn a_full_node_admits_nobody() {
        let admission = admission(0);
        let seats = [(); 2].map(|()| admission.admit(None, None).expect("a connection_slot"));
        assert!(admission.is_full() && admission.admit(None, None).is_err());
        drop(seats);
        assert!(!admission.is_full());
    }
}
