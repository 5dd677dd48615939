//! Random numbers for choosing recipients and waiting times.

/// Any seed except zero works.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Xorshift (Marsaglia, "Xorshift RNGs", 2003).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator. Each `number` gives a different sequence.
    pub fn new(number: u32) -> Random {
        Random(SEED ^ u64::from(number))
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
