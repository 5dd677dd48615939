//! A second, simple matcher with the semantics of MongoDB, to compare with. It uses `serde_json` and none of our types.

use serde_json::Value;
use std::cmp::Ordering;

/// Whether `data` matches valid `criteria`.
pub fn matches(criteria: &Value, data: &Value) -> bool {
    let criteria = criteria.as_object().expect("criteria are an object");
    criteria.iter().all(|(key, operand)| match key.as_str() {
        "$and" => list(operand).iter().all(|each| matches(each, data)),
        "$or" => list(operand).iter().any(|each| matches(each, data)),
        "$nor" => !list(operand).iter().any(|each| matches(each, data)),
        path => {
            let segments: Vec<&str> = path.split('.').collect();
            let elements = values_at(Some(data), &segments, true);
            let whole = values_at(Some(data), &segments, false);
            field_matches(operand, &elements, &whole)
        }
    })
}

fn list(operand: &Value) -> &[Value] {
    operand.as_array().expect("a list")
}

fn field_matches(operand: &Value, elements: &[Option<Value>], whole: &[Option<Value>]) -> bool {
    let operators = operand.as_object().filter(|object| object.keys().any(|key| key.starts_with('$')));
    let Some(operators) = operators else {
        return elements.iter().any(|value| equal(value, operand));
    };
    operators.iter().all(|(name, operand)| {
        let any = |predicate: &dyn Fn(&Option<Value>) -> bool| elements.iter().any(predicate);
        match name.as_str() {
            "$eq" => any(&|value| equal(value, operand)),
            "$ne" => !any(&|value| equal(value, operand)),
            "$gt" => any(&|value| compare(value, operand) == Some(Ordering::Greater)),
            "$gte" => any(&|value| matches!(compare(value, operand), Some(Ordering::Greater | Ordering::Equal))),
            "$lt" => any(&|value| compare(value, operand) == Some(Ordering::Less)),
            "$lte" => any(&|value| matches!(compare(value, operand), Some(Ordering::Less | Ordering::Equal))),
            "$in" => any(&|value| list(operand).iter().any(|item| equal(value, item))),
            "$nin" => !any(&|value| list(operand).iter().any(|item| equal(value, item))),
            "$all" => !list(operand).is_empty() && list(operand).iter().all(|item| any(&|value| equal(value, item))),
            "$exists" => operand.as_bool() == Some(whole.iter().any(Option::is_some)),
            "$type" => any(&|value| value.as_ref().is_some_and(|value| operand == type_name(value))),
            "$size" => whole
                .iter()
                .flatten()
                .any(|value| value.as_array().is_some_and(|array| operand.as_u64() == Some(array.len() as u64))),
            "$mod" => any(&|value| {
                let whole = value.as_ref().and_then(Value::as_f64).map(f64::trunc);
                let (divisor, remainder) = (operand[0].as_f64(), operand[1].as_f64());
                whole.is_some_and(|whole| Some(whole % divisor.expect("a number")) == remainder)
            }),
            "$regex" => any(&|value| {
                let text = value.as_ref().and_then(Value::as_str);
                text.is_some_and(|text| text.contains(operand.as_str().expect("a pattern")))
            }),
            "$not" => !field_matches(operand, elements, whole),
            "$elemMatch" => whole
                .iter()
                .flatten()
                .filter_map(Value::as_array)
                .any(|array| array.iter().any(|element| element_matches(operand, element))),
            other => panic!("{other} is not supported"),
        }
    })
}

fn element_matches(operand: &Value, element: &Value) -> bool {
    let names: Vec<&String> = operand.as_object().expect("an object").keys().collect();
    let is_value_form =
        names.iter().any(|name| name.starts_with('$') && !["$and", "$or", "$nor"].contains(&name.as_str()));
    if is_value_form {
        // Operators apply to an element that is an array, not to its elements.
        let alone = [Some(element.clone())];
        return field_matches(operand, &alone, &alone);
    }
    match element {
        Value::Object(_) => matches(operand, element),
        Value::Array(elements) => {
            let fields = elements.iter().enumerate().map(|(at, element)| (at.to_string(), element.clone()));
            matches(operand, &Value::Object(fields.collect()))
        }
        _ => false,
    }
}

/// All values at the path. `None` is a missing value.
fn values_at(value: Option<&Value>, path: &[&str], includes_elements: bool) -> Vec<Option<Value>> {
    let Some((name, rest)) = path.split_first() else {
        let inside = value.and_then(Value::as_array).filter(|_| includes_elements);
        return inside.into_iter().flatten().cloned().map(Some).chain([value.cloned()]).collect();
    };
    match value {
        Some(Value::Object(fields)) => values_at_field(fields.get(*name), rest, includes_elements),
        Some(Value::Array(elements)) => {
            let mut found = Vec::new();
            for (at, element) in elements.iter().enumerate() {
                if element.is_object() {
                    found.extend(values_at(Some(element), path, includes_elements));
                }
                if *name != at.to_string() {
                    continue;
                }
                if rest.is_empty() {
                    found.push(Some(element.clone()));
                } else if element.is_object() || element.is_array() {
                    found.extend(values_at(Some(element), rest, includes_elements));
                }
            }
            found
        }
        _ => vec![None],
    }
}

fn values_at_field(child: Option<&Value>, rest: &[&str], includes_elements: bool) -> Vec<Option<Value>> {
    match child {
        None => vec![None],
        Some(child) => values_at(Some(child), rest, includes_elements),
    }
}

fn equal(value: &Option<Value>, operand: &Value) -> bool {
    compare(value, operand) == Some(Ordering::Equal)
}

/// `None` for different types.
fn compare(value: &Option<Value>, operand: &Value) -> Option<Ordering> {
    let value = value.as_ref().unwrap_or(&Value::Null);
    (type_order(value) == type_order(operand)).then(|| order(value, operand))
}

fn order(left: &Value, right: &Value) -> Ordering {
    let by_type = type_order(left).cmp(&type_order(right));
    by_type.then_with(|| match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => {
            left.as_f64().partial_cmp(&right.as_f64()).expect("small numbers")
        }
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => left
            .iter()
            .zip(right)
            .map(|(left, right)| order(left, right))
            .find(|by_one| by_one.is_ne())
            .unwrap_or(left.len().cmp(&right.len())),
        (Value::Object(left), Value::Object(right)) => left
            .iter()
            .zip(right)
            .map(|((left_key, left), (right_key, right))| {
                let by_type = type_order(left).cmp(&type_order(right));
                by_type.then(left_key.cmp(right_key)).then_with(|| order(left, right))
            })
            .find(|by_one| by_one.is_ne())
            .unwrap_or(left.len().cmp(&right.len())),
        _ => Ordering::Equal,
    })
}

fn type_order(value: &Value) -> usize {
    ["null", "number", "string", "object", "array", "bool"]
        .iter()
        .position(|name| *name == type_name(value))
        .expect("every type is there")
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
