//! Who may come in: places of the node, of each user and of each address.
//!
//! A place is taken before a session begins and given back when it ends, by the drop of what [`Admission::admit`] gave.

use super::error::HttpError;
use actix_http::StatusCode;
use actors::counters::{Counters, Limit};
use actors::fingerprint::{Fingerprint, Fingerprints};
use actors::protocol::codes::ErrorCode;
use actors::session::Place;
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

    /// Whether the node has a place left; asked before the work of checking tokens.
    pub fn is_full(&self) -> bool {
        self.counters.sessions.value() >= self.limits.sessions
    }

    /// Counts a session in. Its actor counts it out.
    pub fn enter(&self) -> Result<(), HttpError> {
        if self.counters.sessions.add(1) > self.limits.sessions {
            self.leave();
            self.counters.count_limit(Limit::Sessions);
            return Err(full());
        }
        Ok(())
    }

    /// Counts out a session that did not begin.
    pub fn leave(&self) {
        self.counters.sessions.subtract(1);
    }

    /// Takes the places of a user and of an address, where they are limited.
    pub fn admit(&self, user: Fingerprint, address: Option<IpAddr>) -> Result<Option<Place>, HttpError> {
        let mut places: Vec<Box<dyn Send>> = Vec::new();
        if self.limits.sessions_per_user > 0 {
            let place = Tally::enter(&self.users, user, self.limits.sessions_per_user);
            places.push(Box::new(place.ok_or_else(|| self.too_many(Limit::SessionsPerUser))?));
        }
        if let (1.., Some(address)) = (self.limits.sessions_per_address, address) {
            let place = Tally::enter(&self.addresses, address, self.limits.sessions_per_address);
            places.push(Box::new(place.ok_or_else(|| self.too_many(Limit::SessionsPerAddress))?));
        }
        Ok(if places.is_empty() { None } else { Some(Box::new(places)) })
    }

    fn too_many(&self, limit: Limit) -> HttpError {
        self.counters.count_limit(limit);
        let whose = if limit == Limit::SessionsPerUser { "this user" } else { "this address" };
        let message = format!("too many sessions of {whose}: close some, or raise limits.{}", limit.as_str());
        HttpError::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimited, message)
    }
}

/// The answer of a node without a place left.
pub fn full() -> HttpError {
    let message = "the node has as many sessions as it may: try again, or another node";
    HttpError::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::TemporarilyUnavailable, message)
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
        let limits = AdmissionLimits { sessions: 1, sessions_per_user, sessions_per_address: 0 };
        Admission::new(limits, Arc::default())
    }

    #[test]
    fn a_user_has_as_many_places_as_allowed_and_gets_them_back() {
        let admission = admission(1);
        let (one, other) = (admission.user("demo", "one"), admission.user("demo", "other"));
        let place = admission.admit(one, None).expect("the first place");
        assert!(admission.admit(one, None).is_err());
        assert!(admission.admit(other, None).is_ok());
        drop(place);
        assert!(admission.admit(one, None).is_ok());
        assert!(admission.users.0.lock().expect("not poisoned").is_empty());
    }

    #[test]
    fn a_full_node_admits_nobody() {
        let admission = admission(0);
        assert!(admission.enter().is_ok());
        assert!(admission.is_full());
        assert!(admission.enter().is_err());
        assert_eq!(admission.counters.sessions.value(), 1);
    }
}
