//! JSON messages: reads those of clients without copying, and writes those of the node in one pass.
//!
//! This module knows only the names on the wire. `session/request.rs` interprets the entries of a message.

use super::codes::{ErrorCode, GapReason};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The longest `guid` that is echoed, in bytes.
pub const GUID_BYTES: usize = 64;

/// The name of the API token, as a header, as a query parameter and in REFRESH.
pub const API_TOKEN: &str = "x-am-authorization";

/// The name of the user token, in the same places.
pub const USER_TOKEN: &str = "x-am-user-authorization";

/// The only supported event type.
pub const CUSTOM_WS_EVENTS: &str = "CUSTOM_WS_EVENTS";

/// The id of a subscription within its session. On the wire, a decimal string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u32);

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// An error code and a message that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    pub code: ErrorCode,
    pub message: Cow<'static, str>,
}

impl ErrorBody {
    /// An error with its message.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> ErrorBody {
        ErrorBody { code, message: message.into() }
    }
}

/// A client's message. Its entries are not parsed yet. Not `Debug`, because it may hold tokens.
pub enum ClientMessage<'a> {
    Register { guid: Option<Cow<'a, str>>, entries: Vec<&'a RawValue> },
    Unregister { guid: Option<Cow<'a, str>>, entries: Vec<&'a RawValue> },
    Refresh { guid: Option<Cow<'a, str>>, api: Option<Cow<'a, str>>, user: Option<Cow<'a, str>> },
}

/// A refused message: the error to answer with, and the type of the answer.
#[derive(Debug)]
pub struct Refusal<'a> {
    pub answer_type: &'static str,
    pub guid: Option<Cow<'a, str>>,
    pub error: ErrorBody,
}

impl Refusal<'_> {
    /// Whether the answer has the two lists of REGISTER and UNREGISTER.
    pub fn has_lists(&self) -> bool {
        matches!(self.answer_type, "REGISTER" | "UNREGISTER")
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, rename = "objType")]
    object_type: Option<&'a RawValue>,
    #[serde(borrow)]
    guid: Option<&'a RawValue>,
    #[serde(borrow, rename = "onEvents")]
    on_events: Option<&'a RawValue>,
    #[serde(borrow)]
    tokens: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Tokens<'a> {
    #[serde(borrow, rename = "x-am-authorization")]
    api: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "x-am-user-authorization")]
    user: Option<Cow<'a, str>>,
}

/// Reads one client message.
pub fn read_client_message(text: &str) -> Result<ClientMessage<'_>, Refusal<'_>> {
    let envelope: Envelope<'_> = read_object(text).ok_or_else(|| refusal("UNKNOWN", None, INVALID_JSON))?;
    let guid = match envelope.guid.map(read_guid) {
        None => None,
        Some(Some(guid)) => Some(guid),
        Some(None) => return Err(refusal("UNKNOWN", None, GUID_INVALID)),
    };
    let object_type: Option<Cow<'_, str>> = envelope.object_type.and_then(read_string);
    match object_type.as_deref() {
        Some("REGISTER") => match read_list(envelope.on_events) {
            Some(entries) => Ok(ClientMessage::Register { guid, entries }),
            None => Err(refusal("REGISTER", guid, ON_EVENTS_MISSING)),
        },
        Some("UNREGISTER") => match read_list(envelope.on_events) {
            Some(entries) => Ok(ClientMessage::Unregister { guid, entries }),
            None => Err(refusal("UNREGISTER", guid, ON_EVENTS_MISSING)),
        },
        Some("REFRESH") => match envelope.tokens.and_then(|raw| read_object::<Tokens<'_>>(raw.get())) {
            Some(Tokens { api, user }) => Ok(ClientMessage::Refresh { guid, api, user }),
            None => Err(refusal("REFRESH", guid, TOKENS_MISSING)),
        },
        _ => Err(refusal("UNKNOWN", guid, UNKNOWN_TYPE)),
    }
}

