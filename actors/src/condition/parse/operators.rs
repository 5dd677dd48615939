//! The operators of one field.

use super::super::document::{Kind, Value};
use super::super::{ConditionError, ElemMatch, JsonType, Literal, Predicate};
use super::list::{read_all, read_list};
use super::literal::{read_literal, unexpected_key};
use super::pattern::read_regex;
use super::{Budget, first_key, invalid, is_operators, read_expression, shown};

/// Every operator, for messages that tell a misplaced one from an unknown one.
const KNOWN: [&str; 20] = [
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

pub(super) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// An object of operators, all of which must hold.
pub(super) fn read_predicates(object: Value<'_>, budget: &mut Budget) -> Result<Vec<Predicate>, ConditionError> {
    let mut predicates = Vec::new();
    for (key, operand) in object.fields() {
        let name = key.as_str().unwrap_or_default();
        budget.take_operator()?;
        match &*name {
            "$regex" => predicates.push(Predicate::Regex(read_regex(object, budget)?)),
            "$options" if object.field("$regex").is_some() => {}
            "$options" => return Err(invalid("$options needs a $regex beside it".into())),
            _ => predicates.push(read_predicate(&name, operand, budget)?),
        }
    }
    Ok(predicates)
}

/// What one element of an array must meet: operators, or criteria.
pub(super) fn read_elem_match(operand: Value<'_>, budget: &mut Budget) -> Result<ElemMatch, ConditionError> {
    if operand.kind() != Kind::Object {
        return Err(invalid("$elemMatch takes an object".into()));
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

fn read_predicate(name: &str, operand: Value<'_>, budget: &mut Budget) -> Result<Predicate, ConditionError> {
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
            return Err(invalid(format!("{name} must stand above fields, not inside one")));
        }
        _ => return Err(unexpected_key(name)),
    };
    Ok(compare(read_literal(operand)?))
}

fn read_not(operand: Value<'_>, budget: &mut Budget) -> Result<Predicate, ConditionError> {
    if !is_operators(operand) {
        return Err(invalid("$not takes an object of operators".into()));
    }
    Ok(Predicate::Not(read_predicates(operand, budget)?.into()))
}

fn read_exists(operand: Value<'_>) -> Result<Predicate, ConditionError> {
    match (operand.as_bool(), operand.as_number()) {
        (Some(wanted), _) => Ok(Predicate::Exists(wanted)),
        (None, Some(number)) => Ok(Predicate::Exists(number != 0.into())),
        (None, None) => Err(invalid("$exists takes true or false".into())),
    }
}

fn read_size(operand: Value<'_>) -> Result<Predicate, ConditionError> {
    operand
        .as_number()
        .filter(|number| number.is_whole())
        .and_then(|number| u64::try_from(number.to_i64_truncated()?).ok())
        .map(Predicate::Size)
        .ok_or_else(|| invalid("$size takes a whole number that is not negative".into()))
}

fn read_mod(operand: Value<'_>) -> Result<Predicate, ConditionError> {
    let operands: Option<Vec<i64>> =
        operand.elements().take(3).map(|element| element.as_number()?.to_i64_truncated()).collect();
    match operands.as_deref() {
        Some(&[0, _]) => Err(invalid("the divisor of $mod may not be 0".into())),
        Some(&[divisor, remainder]) => Ok(Predicate::Mod { divisor, remainder }),
        _ => Err(invalid("$mod takes an array of two numbers: divisor and remainder".into())),
    }
}

/// One type or an array of them. Types that JSON has not (`"date"`) are legal and match nothing.
fn read_types(operand: Value<'_>) -> Result<Predicate, ConditionError> {
    let read = |value: Value<'_>| match (value.as_str(), value.as_number()) {
        (Some(alias), _) => {
            type_of_alias(&alias).ok_or_else(|| invalid(format!("unknown type {} in $type", shown(&alias))))
        }
        (None, Some(number)) if number.is_whole() => number
            .to_i64_truncated()
            .and_then(type_of_number)
            .ok_or_else(|| invalid("unknown type number in $type".into())),
        _ => Err(invalid("$type takes names or numbers of types".into())),
    };
    let types = match operand.kind() {
        Kind::Array => operand.elements().map(read).collect::<Result<Vec<_>, _>>()?,
        _ => vec![read(operand)?],
    };
    if types.is_empty() {
        return Err(invalid("$type takes at least one type".into()));
    }
    Ok(Predicate::Type(types.into_iter().flatten().collect()))
}

/// `Some(None)` for a type of BSON that JSON has not.
fn type_of_alias(alias: &str) -> Option<Option<JsonType>> {
    Some(match alias {
        "null" => Some(JsonType::Null),
        "bool" => Some(JsonType::Bool),
        "number" => Some(JsonType::Number),
        "int" => Some(JsonType::Int),
        "long" => Some(JsonType::Long),
        "double" => Some(JsonType::Double),
        "string" => Some(JsonType::String),
        "object" => Some(JsonType::Object),
        "array" => Some(JsonType::Array),
        "binData"
        | "undefined"
        | "objectId"
        | "date"
        | "regex"
        | "dbPointer"
        | "javascript"
        | "symbol"
        | "javascriptWithScope"
        | "timestamp"
        | "decimal"
        | "minKey"
        | "maxKey" => None,
        _ => return None,
    })
}

fn type_of_number(number: i64) -> Option<Option<JsonType>> {
    Some(match number {
        1 => Some(JsonType::Double),
        2 => Some(JsonType::String),
        3 => Some(JsonType::Object),
        4 => Some(JsonType::Array),
        8 => Some(JsonType::Bool),
        10 => Some(JsonType::Null),
        16 => Some(JsonType::Int),
        18 => Some(JsonType::Long),
        5..=7 | 9 | 11..=15 | 17 | 19 | -1 | 127 => None,
        _ => return None,
    })
}
