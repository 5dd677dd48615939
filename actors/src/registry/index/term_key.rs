//! Term keys: fingerprints of (channel, path, value), so that the index stores no value.
//!
//! A lookup (see `lookups`) is one (channel, path, kind) and has a number. A term key is the fingerprint of that number
//! and the value's canonical form. With a million keys stored and 100,000 lookups per second, a false match is expected
//! once in 10^20 years, far less often than memory flips a bit.

use crate::fingerprint::{Fingerprint, FingerprintHasher, Fingerprints};
use std::hash::Hash;

/// The key of a term's posting list.
pub(super) type TermKey = Fingerprint;

/// Computes term keys with one random secret of this process.
#[derive(Default)]
pub(super) struct TermKeys(Fingerprints);

impl TermKeys {
    /// The key of a lookup that has no values.
    pub(super) fn of_lookup(&self, lookup: u32) -> TermKey {
        self.of_value(lookup, |_| ())
    }

    /// The key of the value whose canonical form `feed` writes.
    pub(super) fn of_value(&self, lookup: u32, feed: impl FnOnce(&mut FingerprintHasher)) -> TermKey {
        self.0.of(|hasher| {
            lookup.hash(hasher);
            feed(hasher);
        })
    }
}
