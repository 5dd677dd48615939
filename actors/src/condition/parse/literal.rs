//! Values in criteria.

use super::super::document::{Kind, Value};
use super::super::{ConditionError, Literal};
use super::{invalid, operators, shown, unknown_operator};

/// A value to compare with. No key in it may begin with `$`: MongoDB would take such an object for an operator in one
/// place and for a value in another, which in every case known is a mistake (`{"a": {"b": {"$gt": 1}}}`).
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
            Err(if operators::is_known(&name) {
                invalid(format!("{name} stands inside a value or among fields; write the path with dots"))
            } else {
                unknown_operator(&name)
            })
        }),
        _ => Ok(()),
    }
}

/// A field name among operators (`{"$gt": 1, "b": 2}`) or an operator that is unknown.
pub(super) fn unexpected_key(name: &str) -> ConditionError {
    if name.starts_with('$') {
        unknown_operator(name)
    } else {
        invalid(format!("the field {} stands among operators", shown(name)))
    }
}
