//! Evaluating a [`Condition`] over a [`Document`], with MongoDB's meaning.
//!
//! A predicate holds for a path when it holds for one of the values there; a negation (`$ne`, `$nin`, `$not`,
//! `$exists: false`) holds when its positive form does not hold for the whole path.

use super::compare::position_in;
use super::document::{Document, Kind, Leaf, Value, any_at, any_in_element};
use super::{Condition, CostBudget, ElemMatch, Expression, JsonType, ListItem, Literal, Path, Pattern, Predicate};
use std::cmp::Ordering;

impl Condition {
    /// Whether the event data meets the condition; `None` where to find out takes more than `budget`.
    pub fn matches(&self, document: &Document<'_>, budget: &CostBudget) -> Option<bool> {
        let holds = expression_holds(&self.root, Origin::Document(document.root()), budget);
        (!budget.is_exhausted()).then_some(holds)
    }
}

impl CostBudget {
    fn is_match(&self, pattern: &Pattern, text: &str) -> bool {
        !self.is_exhausted_by(pattern.weight * text.len()) && pattern.regex.is_match(text)
    }
}

/// Where paths begin.
#[derive(Clone, Copy)]
enum Origin<'d> {
    Document(Value<'d>),
    /// An element that `$elemMatch` looks at: an array there is an object whose fields are its indices.
    Element(Value<'d>),
}

impl<'d> Origin<'d> {
    fn any_at(self, path: &Path, leaf: Leaf, budget: &CostBudget, holds: &mut dyn FnMut(Value<'d>) -> bool) -> bool {
        match self {
            Origin::Document(root) => any_at(root, &path.segments, leaf, budget, holds),
            Origin::Element(root) => any_in_element(root, &path.segments, leaf, budget, holds),
        }
    }
}

// Recursion follows the condition, which is at most `bounds::DEPTH` deep.
fn expression_holds(expression: &Expression, origin: Origin<'_>, budget: &CostBudget) -> bool {
    match expression {
        Expression::And(all) => all.iter().all(|each| expression_holds(each, origin, budget)),
        Expression::Or(any) => any.iter().any(|each| expression_holds(each, origin, budget)),
        Expression::Nor(none) => !none.iter().any(|each| expression_holds(each, origin, budget)),
        Expression::Field { path, predicate } => path_holds(predicate, path, origin, budget),
    }
}

/// Whether a predicate holds for the values at a path.
fn path_holds(predicate: &Predicate, path: &Path, origin: Origin<'_>, budget: &CostBudget) -> bool {
    let any = |leaf, holds: &mut dyn FnMut(Value<'_>) -> bool| origin.any_at(path, leaf, budget, holds);
    match predicate {
        Predicate::Ne(literal) => !any(Leaf::Elements, &mut |value| value.equals(literal)),
        Predicate::Nin(items) => !any(Leaf::Elements, &mut |value| is_in(items, &value, budget)),
        Predicate::Exists(wanted) => *wanted == any(Leaf::Whole, &mut |value| !value.is_missing()),
        Predicate::Not(all) => !all.iter().all(|each| path_holds(each, path, origin, budget)),
        Predicate::All(items) => {
            let mut unmet = Unmet::new(items);
            any(Leaf::Elements, &mut |value| unmet.meet(&value, budget))
        }
        Predicate::AllElemMatch(all) => {
            all.iter().all(|each| any(Leaf::Whole, &mut |value| has_element(&value, each, budget)))
        }
        Predicate::Size(_) | Predicate::ElemMatch(_) => {
            any(Leaf::Whole, &mut |value| value_holds(predicate, &value, budget))
        }
        _ => any(Leaf::Elements, &mut |value| value_holds(predicate, &value, budget)),
    }
}

/// Whether a predicate holds for one value, an array standing for itself alone.
fn value_holds(predicate: &Predicate, value: &Value<'_>, budget: &CostBudget) -> bool {
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
        Predicate::All(items) => Unmet::new(items).meet(value, budget),
        Predicate::AllElemMatch(all) => all.iter().all(|each| has_element(value, each, budget)),
        Predicate::ElemMatch(each) => has_element(value, each, budget),
        Predicate::Regex(pattern) => value.as_str().is_some_and(|text| budget.is_match(pattern, &text)),
        Predicate::Mod { divisor, remainder } => has_remainder(value, *divisor, *remainder),
        Predicate::Not(all) => !all.iter().all(|each| value_holds(each, value, budget)),
    }
}

/// Comparison looks within one type only.
fn compares(value: &Value<'_>, literal: &Literal, wanted: fn(Ordering) -> bool) -> bool {
    value.kind() == literal.kind() && wanted(value.order(literal))
}

fn is_in(items: &[ListItem], value: &Value<'_>, budget: &CostBudget) -> bool {
    position_in(items, value).is_some() || patterns_met(items, value, budget).next().is_some()
}

/// The positions of the patterns in a list that a value meets. Patterns stand at its end.
fn patterns_met<'i>(
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

/// Which items of an `$all` no value has met yet: one walk along the path serves them all.
struct Unmet<'i> {
    items: &'i [ListItem],
    /// One bit for each item; `bounds::LIST_VALUES` of them fit.
    bits: u128,
}

impl<'i> Unmet<'i> {
    fn new(items: &'i [ListItem]) -> Unmet<'i> {
        debug_assert!(items.len() < 128);
        Unmet { items, bits: (1 << items.len()) - 1 }
    }

    /// Takes off what `value` meets; true when that was the last. An empty `$all` is never met.
    fn meet(&mut self, value: &Value<'_>, budget: &CostBudget) -> bool {
        if let Some(at) = position_in(self.items, value) {
            self.bits &= !(1 << at);
        }
        for at in patterns_met(self.items, value, budget) {
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
                            && expression_holds(expression, Origin::Element(element), budget)
                    }
                    ElemMatch::Predicates(all) => all.iter().all(|each| value_holds(each, &element, budget)),
                }
        })
}

/// The remainder has the sign of the value, as in C; what does not fit into 64 bits has none.
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

/// The type that a JSON reader into BSON gives a number: by how it is written, then by its size.
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
