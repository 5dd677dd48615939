//! Detects duplicates among the event numbers that one client receives.
//!
//! Numbers below `next` count as received. The 512 numbers from `next` on have one bit each, in a ring. A number that
//! arrives after a number at least 512 higher counts as a duplicate.

/// The number of tracked numbers: more than are in flight at the same time.
const WINDOW: u32 = 512;
const WORDS: usize = (WINDOW / u64::BITS) as usize;

/// The event numbers that a client has received. Numbers start at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceTracker {
    next: u32,
    /// Bit n % 512: number n was received.
    received: [u64; WORDS],
}

impl SequenceTracker {
    /// Records a number. Returns true if it was received before.
    pub fn record(&mut self, number: u32) -> bool {
        let Some(ahead) = number.checked_sub(self.next) else { return true };
        if ahead >= WINDOW {
            self.skip_to(number - (WINDOW - 1));
        }
        let (word, bit) = bit_of(number);
        if self.received[word] & bit != 0 {
            return true;
        }
        self.received[word] |= bit;
        self.advance();
        false
    }

    /// Moves `next`, and stops waiting for lower numbers.
    fn skip_to(&mut self, next: u32) {
        if next - self.next >= WINDOW {
            self.received = [0; WORDS];
        } else {
            (self.next..next).for_each(|number| self.clear(number));
        }
        self.next = next;
        self.advance();
    }

    /// Moves `next` to the first number that was not received.
    fn advance(&mut self) {
        loop {
            let (word, bit) = bit_of(self.next);
            if self.received[word] & bit == 0 || self.next == u32::MAX {
                return;
            }
            self.clear(self.next);
            self.next += 1;
        }
    }

    fn clear(&mut self, number: u32) {
        let (word, bit) = bit_of(number);
        self.received[word] &= !bit;
    }
}

/// The position of the bit of a number.
const fn bit_of(number: u32) -> (usize, u64) {
    let bit = number % WINDOW;
    ((bit / u64::BITS) as usize, 1 << (bit % u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts_once_in_any_order() {
        let mut tracker = SequenceTracker::default();
        for number in [0, 1, 3, 2, 5, 4, 517, 516] {
            assert!(!tracker.record(number), "{number}");
        }
        for number in [0, 3, 5, 516, 517] {
            assert!(tracker.record(number), "{number}");
        }
        (6..516).for_each(|number| assert!(!tracker.record(number), "{number}"));
        assert_eq!(tracker, SequenceTracker { next: 518, ..SequenceTracker::default() });
    }

    #[test]
    fn a_much_higher_number_ends_the_wait_for_much_lower_ones() {
        let mut tracker = SequenceTracker::default();
        assert!(!tracker.record(7) && !tracker.record(600));
        assert!(tracker.record(7) && tracker.record(600) && tracker.record(88));
        assert!(!tracker.record(89) && tracker.record(89));
        assert!(!tracker.record(1_000_000) && tracker.record(1_000_000) && tracker.record(600));
        assert!(!tracker.record(999_999) && !tracker.record(1_000_001));
        assert!(!tracker.record(u32::MAX) && tracker.record(u32::MAX));
    }
}
