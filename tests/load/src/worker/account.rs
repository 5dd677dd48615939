//! What one client was told of its audience's events: which numbers came, which came twice.
//!
//! All numbers below `next` are judged; of the 512 from there on each has a bit, in a ring. A number that is overtaken by
//! 512 others and comes after all counts as told twice.

/// Numbers from `next` on of which is known whether they came: more than are under way at a time.
const WINDOW: u32 = 512;
const WORDS: usize = (WINDOW / u64::BITS) as usize;

/// One client's account; numbers begin at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    next: u32,
    /// Bit n % 512: n came.
    came: [u64; WORDS],
}

impl Account {
    /// Takes a number; whether it had come before.
    pub fn take(&mut self, number: u32) -> bool {
        let Some(ahead) = number.checked_sub(self.next) else { return true };
        if ahead >= WINDOW {
            self.give_up(number - (WINDOW - 1));
        }
        let (word, bit) = place(number);
        if self.came[word] & bit != 0 {
            return true;
        }
        self.came[word] |= bit;
        self.advance();
        false
    }

    /// Waits no longer for numbers below `next`.
    fn give_up(&mut self, next: u32) {
        if next - self.next >= WINDOW {
            self.came = [0; WORDS];
        } else {
            (self.next..next).for_each(|number| self.clear(number));
        }
        self.next = next;
        self.advance();
    }

    /// Goes on to the first number that has not come.
    fn advance(&mut self) {
        loop {
            let (word, bit) = place(self.next);
            if self.came[word] & bit == 0 || self.next == u32::MAX {
                return;
            }
            self.clear(self.next);
            self.next += 1;
        }
    }

    fn clear(&mut self, number: u32) {
        let (word, bit) = place(number);
        self.came[word] &= !bit;
    }
}

/// Where a number's bit is.
const fn place(number: u32) -> (usize, u64) {
    let place = number % WINDOW;
    ((place / u64::BITS) as usize, 1 << (place % u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts_once_in_any_order() {
        let mut account = Account::default();
        for number in [0, 1, 3, 2, 5, 4, 517, 516] {
            assert!(!account.take(number), "{number}");
        }
        for number in [0, 3, 5, 516, 517] {
            assert!(account.take(number), "{number}");
        }
        (6..516).for_each(|number| assert!(!account.take(number), "{number}"));
        assert_eq!(account, Account { next: 518, ..Account::default() });
    }

    #[test]
    fn a_far_number_gives_up_what_is_far_behind_it() {
        let mut account = Account::default();
        assert!(!account.take(7) && !account.take(600));
        assert!(account.take(7) && account.take(600) && account.take(88));
        assert!(!account.take(89) && account.take(89));
        assert!(!account.take(1_000_000) && account.take(1_000_000) && account.take(600));
        assert!(!account.take(999_999) && !account.take(1_000_001));
        assert!(!account.take(u32::MAX) && account.take(u32::MAX));
    }
}
