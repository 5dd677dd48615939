//! Criteria and operators, which contain each other.

use super::super::document::{Kind, Value};
use super::super::{ConditionError, ElemMatch, Expression, Literal, Predicate};
use super::budget::ParseBudget;
use super::list::{check_length, read_list};
use super::literal::{first_key, read_literal};
use super::operands::{read_exists, read_mod, read_size, read_types};
use super::path::read_path;
use super::pattern::read_regex;
use super::problems::{invalid, is_operator, unexpected_key, unknown_operator};

/// Criteria: every key of the object must match.
pub(super) fn read_expression(object: Value<'_>, budget: &mut ParseBudget) -> Result<Expression, ConditionError> {
    let mut all = Vec::new();
    for (key, value) in object.fields() {
        let name = key.as_str().unwrap_or_default();
        if name.starts_with('$') {
            budget.take_operator()?;
            all.push(read_logical(&name, value, budget)?);
        } else {
            let path = read_path(&name)?;
            for predicate in read_field(value, budget).map_err(|error| error.in_field(&name))? {
                all.push(Expression::Field { path: path.clone(), predicate });
            }
        }
    }
    Ok(conjunction(all))
}

fn read_logical(name: &str, value: Value<'_>, budget: &mut ParseBudget) -> Result<Expression, ConditionError> {
    let combine = match name {
        "$and" => conjunction,
        "$or" => |any: Vec<Expression>| Expression::Or(any.into()),
        "$nor" => |none: Vec<Expression>| Expression::Nor(none.into()),
        _ if is_operator(name) => {
            return Err(invalid(format!(r#"{name} must be inside a field: write {{"field": {{"{name}": …}}}}"#)));
        }
        _ => return Err(unknown_operator(name)),
    };
    let mut parts = Vec::new();
    for element in value.elements() {
        if element.kind() != Kind::Object {
            return Err(must_be_objects(name));
        }
        parts.push(read_expression(element, budget)?);
    }
    if parts.is_empty() {
        return Err(must_be_objects(name));
    }
    Ok(combine(parts))
}

fn must_be_objects(name: &str) -> ConditionError {
    invalid(format!(r#"{name} takes an array of at least one object, such as {{"{name}": [{{"a": 1}}, {{"b": 2}}]}}"#))
}

/// The predicates of one field: operators, or a value that the field must equal.
fn read_field(value: Value<'_>, budget: &mut ParseBudget) -> Result<Vec<Predicate>, ConditionError> {
    if is_operators(value) {
        return read_predicates(value, budget);
    }
    budget.take_operator()?;
    Ok(vec![Predicate::Eq(read_literal(value)?)])
}

/// Whether the value is an object whose first key is an operator.
fn is_operators(value: Value<'_>) -> bool {
    first_key(value).is_some_and(|key| key.starts_with('$'))
}

/// Flattens nested conjunctions, so that equal conditions are equal values.
fn conjunction(parts: Vec<Expression>) -> Expression {
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Expression::And(inner) => all.extend(inner),
            other => all.push(other),
        }
    }
    match all.len() {
        1 => all.swap_remove(0),
        _ => Expression::And(all.into()),
    }
}

/// An object of operators, all of which must match.
fn read_predicates(object: Value<'_>, budget: &mut ParseBudget) -> Result<Vec<Predicate>, ConditionError> {
    let mut predicates = Vec::new();
    for (key, operand) in object.fields() {
        let name = key.as_str().unwrap_or_default();
        budget.take_operator()?;
        match &*name {
            "$regex" => predicates.push(Predicate::Regex(read_regex(object, budget)?)),
            "$options" if object.field("$regex").is_some() => {}
            "$options" => {
                return Err(invalid(r#"$options needs a $regex next to it: {"$regex": "^a", "$options": "i"}"#));
            }
            _ => predicates.push(read_predicate(&name, operand, budget)?),
        }
    }
    Ok(predicates)
}

/// What one element of an array must match: operators, or criteria.
fn read_elem_match(operand: Value<'_>, budget: &mut ParseBudget) -> Result<ElemMatch, ConditionError> {
    if operand.kind() != Kind::Object {
        return Err(invalid("$elemMatch takes an object of operators or criteria"));
    }
    match first_key(operand).as_deref() {
        Some("$and" | "$or" | "$nor") => {}
        Some(name) if name.starts_with('$') => {
            let predicates = read_predicates(operand, budget)?;
            return Ok(ElemMatch::Predicates(predicates.into()));
        }
        _ => {}
    }
    Ok(ElemMatch::Criteria(read_expression(operand, budget)?))
}

fn read_predicate(name: &str, operand: Value<'_>, budget: &mut ParseBudget) -> Result<Predicate, ConditionError> {
    let compare: fn(Literal) -> Predicate = match name {
        "$eq" => Predicate::Eq,
        "$ne" => Predicate::Ne,
        "$gt" => Predicate::Gt,
        "$gte" => Predicate::Gte,
        "$lt" => Predicate::Lt,
        "$lte" => Predicate::Lte,
        "$in" => return Ok(Predicate::In(read_list(name, operand, budget)?)),
        "$nin" => return Ok(Predicate::Nin(read_list(name, operand, budget)?)),
        "$all" => return read_all(operand, budget),
        "$exists" => return read_exists(operand),
        "$type" => return read_types(operand),
        "$size" => return read_size(operand),
        "$mod" => return read_mod(operand),
        "$elemMatch" => {
            let wanted = read_elem_match(operand, budget)?;
            return Ok(Predicate::ElemMatch(Box::new(wanted)));
        }
        "$not" => return read_not(operand, budget),
        "$and" | "$or" | "$nor" => {
            return Err(invalid(format!(
                r#"{name} must be outside of a field: write {{"{name}": [{{"field": …}}, …]}}"#
            )));
        }
        _ => return Err(unexpected_key(name)),
    };
    Ok(compare(read_literal(operand)?))
}

/// `$all` takes a list of values, or a list of `$elemMatch` objects, but no mix of them.
fn read_all(value: Value<'_>, budget: &mut ParseBudget) -> Result<Predicate, ConditionError> {
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
            _ => Err(invalid("$all takes either values or $elemMatch objects; do not mix them in one list")),
        })
        .collect();
    Ok(Predicate::AllElemMatch(all?))
}

fn read_not(operand: Value<'_>, budget: &mut ParseBudget) -> Result<Predicate, ConditionError> {
    if !is_operators(operand) {
        return Err(invalid(r#"$not takes an object of operators, such as {"$not": {"$gt": 1}}"#));
    }
    Ok(Predicate::Not(read_predicates(operand, budget)?.into()))
}
