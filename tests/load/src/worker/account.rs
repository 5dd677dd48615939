//! What one client was told of its audience's events: which numbers came, which came twice.
//!
//! Two words a client: all numbers below `next` are judged, and of the 64 from there on each has a bit. A number that is
//! overtaken by 64 others and comes after all counts as told twice.

/// Numbers ahead of the first that is missing, of which is known whether they came.
const WINDOW: u32 = u64::BITS;

/// One client's account; numbers begin at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    next: u32,
    /// Bit n: `next + n` came.
    came: u64,
}

impl Account {
    /// Takes a number; whether it had come before.
    pub fn take(&mut self, number: u32) -> bool {
        let Some(ahead) = number.checked_sub(self.next) else { return true };
        if ahead >= WINDOW {
            self.slide(ahead - (WINDOW - 1));
        }
        let bit = 1 << (number - self.next);
        if self.came & bit != 0 {
            return true;
        }
        self.came |= bit;
        self.slide(self.came.trailing_ones());
        false
    }

    /// How many numbers below the highest that came did not come, of those that are still waited for.
    #[cfg(test)]
    fn holes(&self) -> u32 {
        WINDOW - self.came.leading_zeros() - self.came.count_ones()
    }

    fn slide(&mut self, by: u32) {
        self.came = self.came.checked_shr(by).unwrap_or(0);
        self.next = self.next.saturating_add(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts_once_in_any_order() {
        let mut account = Account::default();
        for number in [0, 1, 3, 2, 5, 4, 68, 67] {
            assert!(!account.take(number), "{number}");
        }
        for number in [0, 3, 5, 67, 68] {
            assert!(account.take(number), "{number}");
        }
        assert_eq!(account.holes(), 61);
        (6..67).for_each(|number| assert!(!account.take(number), "{number}"));
        assert_eq!((account.holes(), account.next), (0, 69));
    }

    #[test]
    fn a_far_number_gives_up_what_is_far_behind_it() {
        let mut account = Account::default();
        assert!(!account.take(1_000_000));
        assert!(account.take(1_000_000) && account.take(5));
        assert!(!account.take(1_000_000 - 1) && !account.take(1_000_001));
        assert!(!account.take(u32::MAX) && account.take(u32::MAX));
    }
}
