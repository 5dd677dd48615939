//! Operands of the operators that take neither a value to compare with nor nested criteria: `$exists`, `$size`, `$mod`,
//! `$type`.

use super::super::document::{Kind, Value};
use super::super::excerpt::excerpt;
use super::super::{ConditionError, JsonType, Predicate};
use super::problems::invalid;

pub(super) fn read_exists(operand: Value<'_>) -> Result<Predicate, ConditionError> {
    match (operand.as_bool(), operand.as_number()) {
        (Some(wanted), _) => Ok(Predicate::Exists(wanted)),
        (None, Some(number)) => Ok(Predicate::Exists(number != 0.into())),
        (None, None) => Err(invalid("$exists takes true or false")),
    }
}

pub(super) fn read_size(operand: Value<'_>) -> Result<Predicate, ConditionError> {
    operand
        .as_number()
        .filter(|number| number.is_whole())
        .and_then(|number| u64::try_from(number.to_i64_truncated()?).ok())
        .map(Predicate::Size)
        .ok_or_else(|| invalid("$size takes a whole number from 0"))
}

pub(super) fn read_mod(operand: Value<'_>) -> Result<Predicate, ConditionError> {
    let operands: Option<Vec<i64>> =
        operand.elements().take(3).map(|element| element.as_number()?.to_i64_truncated()).collect();
    match operands.as_deref() {
        Some(&[0, _]) => Err(invalid("the divisor of $mod must not be 0")),
        Some(&[divisor, remainder]) => Ok(Predicate::Mod { divisor, remainder }),
        _ => Err(invalid("$mod takes an array of two numbers: [divisor, remainder]")),
    }
}

/// One type or an array of types. Types that JSON does not have (`"date"`) are valid and match nothing.
pub(super) fn read_types(operand: Value<'_>) -> Result<Predicate, ConditionError> {
    let read = |value: Value<'_>| match (value.as_str(), value.as_number()) {
        (Some(alias), _) => type_of_alias(&alias).ok_or_else(|| unknown_type(&alias)),
        (None, Some(number)) if number.is_whole() => {
            number.to_i64_truncated().and_then(type_of_number).ok_or_else(|| unknown_type(value.raw()))
        }
        _ => Err(invalid("$type takes a type name, a type number, or an array of them")),
    };
    let types = match operand.kind() {
        Kind::Array => operand.elements().map(read).collect::<Result<Vec<_>, _>>()?,
        _ => vec![read(operand)?],
    };
    if types.is_empty() {
        return Err(invalid("$type takes at least one type"));
    }
    Ok(Predicate::Type(types.into_iter().flatten().collect()))
}

fn unknown_type(name: &str) -> ConditionError {
    let name = excerpt(name);
    invalid(format!("unknown type {name} in $type; use null, bool, number, int, long, double, string, object or array"))
}

/// `Some(None)` for a BSON type that JSON does not have.
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
