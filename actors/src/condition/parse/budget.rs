//! The limits of one condition ([`bounds`]), used up while it is parsed.

use super::super::{ConditionError, bounds};
use super::problems::too_large;

/// What the rest of the condition may still use.
pub(super) struct ParseBudget {
    operators: usize,
    /// Bytes of compiled patterns.
    pub(super) pattern_bytes: usize,
    /// Characters in bracket expressions of case-insensitive patterns.
    pub(super) folded_characters: usize,
}

impl Default for ParseBudget {
    fn default() -> ParseBudget {
        ParseBudget {
            operators: bounds::OPERATORS,
            pattern_bytes: bounds::PATTERN_BYTES,
            folded_characters: bounds::FOLDED_CHARACTERS,
        }
    }
}

impl ParseBudget {
    /// Counts one operator.
    pub(super) fn take_operator(&mut self) -> Result<(), ConditionError> {
        match self.operators.checked_sub(1) {
            Some(left) => {
                self.operators = left;
                Ok(())
            }
            None => Err(too_large(bounds::OPERATORS, "operators")),
        }
    }
}
