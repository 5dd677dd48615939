//! Values in criteria.

use super::super::document::{Kind, Value};
use super::super::{ConditionError, Literal};
use super::problems::{invalid, is_operator, unknown_operator};

/// A value to compare with. No key in it may begin with `$`. MongoDB reads such an object as operators in some places
/// and as a value in others; in practice it is always a mistake (`{"a": {"b": {"$gt": 1}}}`).
pub(super) fn read_literal(value: Value<'_>) -> Result<Literal, ConditionError> {
    refuse_operators(value)?;
    Ok(value.to_literal())
}

fn refuse_operators(value: Value<'_>) -> Result<(), ConditionError> {
    // Recursion is bounded by the depth of criteria.
    match value.kind() {
        Kind::Array => value.elements().try_for_each(refuse_operators),
        Kind::Object => value.fields().try_for_each(|(key, value)| {
            let name = key.as_str().unwrap_or_default();
            if !name.starts_with('$') {
                return refuse_operators(value);
            }
            Err(if is_operator(&name) {
                invalid(format!(
                    r#"{name} is inside a value; for a nested field, write its path with dots: {{"a.b": {{"{name}": …}}}}"#
                ))
            } else {
                unknown_operator(&name)
            })
        }),
        _ => Ok(()),
    }
}

/// The first key of an object.
pub(super) fn first_key(value: Value<'_>) -> Option<String> {
    let (key, _) = value.fields().next()?;
    key.as_str().map(String::from)
}
