//! Parses criteria into a [`Condition`], within [`bounds`].
//!
//! Criteria are first read as a [`Document`] of limited depth, so that everything after that may recurse. The parser
//! refuses what it does not understand and never skips it: a condition that checks less than its author meant would
//! deliver notifications that it should not.
//!
//! Imports run one way: `criteria` uses `list`, `operands`, `pattern`, `literal` and `path`; those use `budget` and
//! `problems`.

mod budget;
mod case_folding;
mod criteria;
mod list;
mod literal;
mod operands;
mod path;
mod pattern;
mod problems;

use super::document::{Document, DocumentError, Kind};
use super::excerpt::excerpt;
use super::{Condition, ConditionError, bounds};
use budget::ParseBudget;
use criteria::read_expression;
use problems::{invalid, too_large};

#[cfg(test)]
pub(super) use path::read_path;

impl Condition {
    /// Parses the criteria that a client sent: one JSON object.
    ///
    /// # Errors
    ///
    /// [`ConditionError::TooLarge`] if the criteria exceed one of the [`bounds`]. [`ConditionError::Invalid`] if they are not
    /// JSON, or have duplicate keys, an unknown operator or an operand of the wrong type.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        if text.len() > bounds::TEXT_BYTES {
            return Err(too_large(bounds::TEXT_BYTES, "bytes of criteria"));
        }
        let document = Document::parse_within(text, bounds::DEPTH).map_err(|error| match error {
            DocumentError::TooDeep => too_large(bounds::DEPTH, "levels of nesting"),
            DocumentError::Syntax(at) => invalid(format!("criteria are not valid JSON: syntax error at byte {at}")),
        })?;
        if let Some(key) = document.duplicate_key() {
            return Err(invalid(format!(
                r#"the key "{}" appears twice in one object; combine its conditions in one object or with $and"#,
                excerpt(&key)
            )));
        }
        if document.root().kind() != Kind::Object {
            return Err(invalid(r#"criteria must be an object, such as {"total": {"$gte": 100}}"#));
        }
        let mut budget = ParseBudget::default();
        let root = read_expression(document.root(), &mut budget)?;
        Ok(Condition { root })
    }
}

#[cfg(test)]
mod tests;