type Problem = (ErrorCode, &'static str);
const INVALID_JSON: Problem = (ErrorCode::InvalidJson, "send one JSON object with objType in a text frame");
const GUID_INVALID: Problem = (ErrorCode::UnknownMessage, "guid must be a string of at most 64 bytes");
const UNKNOWN_TYPE: Problem = (ErrorCode::UnknownMessage, "objType must be REGISTER, UNREGISTER or REFRESH");
const ON_EVENTS_MISSING: Problem = (ErrorCode::UnknownMessage, "onEvents must be an array");
const TOKENS_MISSING: Problem =
    (ErrorCode::TokenMissing, "tokens must hold x-am-authorization, x-am-user-authorization or both, as strings");

fn refusal<'a>(answer_type: &'static str, guid: Option<Cow<'a, str>>, (code, message): Problem) -> Refusal<'a> {
    Refusal { answer_type, guid, error: ErrorBody::new(code, message) }
}

/// Reads a JSON object into a struct. A derived `Deserialize` alone would also accept an array of the fields.
pub(crate) fn read_object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    if !text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('{') {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Reads a JSON string. `None` if the value has another type.
pub fn read_string(raw: &RawValue) -> Option<Cow<'_, str>> {
    /// Borrows if the text has no escapes. A plain `Cow` would always copy.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

fn read_guid(raw: &RawValue) -> Option<Cow<'_, str>> {
    read_string(raw).filter(|guid| guid.len() <= GUID_BYTES)
}

fn read_list(raw: Option<&RawValue>) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw?.get()).ok()
}

