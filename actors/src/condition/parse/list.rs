//! The lists of `$in`, `$nin` and `$all`.

use super::super::compare::normalize;
use super::super::document::{Kind, Value};
use super::super::{ConditionError, ListItem, bounds};
use super::budget::ParseBudget;
use super::literal::{first_key, read_literal};
use super::pattern::read_pattern;
use super::problems::{invalid, too_large};

/// Values and patterns. A pattern is an object with `$regex`, because JSON has no pattern literals.
pub(super) fn read_list(
    name: &str,
    value: Value<'_>,
    budget: &mut ParseBudget,
) -> Result<Box<[ListItem]>, ConditionError> {
    check_length(name, value)?;
    let items = value.elements().map(|element| read_item(element, budget));
    Ok(normalize(items.collect::<Result<_, _>>()?))
}

fn read_item(element: Value<'_>, budget: &mut ParseBudget) -> Result<ListItem, ConditionError> {
    match first_key(element).as_deref() {
        Some("$regex" | "$options") => Ok(ListItem::Pattern(read_pattern(element, budget)?)),
        _ => Ok(ListItem::Value(read_literal(element)?)),
    }
}

pub(super) fn check_length(name: &str, value: Value<'_>) -> Result<(), ConditionError> {
    if value.kind() != Kind::Array {
        return Err(invalid(format!("{name} takes an array of values")));
    }
    if value.elements().count() > bounds::LIST_VALUES {
        return Err(too_large(bounds::LIST_VALUES, "values in one list"));
    }
    Ok(())
}
