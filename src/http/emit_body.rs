//! The body of an emit call: one emit, or an array of emits, each checked on its own (docs/protocol.md §6). Event data
//! stays a slice of the body.

use super::call::invalid;
use super::error::HttpError;
use actors::condition::document::Document;
use actors::counters::{Counters, Limit};
use actors::emitter::Emit;
use actors::protocol::codes::ErrorCode;
use actors::protocol::messages::read_string;
use actors::session::request::{EVENT_NAME_RULE, is_event_name};
use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Insignificant whitespace around a JSON value (RFC 8259 §2).
const JSON_WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The longest idempotency key, in bytes.
const IDEMPOTENCY_KEY_BYTES: usize = 256;

/// One emit, or why it is refused.
pub type Item = Result<Emit, HttpError>;

/// Reads the items of a body, at most `most`, and whether they came as an array.
pub fn read_emits(body: &Bytes, most: usize, counters: &Counters) -> Result<(Vec<Item>, bool), HttpError> {
    let text = std::str::from_utf8(body).map_err(|_| invalid("the body must be UTF-8"))?;
    let text = text.trim_matches(JSON_WHITESPACE);
    if !text.starts_with('[') {
        return Ok((vec![read_item(text, body)], false));
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| invalid("the body is not valid JSON"))?;
    if items.is_empty() {
        return Err(invalid("the array is empty: send at least one emit"));
    }
    if items.len() > most {
        counters.count_limit(Limit::EmitBatch);
        return Err(invalid(format!("an array may have {most} emits: send more calls, or raise limits.emit_batch")));
    }
    Ok((items.into_iter().map(|item| read_item(item.get(), body)).collect(), true))
}

#[derive(Deserialize)]
struct ItemFields<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow, rename = "eventData", default, deserialize_with = "value_or_null")]
    data: Option<&'a RawValue>,
    #[serde(borrow, rename = "idempotencyKey")]
    idempotency_key: Option<&'a RawValue>,
}

/// Tells `null`, which is event data like any other, from a missing member.
fn value_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one emit. Its data stays a slice of the body.
fn read_item(text: &str, body: &Bytes) -> Item {
    if !text.starts_with('{') {
        return Err(invalid("an emit must be a JSON object"));
    }
    let fields: ItemFields<'_> = serde_json::from_str(text).map_err(|error| match error.is_data() {
        true => invalid("an emit has name, eventData and idempotencyKey, each once"),
        false => invalid("the body is not valid JSON"),
    })?;
    let name = fields.name.and_then(read_string).filter(|name| is_event_name(name));
    let name =
        name.ok_or_else(|| HttpError::bad_request(ErrorCode::EventNameInvalid, format!("name: {EVENT_NAME_RULE}")))?;
    let data = fields.data.ok_or_else(|| invalid("eventData is missing"))?;
    Document::parse(data.get()).map_err(|error| invalid(error.to_string()))?;
    let idempotency_key = match fields.idempotency_key {
        None => None,
        Some(raw) => match read_string(raw) {
            Some(key) if (1..=IDEMPOTENCY_KEY_BYTES).contains(&key.len()) => Some(key.into()),
            _ => return Err(invalid("idempotencyKey must be a string of 1 to 256 bytes")),
        },
    };
    let data = data.get().as_bytes();
    // A slice keeps the whole body in memory, so data that is a small part of it is copied.
    let data = if data.len() * 2 < text.len() { Bytes::copy_from_slice(data) } else { body.slice_ref(data) };
    Ok(Emit { event: name.as_ref().into(), data, idempotency_key })
}
