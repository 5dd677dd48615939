//! 128 bits that stand for a text or a value which then need not be kept.
//!
//! Exact enough: among n fingerprints held, a look-up meets a wrong one with a probability of n / 2^128. Not forgeable:
//! SipHash is a pseudo-random function under a random key that never leaves the process, and neither does a
//! fingerprint, so that nobody can search for two inputs that meet.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

/// Stands for what was fed to it, within this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint {
    low: u64,
    high: u64,
}

impl Fingerprint {
    /// Half of it: spread well enough for a hash table.
    pub fn hash(self) -> u64 {
        self.low
    }
}

/// Half a fingerprint: enough to tell a few from each other, such as the keys of a project.
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
    /// The fingerprint of what `feed` writes.
    pub fn of(&self, feed: impl FnOnce(&mut FingerprintHasher)) -> Fingerprint {
        let mut hashers = FingerprintHasher { low: self.random.build_hasher(), high: self.random.build_hasher() };
        // The halves differ in their input, which makes them as good as independent.
        hashers.low.write_u32(0);
        hashers.high.write_u32(1);
        feed(&mut hashers);
        Fingerprint { low: hashers.low.finish(), high: hashers.high.finish() }
    }
}

/// Feeds two hashers at once, so that a value is brought into its canonical form once.
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
    fn a_fingerprint_stands_for_its_input_under_one_key_only() {
        let (one, other) = (Fingerprints::default(), Fingerprints::default());
        let of = |fingerprints: &Fingerprints, text: &str| fingerprints.of(|hasher| text.hash(hasher));
        assert_eq!(of(&one, "a"), of(&one, "a"));
        assert_ne!(of(&one, "a"), of(&one, "b"));
        assert_ne!(of(&one, "a"), of(&other, "a"));
        let print = of(&one, "a");
        assert_ne!(print.low, print.high);
    }
}
