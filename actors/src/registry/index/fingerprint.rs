//! Keys of postings: fingerprints that stand for (channel, path, value), so that no value is stored.
//!
//! A place (see `places`) is one (channel, path, kind of look-up) and has a number; a key is the fingerprint of that
//! number and the value's canonical form. With a million keys held and 100,000 look-ups a second a wrong one is met once
//! in 10^20 years or so, far more rarely than memory flips a bit.

use crate::fingerprint::{self, TwoHashers};
use std::hash::Hash;

pub(super) use crate::fingerprint::Fingerprint;

/// Makes keys under one random key of this process.
#[derive(Default)]
pub(super) struct Fingerprints(fingerprint::Fingerprints);

impl Fingerprints {
    /// The key of a place that has no values.
    pub(super) fn of_place(&self, place: u32) -> Fingerprint {
        self.of_value(place, |_| ())
    }

    /// The key of the value that `feed` writes in its canonical form.
    pub(super) fn of_value(&self, place: u32, feed: impl FnOnce(&mut TwoHashers)) -> Fingerprint {
        self.0.of(|hashers| {
            place.hash(hashers);
            feed(hashers);
        })
    }
}
