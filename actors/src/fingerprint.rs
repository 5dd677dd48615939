//! 128-bit keyed hashes, stored in place of texts and values.
//!
//! Among n fingerprints, a lookup finds a wrong one with a probability of n / 2^128. Collisions cannot be forged:
//! SipHash is a pseudo-random function under a random key, and neither the key nor a fingerprint ever leaves the
//! process.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

/// The keyed hash of an input, valid within this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint {
    low: u64,
    high: u64,
}

impl Fingerprint {
    /// Half of the fingerprint, for hash tables.
    pub fn hash(self) -> u64 {
        self.low
    }
}

/// Half a fingerprint. It is enough for small sets, such as the keys of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint64(u64);

impl From<Fingerprint> for Fingerprint64 {
    fn from(fingerprint: Fingerprint) -> Fingerprint64 {
        Fingerprint64(fingerprint.high)
    }
}

/// Makes fingerprints under one random key.
#[derive(Clone, Default)]
pub struct Fingerprints {
    random: RandomState,
}

impl Fingerprints {
    /// The fingerprint of the bytes that `feed` writes.
    pub fn of(&self, feed: impl FnOnce(&mut FingerprintHasher)) -> Fingerprint {
        let mut hashers = FingerprintHasher { low: self.random.build_hasher(), high: self.random.build_hasher() };
        // The halves hash different inputs, so they are independent.
        hashers.low.write_u32(0);
        hashers.high.write_u32(1);
        feed(&mut hashers);
        Fingerprint { low: hashers.low.finish(), high: hashers.high.finish() }
    }
}

/// Feeds two hashers at once, so a value is brought into its canonical form only once.
pub struct FingerprintHasher {
    low: DefaultHasher,
    high: DefaultHasher,
}

impl Hasher for FingerprintHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.low.write(bytes);
        self.high.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.low.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    #[test]
    fn equal_inputs_have_equal_fingerprints_under_one_key_only() {
        let (one, other) = (Fingerprints::default(), Fingerprints::default());
        let of = |fingerprints: &Fingerprints, text: &str| fingerprints.of(|hasher| text.hash(hasher));
        assert_eq!(of(&one, "a"), of(&one, "a"));
        assert_ne!(of(&one, "a"), of(&one, "b"));
        assert_ne!(of(&one, "a"), of(&other, "a"));
        let print = of(&one, "a");
        assert_ne!(print.low, print.high);
    }
}
