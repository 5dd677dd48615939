//! Replaces the answers that the HTTP library gives by itself to input that is not a valid request. Its answers have no
//! body; ours have the JSON shape of all errors.

use crate::http::HttpError;
use actix_web::http::StatusCode;
use actors::protocol::codes::ErrorCode;
use bytes::Bytes;

/// The position of the status in `HTTP/1.1 400 Bad Request`.
const STATUS: std::ops::Range<usize> = 9..12;

/// The replacement for an answer of the library.
pub(super) fn replacement(answer: &[u8]) -> Option<Bytes> {
    let (status, message) = match answer.get(STATUS)? {
        b"400" => (StatusCode::BAD_REQUEST, "this is not a valid HTTP/1.1 request"),
        b"408" => (StatusCode::REQUEST_TIMEOUT, "the request head did not come in time: send it again"),
        b"431" => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the request head is too large: send shorter headers"),
        _ => return None,
    };
    Some(HttpError::new(status, ErrorCode::UnknownMessage, message).closing_answer().into())
}
