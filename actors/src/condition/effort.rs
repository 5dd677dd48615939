//! How much may still be done to find out about one condition or look-up, in steps ([`bounds::STEPS`]).

use super::bounds;
use super::document::Value;
use std::cell::Cell;

/// Elements and keys that a path passes for one step: to pass one takes a few nanoseconds.
const PASSED_A_STEP: usize = 16;

/// Steps to spend. Once they are spent nothing is looked at any more, and what comes out means nothing.
#[derive(Debug)]
pub struct Effort {
    allowed: usize,
    /// `None` once more was asked for than there was.
    left: Cell<Option<usize>>,
    passed: Cell<usize>,
}

impl Effort {
    /// As many steps.
    pub const fn of(steps: usize) -> Effort {
        Effort { allowed: steps, left: Cell::new(Some(steps)), passed: Cell::new(0) }
    }

    /// How many there were at the beginning.
    pub fn allowed(&self) -> usize {
        self.allowed
    }

    /// How many are gone.
    pub fn spent(&self) -> usize {
        self.allowed - self.left.get().unwrap_or_default()
    }

    /// Whether they did not suffice.
    pub fn is_spent(&self) -> bool {
        self.left.get().is_none()
    }

    /// Takes steps; answers whether there were not so many left.
    pub(super) fn is_spent_by(&self, steps: usize) -> bool {
        let left = self.left.get().and_then(|left| left.checked_sub(steps));
        self.left.set(left);
        left.is_none()
    }

    /// Takes what it costs to look at a value.
    pub(super) fn is_spent_by_value(&self, value: &Value<'_>) -> bool {
        self.is_spent_by(1 + value.raw().len() / 8)
    }

    /// Takes what it costs to pass an element or a key.
    pub(super) fn is_spent_by_passing(&self) -> bool {
        let passed = self.passed.get() + 1;
        self.passed.set(passed);
        self.is_spent_by(usize::from(passed.is_multiple_of(PASSED_A_STEP)))
    }
}

impl Default for Effort {
    /// What one condition may take of one emit.
    fn default() -> Effort {
        Effort::of(bounds::STEPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_in_vain_leaves_nothing() {
        let effort = Effort::of(10);
        assert!(!effort.is_spent_by(10) && !effort.is_spent());
        let effort = Effort::of(10);
        assert!(effort.is_spent_by(11) && effort.is_spent_by(0) && effort.is_spent());
        assert_eq!(effort.spent(), 10);
    }

    #[test]
    fn to_pass_many_elements_is_a_step() {
        let effort = Effort::of(2);
        let passed = (0..100).take_while(|_| !effort.is_spent_by_passing()).count();
        assert_eq!(passed, 3 * PASSED_A_STEP - 1);
    }
}
