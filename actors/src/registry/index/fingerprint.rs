//! Keys of postings: 128 bits that stand for (channel, path, value), so that no value is stored.
//!
//! A place (see `places`) is one (channel, path, kind of look-up) and has a number; a key is SipHash of that number and
//! the value's canonical form, taken twice with different first bytes under one random key of this process.
//!
//! Exact enough: a look-up meets a wrong key with a probability of n / 2^128, n being the keys held. With a million of
//! them and 100,000 look-ups a second that is one mistake in 10^20 years or so, far rarer than a flipped bit of memory.
//! Not forgeable: SipHash is a pseudo-random function, its key never leaves the process and neither does a fingerprint,
//! so nobody can search for two values that meet; the two halves differ in their input, hence are as good as independent.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};

/// Stands for one (place, value).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint {
    low: u64,
    high: u64,
}

impl Fingerprint {
    /// Half of it: spread well enough for a hash table.
    pub(super) fn hash(self) -> u64 {
        self.low
    }
}

/// Makes fingerprints under one random key.
#[derive(Default)]
pub(super) struct Fingerprints {
    random: RandomState,
}

impl Fingerprints {
    /// The key of a place that has no values.
    pub(super) fn of_place(&self, place: u32) -> Fingerprint {
        self.of_value(place, |_| ())
    }

    /// The key of the value that `feed` writes in its canonical form.
    pub(super) fn of_value(&self, place: u32, feed: impl FnOnce(&mut TwoHashers)) -> Fingerprint {
        let mut hashers = TwoHashers { low: self.random.build_hasher(), high: self.random.build_hasher() };
        hashers.low.write_u32(0);
        hashers.high.write_u32(1);
        place.hash(&mut hashers);
        feed(&mut hashers);
        Fingerprint { low: hashers.low.finish(), high: hashers.high.finish() }
    }
}

/// Feeds two hashers at once, so that a value is brought into its canonical form once.
pub(super) struct TwoHashers {
    low: DefaultHasher,
    high: DefaultHasher,
}

impl Hasher for TwoHashers {
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

    #[test]
    fn fingerprints_tell_places_and_values_apart_and_repeat_themselves() {
        let prints = Fingerprints::default();
        let of = |place: u32, value: &str| prints.of_value(place, |state| value.hash(state));
        assert_eq!(of(1, "a"), of(1, "a"));
        assert_ne!(of(1, "a"), of(1, "b"));
        assert_ne!(of(1, "a"), of(2, "a"));
        assert_ne!(prints.of_place(1), prints.of_place(2));
        assert_ne!(of(1, "a").low, of(1, "a").high);
    }

    #[test]
    fn another_process_makes_other_fingerprints() {
        assert_ne!(Fingerprints::default().of_place(1), Fingerprints::default().of_place(1));
    }
}
