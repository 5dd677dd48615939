//! Criteria text to [`Condition`], within [`bounds`].

use super::{Condition, ConditionError};

impl Condition {
    /// Parses criteria as a client sent them.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let _ = text;
        todo!()
    }
}
