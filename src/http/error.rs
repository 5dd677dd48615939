//! Errors as every endpoint answers them: one JSON shape with a status and a code.

use crate::auth::{EventError, TokenError};
use crate::catalogue::KeyUse;
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName};
use actors::bus::BusError;
use actors::emitter::EmitError;
use actors::protocol::codes::ErrorCode;

/// The value of `Retry-After`, in seconds.
const RETRY_AFTER_SECONDS: u32 = 1;

/// An error answer: `{"success":false,"statusCode":…,"errors":[{"code":…,"message":…}]}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    pub status: StatusCode,
    pub code: ErrorCode,
    pub message: String,
}

impl HttpError {
    /// An error with a message that says what to do.
    pub fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> HttpError {
        HttpError { status, code, message: message.into() }
    }

    /// 400.
    pub fn bad_request(code: ErrorCode, message: impl Into<String>) -> HttpError {
        HttpError::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// The answer to a request with a header line that ends with a line feed alone (RFC 9112 §2.2).
    pub fn bare_line_feed() -> HttpError {
        let message = "each header line must end with a carriage return and a line feed";
        HttpError::bad_request(ErrorCode::UnknownMessage, message)
    }

    /// 503.
    pub fn unavailable(code: ErrorCode, message: impl Into<String>) -> HttpError {
        HttpError::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// The answer of a stopping node.
    pub fn stopping() -> HttpError {
        let message = "the node is stopping: nothing was done, try again or use another node";
        HttpError::unavailable(ErrorCode::TemporarilyUnavailable, message)
    }

    /// The answer to a refused token: 401, or 403 for a good token without the permission.
    pub fn of_token(error: TokenError, token: KeyUse) -> HttpError {
        let status = match error.code() {
            ErrorCode::TokenScope | ErrorCode::ProjectMismatch => StatusCode::FORBIDDEN,
            ErrorCode::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::UNAUTHORIZED,
        };
        HttpError::new(status, error.code(), error.message(token))
    }

    /// The answer to an emit that was not published, or may not have been.
    ///
    /// An unknown outcome has no `Retry-After`: an HTTP library that follows the header by itself would deliver an emit
    /// without an idempotency key twice.
    pub fn of_emit(error: EmitError) -> HttpError {
        let status = match error.code() {
            ErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            ErrorCode::OutcomeUnknown => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        HttpError::new(status, error.code(), error.to_string())
    }

    /// The answer to an emit of an event that is not defined or not permitted.
    pub fn of_event(error: EventError) -> HttpError {
        let status = match error {
            EventError::Unknown => StatusCode::BAD_REQUEST,
            EventError::NoSubscriber | EventError::NoEmitter => StatusCode::FORBIDDEN,
            EventError::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        };
        HttpError::new(status, error.code(), error.to_string())
    }

    /// The answer to a control message that the bus did not accept, or may not have.
    pub fn of_announcement(error: BusError) -> HttpError {
        match error {
            BusError::OutcomeUnknown => {
                let message = "whether the nodes received it is unknown: send it again";
                HttpError::new(StatusCode::GATEWAY_TIMEOUT, ErrorCode::OutcomeUnknown, message)
            }
            BusError::Unavailable | BusError::TooManyKeys | BusError::TooManyKeysOfProject => {
                let message = "the bus is out of reach: no node received it, try again";
                HttpError::unavailable(ErrorCode::BusUnavailable, message)
            }
        }
    }

    /// Whether the caller may send the same again. Then the answer has `Retry-After`.
    pub fn is_retryable(&self) -> bool {
        matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
    }

    /// The headers, the content type among them.
    pub fn headers(&self) -> Vec<(HeaderName, String)> {
        let mut headers = vec![(header::CONTENT_TYPE, "application/json".to_owned())];
        if self.is_retryable() {
            headers.push((header::RETRY_AFTER, RETRY_AFTER_SECONDS.to_string()));
        }
        if self.status == StatusCode::UPGRADE_REQUIRED {
            // RFC 9110 §15.5.22 and RFC 6455 §4.4 require the protocol and its version.
            headers.push((header::UPGRADE, "websocket".to_owned()));
            headers.push((header::SEC_WEBSOCKET_VERSION, "13".to_owned()));
        }
        headers
    }

    /// The body.
    pub fn body(&self) -> String {
        let message = serde_json::Value::from(self.message.as_str());
        format!(
            r#"{{"success":false,"statusCode":{},"errors":[{{"code":"{}","message":{message}}}]}}"#,
            self.status.as_u16(),
            self.code.as_str()
        )
    }

    /// The whole answer as bytes, after which the connection is closed. For answers that do not pass the middleware.
    pub fn closing_answer(&self) -> String {
        let (status, body) = (self.status, self.body());
        let (code, reason) = (status.as_u16(), status.canonical_reason().unwrap_or_default());
        let length = body.len();
        let mut answer = format!("HTTP/1.1 {code} {reason}\r\nContent-Length: {length}\r\nConnection: close\r\n");
        answer.push_str("X-Content-Type-Options: nosniff\r\n");
        for (name, value) in self.headers() {
            answer.push_str(&format!("{name}: {value}\r\n"));
        }
        answer.push_str("\r\n");
        answer.push_str(&body);
        answer
    }

    /// The whole answer.
    pub fn response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        for header in self.headers() {
            response.insert_header(header);
        }
        response.body(self.body())
    }
}
