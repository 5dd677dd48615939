//! Evaluates a [`Condition`] on a [`Document`] with the semantics of MongoDB.
//!
//! A predicate matches a path if it matches one of the values at the path. A negation (`$ne`, `$nin`, `$not`,
//! `$exists: false`) matches if its positive form matches none of them.

use super::compare::position_in;
use super::document::{Document, Kind, Leaf, Value, any_at, any_in_element};
use super::{Condition, CostBudget, ElemMatch, Expression, JsonType, ListItem, Literal, Path, Pattern, Predicate};
use std::cmp::Ordering;

impl Condition {
    /// Whether the event data matches the condition. `None` if `budget` is too small.
    pub fn matches(&self, document: &Document<'_>, budget: &CostBudget) -> Option<bool> {
        let matches = expression_matches(&self.root, Origin::Document(document.root()), budget);
        (!budget.is_exhausted()).then_some(matches)
    }
}

impl CostBudget {
    fn is_match(&self, pattern: &Pattern, text: &str) -> bool {
        !self.is_exhausted_by(pattern.cost_per_byte * text.len()) && pattern.regex.is_match(text)
    }
}

/// Where paths start.
#[derive(Clone, Copy)]
enum Origin<'d> {
    Document(Value<'d>),
    /// An element that `$elemMatch` examines. An array is treated as an object whose fields are its indices.
    Element(Value<'d>),
}

impl<'d> Origin<'d> {
    fn any_at(self, path: &Path, leaf: Leaf, budget: &CostBudget, matches: &mut dyn FnMut(Value<'d>) -> bool) -> bool {
        match self {
            Origin::Document(root) => any_at(root, &path.segments, leaf, budget, matches),
            Origin::Element(root) => any_in_element(root, &path.segments, leaf, budget, matches),
        }
    }
}

// Recursion is bounded by the depth of the condition, `bounds::DEPTH`.
fn expression_matches(expression: &Expression, origin: Origin<'_>, budget: &CostBudget) -> bool {
    match expression {
        Expression::And(all) => all.iter().all(|each| expression_matches(each, origin, budget)),
        Expression::Or(any) => any.iter().any(|each| expression_matches(each, origin, budget)),
        Expression::Nor(none) => !none.iter().any(|each| expression_matches(each, origin, budget)),
        Expression::Field { path, predicate } => path_matches(predicate, path, origin, budget),
    }
}

/// Whether a predicate matches the values at a path.
fn path_matches(predicate: &Predicate, path: &Path, origin: Origin<'_>, budget: &CostBudget) -> bool {
    let any = |leaf, matches: &mut dyn FnMut(Value<'_>) -> bool| origin.any_at(path, leaf, budget, matches);
    match predicate {
        Predicate::Ne(literal) => !any(Leaf::Elements, &mut |value| value.equals(literal)),
        Predicate::Nin(items) => !any(Leaf::Elements, &mut |value| is_in(items, &value, budget)),
        Predicate::Exists(wanted) => *wanted == any(Leaf::Whole, &mut |value| !value.is_missing()),
        Predicate::Not(all) => !all.iter().all(|each| path_matches(each, path, origin, budget)),
        Predicate::All(items) => {
            let mut unmatched = UnmatchedItems::new(items);
            any(Leaf::Elements, &mut |value| unmatched.remove_matched(&value, budget))
        }
        Predicate::AllElemMatch(all) => {
            all.iter().all(|each| any(Leaf::Whole, &mut |value| has_element(&value, each, budget)))
        }
        Predicate::Size(_) | Predicate::ElemMatch(_) => {
            any(Leaf::Whole, &mut |value| value_matches(predicate, &value, budget))
        }
        _ => any(Leaf::Elements, &mut |value| value_matches(predicate, &value, budget)),
    }
}

/// Whether a predicate matches one value. The elements of an array are not considered.
fn value_matches(predicate: &Predicate, value: &Value<'_>, budget: &CostBudget) -> bool {
    match predicate {
        Predicate::Eq(literal) => value.equals(literal),
        Predicate::Ne(literal) => !value.equals(literal),
        Predicate::Gt(literal) => compares(value, literal, Ordering::is_gt),
        Predicate::Gte(literal) => compares(value, literal, Ordering::is_ge),
        Predicate::Lt(literal) => compares(value, literal, Ordering::is_lt),
        Predicate::Lte(literal) => compares(value, literal, Ordering::is_le),
        Predicate::In(items) => is_in(items, value, budget),
        Predicate::Nin(items) => !is_in(items, value, budget),
        Predicate::Exists(wanted) => *wanted != value.is_missing(),
        Predicate::Type(types) => types.iter().any(|&wanted| is_type(value, wanted)),
        Predicate::Size(wanted) => {
            value.kind() == Kind::Array
                && !budget.is_exhausted_by_value(value)
                && value.elements().count() as u64 == *wanted
        }
        Predicate::All(items) => UnmatchedItems::new(items).remove_matched(value, budget),
        Predicate::AllElemMatch(all) => all.iter().all(|each| has_element(value, each, budget)),
        Predicate::ElemMatch(each) => has_element(value, each, budget),
        Predicate::Regex(pattern) => value.as_str().is_some_and(|text| budget.is_match(pattern, &text)),
        Predicate::Mod { divisor, remainder } => has_remainder(value, *divisor, *remainder),
        Predicate::Not(all) => !all.iter().all(|each| value_matches(each, value, budget)),
    }
}

/// Comparison operators compare within one type only.
fn compares(value: &Value<'_>, literal: &Literal, wanted: fn(Ordering) -> bool) -> bool {
    value.kind() == literal.kind() && wanted(value.order(literal))
}

fn is_in(items: &[ListItem], value: &Value<'_>, budget: &CostBudget) -> bool {
    position_in(items, value).is_some() || matching_patterns(items, value, budget).next().is_some()
}

/// The positions of the patterns in a list that match a value. Patterns are at the end of the list.
fn matching_patterns<'i>(
    items: &'i [ListItem],
    value: &Value<'_>,
    budget: &'i CostBudget,
) -> impl Iterator<Item = usize> + 'i {
    let has_patterns = matches!(items.last(), Some(ListItem::Pattern(_)));
    let text = has_patterns.then(|| value.as_str().map(String::from)).flatten();
    items
        .iter()
        .enumerate()
        .rev()
        .map_while(|(at, item)| match item {
            ListItem::Pattern(pattern) => Some((at, pattern)),
            ListItem::Value(_) => None,
        })
        .filter(move |(_, pattern)| text.as_ref().is_some_and(|text| budget.is_match(pattern, text)))
        .map(|(at, _)| at)
}

/// The items of an `$all` that no value has matched yet, so that the path is followed only once for all items.
struct UnmatchedItems<'i> {
    items: &'i [ListItem],
    /// One bit per item; `bounds::LIST_VALUES` items fit.
    bits: u128,
}

