//! Reads a value as the type of its default. This is strict, while the crate `config` accepts `true` as 1 and rounds a
//! fraction.

use config::{ConfigError, Value, ValueKind};

/// Describes how the type of a value in the file differs from the type of the default, if it does.
pub fn mismatch(default: &Value, value: &Value) -> Option<String> {
    let (expected, found) = (kind_of(default), kind_of(value));
    (expected != found).then(|| format!("must be {expected}, not {found}"))
}

/// Reads the text of an environment variable as the type of the default.
pub fn parse_as(default: &Value, text: &str) -> Result<Value, String> {
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return Err("must be UTF-8".to_owned());
    }
    let kind = match &default.kind {
        ValueKind::I64(_) => text.trim().parse().map(ValueKind::I64).ok(),
        ValueKind::Boolean(_) => text.trim().parse().map(ValueKind::Boolean).ok(),
        ValueKind::Array(_) => Some(ValueKind::Array(split_list(text))),
        _ => Some(ValueKind::String(text.to_owned())),
    };
    let kind = kind.ok_or_else(|| format!("must be {}, not {text:?}", kind_of(default)))?;
    Ok(Value::new(None, kind))
}

fn split_list(text: &str) -> Vec<Value> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(|item| Value::new(None, item)).collect()
}

fn kind_of(value: &Value) -> &'static str {
    match value.kind {
        ValueKind::Nil => "nothing",
        ValueKind::Boolean(_) => "true or false",
        ValueKind::I64(_) | ValueKind::I128(_) | ValueKind::U64(_) | ValueKind::U128(_) => "a whole number",
        ValueKind::Float(_) => "a fraction",
        ValueKind::String(_) => "a text",
        ValueKind::Table(_) => "a section",
        ValueKind::Array(_) => "a list",
    }
}

/// The cause of an error of `config`, without the key: the caller adds the key.
pub fn innermost(mut error: ConfigError) -> String {
    while let ConfigError::At { error: inner, .. } = error {
        error = *inner;
    }
    match error {
        ConfigError::Type { unexpected, expected, .. } => format!("must be {expected}, not {unexpected}"),
        other => other.to_string(),
    }
}
