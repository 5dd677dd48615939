//! The opening handshake of RFC 6455 §4.2, checked strictly. Pure: reads the head of a request, writes the head of an
//! answer.

use super::bearer::after_bearer;
use super::error::HttpError;
use actix_http::header::{self, HeaderMap, HeaderName};
use actix_http::{Method, RequestHead, StatusCode, Version};
use actors::protocol::codes::ErrorCode;
use actors::protocol::messages::{API_TOKEN, USER_TOKEN};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use std::borrow::Cow;

/// The only supported subprotocol. The answer names it if the client offers it.
const SUBPROTOCOL: &str = "carillon.v1";

/// Is appended to the key before hashing (RFC 6455 §1.3).
const ACCEPT_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const KEY_BYTES: usize = 16;

/// A valid handshake. Not `Debug`, because it holds tokens.
pub struct Handshake<'a> {
    accept: String,
    offers_subprotocol: bool,
    /// The API token as received, empty if there is none.
    pub api_token: Cow<'a, str>,
    /// The user token as received, empty if there is none.
    pub user_token: Cow<'a, str>,
}

impl<'a> Handshake<'a> {
    /// Checks an upgrade request.
    pub fn read(head: &'a RequestHead) -> Result<Handshake<'a>, HttpError> {
        if !matches!(head.uri.path(), "/" | "/ws") {
            let message = "WebSockets are served at /ws and /";
            return Err(HttpError::new(StatusCode::NOT_FOUND, ErrorCode::UnknownMessage, message));
        }
        check_request(head)?;
        let offered = tokens(&head.headers, header::SEC_WEBSOCKET_PROTOCOL);
        let api_token = find_token(head, &offered, API_TOKEN, "api.");
        Ok(Handshake {
            accept: accept(read_key(&head.headers)?),
            offers_subprotocol: offered.contains(&SUBPROTOCOL),
            api_token: if api_token.is_empty() { bearer_token(&head.headers).into() } else { api_token },
            user_token: find_token(head, &offered, USER_TOKEN, "user."),
        })
    }

    /// Writes the head of the `101` (RFC 6455 §4.2.2). It names no extension, which declines all of them.
    pub fn write_answer(&self, out: &mut impl bytes::BufMut) {
        out.put_slice(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n");
        out.put_slice(b"Sec-WebSocket-Accept: ");
        out.put_slice(self.accept.as_bytes());
        if self.offers_subprotocol {
            out.put_slice(b"\r\nSec-WebSocket-Protocol: ");
            out.put_slice(SUBPROTOCOL.as_bytes());
        }
        out.put_slice(b"\r\n\r\n");
    }
}

fn check_request(head: &RequestHead) -> Result<(), HttpError> {
    let headers = &head.headers;
    if head.method != Method::GET || head.version != Version::HTTP_11 {
        return Err(malformed("a WebSocket handshake must be a GET with HTTP/1.1"));
    }
    if !headers.contains_key(header::HOST) {
        return Err(malformed("the header Host is missing"));
    }
    if !has_token(headers, header::UPGRADE, "websocket") {
        return Err(malformed("the header Upgrade must name websocket"));
    }
    if !has_token(headers, header::CONNECTION, "upgrade") {
        return Err(malformed("the header Connection must name Upgrade"));
    }
    let announces_body = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
    if announces_body || headers.contains_key(header::TRANSFER_ENCODING) {
        return Err(malformed("a WebSocket handshake must have no body"));
    }
    match single(headers, header::SEC_WEBSOCKET_VERSION) {
        Some(b"13") => Ok(()),
        Some(_) => Err(HttpError::new(
            StatusCode::UPGRADE_REQUIRED,
            ErrorCode::UnknownMessage,
            "only version 13 of the WebSocket protocol is supported",
        )),
        None => Err(malformed("send the header Sec-WebSocket-Version once")),
    }
}

fn malformed(message: &str) -> HttpError {
    HttpError::bad_request(ErrorCode::UnknownMessage, message)
}

/// The value of a header that occurs exactly once.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&[u8]> {
    let mut values = headers.get_all(name);
    let value = values.next()?;
    values.next().is_none().then(|| value.as_bytes().trim_ascii())
}

/// The elements of a comma-separated header, from all of its lines.
fn tokens(headers: &HeaderMap, name: HeaderName) -> Vec<&str> {
    let lines = headers.get_all(name).filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|token| !token.is_empty()).collect()
}

fn has_token(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    tokens(headers, name).iter().any(|token| token.eq_ignore_ascii_case(wanted))
}

/// The key as received. It must be 16 bytes in base64 (RFC 6455 §4.2.1 item 5).
fn read_key(headers: &HeaderMap) -> Result<&[u8], HttpError> {
    let key = single(headers, header::SEC_WEBSOCKET_KEY);
    let is_good = |key: &&[u8]| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == KEY_BYTES);
    key.filter(is_good).ok_or_else(|| malformed("the header Sec-WebSocket-Key must be 16 bytes in base64, once"))
}

fn accept(key: &[u8]) -> String {
    STANDARD.encode(Sha1::new().chain_update(key).chain_update(ACCEPT_GUID).finalize())
}

/// A token, from the first of header, query string and subprotocol that has it.
fn find_token<'a>(head: &'a RequestHead, offered: &[&'a str], name: &str, prefix: &str) -> Cow<'a, str> {
    if let Some(value) = head.headers.get(name).filter(|value| !value.is_empty()) {
        // A value that is not UTF-8 is refused as a malformed token, not skipped.
        return String::from_utf8_lossy(value.as_bytes());
    }
    let query = head.uri.query().unwrap_or_default();
    let in_query = form_urlencoded::parse(query.as_bytes()).find(|(key, value)| key == name && !value.is_empty());
    if let Some((_, value)) = in_query {
        return value;
    }
    let in_subprotocol = offered.iter().find_map(|offer| offer.strip_prefix(prefix));
    Cow::Borrowed(in_subprotocol.unwrap_or_default())
}

/// The token in `Authorization: Bearer`. It counts only without another API token: a proxy may use the header for
/// itself.
fn bearer_token(headers: &HeaderMap) -> &str {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    value.and_then(after_bearer).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_value_equals_the_example_of_the_rfc() {
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