impl<'i> UnmatchedItems<'i> {
    fn new(items: &'i [ListItem]) -> UnmatchedItems<'i> {
        debug_assert!(items.len() < 128);
        UnmatchedItems { items, bits: (1 << items.len()) - 1 }
    }

    /// Removes the items that `value` matches. True once no item is left. An empty `$all` never matches.
    fn remove_matched(&mut self, value: &Value<'_>, budget: &CostBudget) -> bool {
        if let Some(at) = position_in(self.items, value) {
            self.bits &= !(1 << at);
        }
        for at in matching_patterns(self.items, value, budget) {
            self.bits &= !(1 << at);
        }
        self.bits == 0 && !self.items.is_empty()
    }
}

fn has_element(value: &Value<'_>, wanted: &ElemMatch, budget: &CostBudget) -> bool {
    value.kind() == Kind::Array
        && value.elements().any(|element| {
            budget.is_exhausted_by_value(&element)
                || match wanted {
                    ElemMatch::Criteria(expression) => {
                        matches!(element.kind(), Kind::Object | Kind::Array)
                            && expression_matches(expression, Origin::Element(element), budget)
                    }
                    ElemMatch::Predicates(all) => all.iter().all(|each| value_matches(each, &element, budget)),
                }
        })
}

/// The remainder has the sign of the value, as in C. A value that does not fit into 64 bits never matches.
fn has_remainder(value: &Value<'_>, divisor: i64, remainder: i64) -> bool {
    value
        .as_number()
        .and_then(|number| number.to_i64_truncated())
        .is_some_and(|whole| whole.wrapping_rem(divisor) == remainder)
}

fn is_type(value: &Value<'_>, wanted: JsonType) -> bool {
    match wanted {
        JsonType::Null => value.kind() == Kind::Null && !value.is_missing(),
        JsonType::Bool => value.kind() == Kind::Bool,
        JsonType::String => value.kind() == Kind::String,
        JsonType::Object => value.kind() == Kind::Object,
        JsonType::Array => value.kind() == Kind::Array,
        JsonType::Number => value.kind() == Kind::Number,
        JsonType::Int | JsonType::Long | JsonType::Double => {
            value.kind() == Kind::Number && number_type(value.raw()) == wanted
        }
    }
}

/// The type that a number gets when JSON is converted to BSON: by its notation, then by its size.
fn number_type(text: &str) -> JsonType {
    if text.parse::<i32>().is_ok() {
        JsonType::Int
    } else if text.parse::<i64>().is_ok() {
        JsonType::Long
    } else {
        JsonType::Double
    }
}

#[cfg(test)]
mod naive;
#[cfg(test)]
mod tests;
