//! What a refused condition is answered: one sentence that says what is wrong, and what to write instead.

use super::super::ConditionError;
use super::super::excerpt::excerpt;

/// Every operator, to tell a misplaced operator from an unknown one.
const OPERATORS: [&str; 20] = [
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$exists",
    "$type",
    "$size",
    "$all",
    "$elemMatch",
    "$regex",
    "$options",
    "$mod",
    "$not",
    "$and",
    "$or",
    "$nor",
];

pub(super) fn is_operator(name: &str) -> bool {
    OPERATORS.contains(&name)
}

pub(super) fn invalid(message: impl Into<String>) -> ConditionError {
    ConditionError::Invalid(message.into())
}

pub(super) fn too_large(limit: usize, unit: &str) -> ConditionError {
    ConditionError::TooLarge(format!(
        "the condition exceeds the limit of {limit} {unit}; split it into several subscriptions"
    ))
}

pub(super) fn unknown_operator(name: &str) -> ConditionError {
    let operators = OPERATORS.join(", ");
    invalid(format!("unknown operator {}; the operators are {operators}", excerpt(name)))
}

/// A key that is no operator of a field: a field name next to operators (`{"$gt": 1, "b": 2}`), or an unknown operator.
pub(super) fn unexpected_key(name: &str) -> ConditionError {
    if name.starts_with('$') {
        return unknown_operator(name);
    }
    invalid(format!(r#"the field "{}" is next to operators; move it out of this object"#, excerpt(name)))
}

pub(super) fn invalid_pattern() -> ConditionError {
    invalid("$regex is not a valid pattern; look-around and backreferences are not supported")
}

impl ConditionError {
    /// Adds the name of the innermost field around the problem.
    pub(super) fn in_field(self, name: &str) -> ConditionError {
        const START: &str = "in field ";
        match self {
            ConditionError::Invalid(message) if !message.starts_with(START) => {
                ConditionError::Invalid(format!("{START}\"{}\": {message}", excerpt(name)))
            }
            other => other,
        }
    }
}
