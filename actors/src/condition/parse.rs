//! Criteria text to [`Condition`], within [`bounds`].
//!
//! Criteria are read as a [`Document`] of few levels first, so that what follows may recurse. What is not understood
//! is refused, never skipped: a condition that says less than its author meant would tell what should not be told.

mod folding;
mod list;
mod literal;
mod operators;
mod pattern;

use super::document::{Document, DocumentError, Kind, Value};
use super::{Condition, ConditionError, Expression, Path, Predicate, Segment, bounds};
use literal::read_literal;
use operators::read_predicates;

impl Condition {
    /// Parses criteria as a client sent them: one JSON object.
    ///
    /// # Errors
    ///
    /// [`ConditionError::TooLarge`] past one of the [`bounds`]; [`ConditionError::Invalid`] for what is not JSON, has
    /// duplicate keys, an unknown operator or an operand of a wrong type.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        if text.len() > bounds::TEXT_BYTES {
            return Err(too_large("bytes of text", bounds::TEXT_BYTES));
        }
        let document = Document::parse_within(text, bounds::DEPTH).map_err(|error| match error {
            DocumentError::TooDeep => too_large("levels of nesting", bounds::DEPTH),
            DocumentError::Syntax(at) => invalid(format!("criteria are not valid JSON (byte {at})")),
        })?;
        if let Some(key) = document.duplicate_key() {
            return Err(invalid(format!("the key {} stands twice in one object", shown(&key))));
        }
        if document.root().kind() != Kind::Object {
            return Err(invalid("criteria must be an object".into()));
        }
        let mut budget = Budget::default();
        let root = read_expression(document.root(), &mut budget)?;
        Ok(Condition { root })
    }
}

/// What a condition may still use up.
struct Budget {
    operators: usize,
    /// Bytes of compiled patterns.
    pattern_bytes: usize,
    /// Letters in brackets of patterns that ignore case.
    folded_letters: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            operators: bounds::OPERATORS,
            pattern_bytes: bounds::PATTERN_BYTES,
            folded_letters: bounds::FOLDED_LETTERS,
        }
    }
}

impl Budget {
    fn take_operator(&mut self) -> Result<(), ConditionError> {
        match self.operators.checked_sub(1) {
            Some(left) => {
                self.operators = left;
                Ok(())
            }
            None => Err(too_large("operators", bounds::OPERATORS)),
        }
    }
}

/// Criteria: all keys of the object must hold.
fn read_expression(object: Value<'_>, budget: &mut Budget) -> Result<Expression, ConditionError> {
    let mut all = Vec::new();
    for (key, value) in object.fields() {
        let name = key.as_str().unwrap_or_default();
        if name.starts_with('$') {
            budget.take_operator()?;
            all.push(read_logical(&name, value, budget)?);
        } else {
            let path = read_path(&name)?;
            for predicate in read_field(value, budget)? {
                all.push(Expression::Field { path: path.clone(), predicate });
            }
        }
    }
    Ok(conjunction(all))
}

fn read_logical(name: &str, value: Value<'_>, budget: &mut Budget) -> Result<Expression, ConditionError> {
    let combine = match name {
        "$and" => conjunction,
        "$or" => |any: Vec<Expression>| Expression::Or(any.into()),
        "$nor" => |none: Vec<Expression>| Expression::Nor(none.into()),
        _ if operators::is_known(name) => {
            return Err(invalid(format!("{name} must stand inside a field, as in {{\"field\": {{\"{name}\": …}}}}")));
        }
        _ => return Err(unknown_operator(name)),
    };
    let mut parts = Vec::new();
    for element in value.elements() {
        if element.kind() != Kind::Object {
            return Err(invalid(format!("{name} takes objects")));
        }
        parts.push(read_expression(element, budget)?);
    }
    if parts.is_empty() {
        return Err(invalid(format!("{name} must be an array of at least one object")));
    }
    Ok(combine(parts))
}

/// What is asked of one field: operators, or a value to equal.
fn read_field(value: Value<'_>, budget: &mut Budget) -> Result<Vec<Predicate>, ConditionError> {
    if is_operators(value) {
        return read_predicates(value, budget);
    }
    budget.take_operator()?;
    Ok(vec![Predicate::Eq(read_literal(value)?)])
}

/// Whether it is an object that begins with an operator.
fn is_operators(value: Value<'_>) -> bool {
    first_key(value).is_some_and(|key| key.starts_with('$'))
}

fn first_key(value: Value<'_>) -> Option<String> {
    let (key, _) = value.fields().next()?;
    key.as_str().map(String::from)
}

/// Nested conjunctions become one, so that equal conditions look equal.
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

/// Any text is a path: between dots stand names, which may be empty (`a..b`), as in MongoDB.
pub(super) fn read_path(text: &str) -> Result<Path, ConditionError> {
    if text.split('.').count() > bounds::PATH_SEGMENTS {
        return Err(too_large("segments in a path", bounds::PATH_SEGMENTS));
    }
    let segments = text.split('.').map(|name| Segment { index: read_index(name), name: name.into() });
    Ok(Path { segments: segments.collect() })
}

fn read_index(name: &str) -> Option<u32> {
    let canonical = name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    canonical.then(|| name.parse().ok()).flatten()
}

fn invalid(message: String) -> ConditionError {
    ConditionError::Invalid(message)
}

fn too_large(what: &str, most: usize) -> ConditionError {
    ConditionError::TooLarge(format!("a condition may have {most} {what} at the most"))
}

fn unknown_operator(name: &str) -> ConditionError {
    invalid(format!("unknown operator {}", shown(name)))
}

/// A key of the input as a message may repeat it: short, on one line.
fn shown(key: &str) -> String {
    const MOST: usize = 40;
    let mut shown: String = key.chars().take(MOST).flat_map(char::escape_debug).collect();
    if key.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
