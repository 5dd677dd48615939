//! What the calls of a project share: checking the caller and reading the JSON body. The order is always the same:
//! token, content type, body.

use super::AppState;
use super::bearer::{after_bearer, prefix_problem};
use super::connection_limit::flow_of;
use super::error::HttpError;
use crate::auth::{ApiToken, Scope, TokenError};
use crate::catalogue::KeyUse;
use crate::settings::BusKind;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, web};
use actors::counters::Limit;
use actors::protocol::codes::ErrorCode;
use actors::protocol::messages::API_TOKEN;
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The longest time for a whole body. A caller that died while sending must not hold a connection forever.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Some editors and libraries write it in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Refuses a call to a stopping node, unless other nodes deliver it, and a call that states its length in two ways.
pub(super) fn check_open(app_state: &AppState, request: &HttpRequest) -> Result<(), HttpError> {
    if app_state.is_draining() && app_state.settings().bus.kind == BusKind::Local {
        // Its sessions are being closed: an emit would be accepted and delivered to no session.
        return Err(HttpError::stopping());
    }
    let headers = request.headers();
    if headers.contains_key(header::CONTENT_LENGTH) && headers.contains_key(header::TRANSFER_ENCODING) {
        // RFC 9112 §6.1: a proxy in front may have read another body than this node would.
        return Err(invalid("send either Content-Length or Transfer-Encoding, not both"));
    }
    Ok(())
}

/// The API token of a call. It must belong to the project in the path and have the scope.
pub(super) async fn check_application(
    app_state: &AppState,
    request: &HttpRequest,
    project: &str,
    scope: Scope,
) -> Result<Arc<ApiToken>, HttpError> {
    let of_api = |error| HttpError::of_token(error, KeyUse::Api);
    let text = api_token(request)?;
    let token = app_state.authenticator.verify_api(text).await.map_err(of_api)?;
    if token.project.as_str() != project {
        return Err(of_api(TokenError::ProjectMismatch));
    }
    token.require(scope).map_err(of_api)?;
    Ok(token)
}

/// The API token: the header `x-am-authorization`, or else `Authorization: Bearer`.
fn api_token(request: &HttpRequest) -> Result<&str, HttpError> {
    let of_api = |error| HttpError::of_token(error, KeyUse::Api);
    if let Some(text) = header_text(request, API_TOKEN).map_err(of_api)?.filter(|text| !text.is_empty()) {
        check_no_scheme(text, API_TOKEN)?;
        return Ok(text);
    }
    let authorization = header_text(request, header::AUTHORIZATION.as_str()).map_err(of_api)?.unwrap_or_default();
    Ok(after_bearer(authorization).unwrap_or_default())
}

/// Refuses a token with `Bearer ` in front of it, in a header that takes the token alone.
pub(super) fn check_no_scheme(text: &str, header: &str) -> Result<(), HttpError> {
    prefix_problem(text, header)
        .map_or(Ok(()), |message| Err(HttpError::new(StatusCode::UNAUTHORIZED, ErrorCode::TokenInvalid, message)))
}

/// The body of a call whose content type is JSON. Whether the body is JSON is for its reader to check.
pub(super) async fn read_json(
    app_state: &AppState,
    request: &HttpRequest,
    payload: web::Payload,
) -> Result<Bytes, HttpError> {
    if !is_json(request) || is_encoded(request) {
        let message = match request.headers().get(header::CONTENT_TYPE) {
            None => "the header Content-Type is missing: send Content-Type: application/json",
            Some(_) => "send Content-Type: application/json, and no Content-Encoding",
        };
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(HttpError::new(status, ErrorCode::UnsupportedMediaType, message));
    }
    timeout(BODY_TIMEOUT, read_body(app_state, request, payload)).await.map_err(|_| body_timed_out())?
}

/// A header as text. A header that is not text is a malformed token.
pub(super) fn header_text<'a>(request: &'a HttpRequest, name: &str) -> Result<Option<&'a str>, TokenError> {
    let value = request.headers().get(name);
    value.map(|value| value.to_str().map_err(|_| TokenError::Malformed)).transpose()
}

/// Whether the content type is `application/json` or a `+json` type (RFC 6839 §3.1), with any parameters.
fn is_json(request: &HttpRequest) -> bool {
    let value = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Whether the body is compressed or otherwise encoded (RFC 9110 §8.4), which is not supported.
fn is_encoded(request: &HttpRequest) -> bool {
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

async fn read_body(app_state: &AppState, request: &HttpRequest, mut payload: web::Payload) -> Result<Bytes, HttpError> {
    let limit = app_state.settings().limits.emit_bytes;
    let too_large = || {
        app_state.counters.count_limit(Limit::EmitBytes);
        let message = format!("the body may have {limit} bytes: emit less at once, or raise limits.emit_bytes");
        HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::PayloadTooLarge, message)
    };
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let _reads_body = flow_of(request).map(|flow| flow.read_body());
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| invalid("the body ended early or is not what its headers say"))?;
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    if body.starts_with(BYTE_ORDER_MARK) {
        return Err(invalid("the body begins with a byte order mark (EF BB BF): send the JSON without it"));
    }
    Ok(body.freeze())
}

fn body_timed_out() -> HttpError {
    let message = "the body did not come within 10 seconds: send it again";
    HttpError::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::InvalidJson, message)
}

/// 400, `INVALID_JSON`.
pub(super) fn invalid(message: impl Into<String>) -> HttpError {
    HttpError::bad_request(ErrorCode::InvalidJson, message)
}
