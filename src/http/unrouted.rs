//! The answers to requests that no route handles.

use super::error::HttpError;
use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use actors::protocol::codes::ErrorCode;

/// `GET /ws` without an upgrade.
pub async fn upgrade_required() -> HttpResponse {
    let message = "open a WebSocket here: send Upgrade: websocket";
    HttpError::new(StatusCode::UPGRADE_REQUIRED, ErrorCode::UnknownMessage, message).response()
}

/// The answer to a method that a path does not support (RFC 9110 §15.5.6).
pub async fn method_not_allowed(allowed: &'static str) -> HttpResponse {
    let message = "this path does not support this method: the header Allow names those that it does";
    let mut response = HttpError::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::UnknownMessage, message).response();
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(allowed));
    response
}

/// The answer to any other path.
pub async fn no_route() -> HttpResponse {
    HttpError::new(StatusCode::NOT_FOUND, ErrorCode::UnknownMessage, "there is no route at this path").response()
}