/// `{"type":"CONNECTED",…}`: the first message of an accepted session.
pub fn connected(session_id: &str, node: &str, ping_interval: u32) -> Vec<u8> {
    let mut out = br#"{"type":"CONNECTED","response":{"connected":true,"sessionId":"#.to_vec();
    write_string(&mut out, session_id);
    out.extend_from_slice(br#","node":"#);
    write_string(&mut out, node);
    out.extend_from_slice(format!(r#","pingInterval":{ping_interval}}}}}"#).as_bytes());
    out
}

/// `{"type":…,"errors":[…]}`: an answer that consists of an error.
pub fn errors(answer_type: &str, guid: Option<&str>, error: &ErrorBody) -> Vec<u8> {
    let mut out = open_answer(answer_type, guid);
    out.extend_from_slice(br#""errors":["#);
    write_error(&mut out, error);
    out.extend_from_slice(b"]}");
    out
}

/// The answer to a refused REGISTER or UNREGISTER: an error and two empty lists.
pub fn refused_lists(answer_type: &str, guid: Option<&str>, error: &ErrorBody) -> Vec<u8> {
    let mut out = open_answer(answer_type, guid);
    out.extend_from_slice(br#""response":{"validOnEvents":[],"invalidOnEvents":[]},"errors":["#);
    write_error(&mut out, error);
    out.extend_from_slice(b"]}");
    out
}

/// `{"type":"REFRESH",…}`: when the session now expires, in Unix seconds.
pub fn refreshed(guid: Option<&str>, expires_at: u64) -> Vec<u8> {
    let mut out = open_answer("REFRESH", guid);
    out.extend_from_slice(format!(r#""response":{{"expiresAt":{expires_at}}}}}"#).as_bytes());
    out
}

/// An answer with both lists. Their entries are complete JSON texts.
pub fn answer_lists(answer_type: &str, guid: Option<&str>, valid: &[String], invalid: &[String]) -> Vec<u8> {
    let mut out = open_answer(answer_type, guid);
    out.extend_from_slice(br#""response":{"validOnEvents":["#);
    out.extend_from_slice(valid.join(",").as_bytes());
    out.extend_from_slice(br#"],"invalidOnEvents":["#);
    out.extend_from_slice(invalid.join(",").as_bytes());
    out.extend_from_slice(b"]}}");
    out
}

/// Appends event data, or its selected fields.
pub type WriteData<'a> = dyn Fn(&mut Vec<u8>) + 'a;

/// The end of a notification, after the event data.
pub const NOTIFICATION_END: &[u8] = b"}}";

/// Writes the start of a notification, up to its event data.
pub fn write_notification_head(out: &mut Vec<u8>, id: EventId, event: &str) {
    write_notification_names(out, id, event);
    out.extend_from_slice(br#","eventData":"#);
}

/// Writes a notification. Without `write_data`, it has no event data.
pub fn write_notification(out: &mut Vec<u8>, id: EventId, event: &str, write_data: Option<&WriteData<'_>>) {
    write_notification_names(out, id, event);
    if let Some(write_data) = write_data {
        out.extend_from_slice(br#","eventData":"#);
        write_data(out);
    }
    out.extend_from_slice(NOTIFICATION_END);
}

fn write_notification_names(out: &mut Vec<u8>, id: EventId, event: &str) {
    out.extend_from_slice(br#"{"type":"NOTIFICATION","response":{"eventId":""#);
    out.extend_from_slice(id.0.to_string().as_bytes());
    out.extend_from_slice(br#"","eventType":"CUSTOM_WS_EVENTS","eventName":"#);
    write_string(out, event);
}

/// Writes a `GAP`: the subscription may have missed notifications.
pub fn write_gap(out: &mut Vec<u8>, id: EventId, reason: GapReason) {
    let reason = reason.as_str();
    out.extend_from_slice(
        format!(r#"{{"type":"GAP","response":{{"eventId":"{id}","reason":"{reason}"}}}}"#).as_bytes(),
    );
}

/// Adds `members` (`"key":value,…`) at the end of a client's entry. If the entry is not an object, the result has only
/// `members`.
pub fn extend_entry(entry: &str, members: &str) -> String {
    let Some(inner) = entry.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return format!("{{{members}}}");
    };
    let inner = inner.trim_end_matches([' ', '\t', '\n', '\r']);
    let separator = if inner.trim_start_matches([' ', '\t', '\n', '\r']).is_empty() { "" } else { "," };
    format!("{{{inner}{separator}{members}}}")
}

/// `"error":{…}`, for [`extend_entry`].
pub fn error_member(error: &ErrorBody) -> String {
    let mut out = br#""error":"#.to_vec();
    write_error(&mut out, error);
    String::from_utf8(out).expect("a serialized error consists of str only")
}

fn open_answer(answer_type: &str, guid: Option<&str>) -> Vec<u8> {
    let mut out = br#"{"type":"#.to_vec();
    write_string(&mut out, answer_type);
    out.push(b',');
    if let Some(guid) = guid {
        out.extend_from_slice(br#""guid":"#);
        write_string(&mut out, guid);
        out.push(b',');
    }
    out
}

fn write_error(out: &mut Vec<u8>, error: &ErrorBody) {
    out.extend_from_slice(br#"{"code":"#);
    write_string(out, error.code.as_str());
    out.extend_from_slice(br#","message":"#);
    write_string(out, &error.message);
    out.push(b'}');
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a str into a Vec cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_longer_than_64_bytes_is_refused() {
        let text = format!(r#"{{"objType":"REGISTER","guid":"{}","onEvents":[]}}"#, "g".repeat(65));
        let refusal = read_client_message(&text).err().expect("the guid is too long");
        assert_eq!(refusal.error.code, ErrorCode::UnknownMessage);
    }

    #[test]
    fn an_array_of_the_fields_is_not_a_message() {
        let refusal = read_client_message(r#"["REGISTER","g",[],null]"#).err().expect("not an object");
        assert_eq!(refusal.error.code, ErrorCode::InvalidJson);
    }

    #[test]
    fn an_entry_with_a_hundred_thousand_levels_does_not_overflow_the_stack() {
        let text = format!(r#"{{"objType":"REGISTER","onEvents":[{}1{}]}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(read_client_message(&text), Ok(ClientMessage::Register { .. })));
    }

    #[test]
    fn an_entry_is_extended_at_its_end() {
        assert_eq!(extend_entry(r#"{"a":1 }"#, r#""b":2"#), r#"{"a":1,"b":2}"#);
        assert_eq!(extend_entry("{ }", r#""b":2"#), r#"{"b":2}"#);
        assert_eq!(extend_entry("17", r#""b":2"#), r#"{"b":2}"#);
    }

    #[test]
    fn a_gap_has_the_id_of_its_subscription_and_a_reason() {
        let mut out = Vec::new();
        write_gap(&mut out, EventId(1), GapReason::BusReconnected);
        let expected = r#"{"type":"GAP","response":{"eventId":"1","reason":"BUS_RECONNECTED"}}"#;
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
    }

    #[test]
    fn a_notification_is_one_json_text() {
        let mut out = Vec::new();
        write_notification(&mut out, EventId(7), "a\"b", Some(&|out| out.extend_from_slice(b"1.10")));
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            r#"{"type":"NOTIFICATION","response":{"eventId":"7","eventType":"CUSTOM_WS_EVENTS","eventName":"a\"b","eventData":1.10}}"#
        );
    }
}
