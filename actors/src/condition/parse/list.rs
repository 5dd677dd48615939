//! The lists of `$in`, `$nin` and `$all`.

use super::super::compare::normalise;
use super::super::document::{Kind, Value};
use super::super::{ConditionError, ElemMatch, ListItem, Predicate, bounds};
use super::literal::read_literal;
use super::operators::read_elem_match;
use super::pattern::read_pattern;
use super::{Budget, first_key, invalid, too_large};

/// Values and patterns; a pattern is written as an object with `$regex`, JSON having no other way.
pub(super) fn read_list(name: &str, value: Value<'_>, budget: &mut Budget) -> Result<Box<[ListItem]>, ConditionError> {
    check_length(name, value)?;
    let items = value.elements().map(|element| read_item(element, budget));
    Ok(normalise(items.collect::<Result<_, _>>()?))
}

/// `$all` takes a list, or conditions on elements, but not both.
pub(super) fn read_all(value: Value<'_>, budget: &mut Budget) -> Result<Predicate, ConditionError> {
    check_length("$all", value)?;
    let is_elem_match = |element| first_key(element).as_deref() == Some("$elemMatch");
    if !value.elements().any(is_elem_match) {
        return Ok(Predicate::All(read_list("$all", value, budget)?));
    }
    let all: Result<Box<[ElemMatch]>, ConditionError> = value
        .elements()
        .map(|element| match element.field("$elemMatch") {
            Some(inner) if element.fields().count() == 1 => {
                budget.take_operator()?;
                read_elem_match(inner, budget)
            }
            _ => Err(invalid("$all takes either values or $elemMatch objects, not both".into())),
        })
        .collect();
    Ok(Predicate::AllElemMatch(all?))
}

fn read_item(element: Value<'_>, budget: &mut Budget) -> Result<ListItem, ConditionError> {
    match first_key(element).as_deref() {
        Some("$regex" | "$options") => Ok(ListItem::Pattern(read_pattern(element, budget)?)),
        _ => Ok(ListItem::Value(read_literal(element)?)),
    }
}

fn check_length(name: &str, value: Value<'_>) -> Result<(), ConditionError> {
    if value.kind() != Kind::Array {
        return Err(invalid(format!("{name} takes an array")));
    }
    if value.elements().count() > bounds::LIST_VALUES {
        return Err(too_large("values in a list", bounds::LIST_VALUES));
    }
    Ok(())
}
