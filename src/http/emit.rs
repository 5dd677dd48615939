//! The emit route: who calls, what they say, and the emitter's answer in the caller's shape (docs/protocol.md §6).

use super::Doors;
use super::error::HttpError;
use crate::auth::{ApiToken, Scope, TokenError};
use crate::catalogue::KeyUse;
use crate::metrics::EmitOutcome;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use actors::condition::document::Document;
use actors::counters::Limit;
use actors::emitter::{Emit, EmitAll, EmitResult, Emitted};
use actors::protocol::codes::ErrorCode;
use actors::protocol::messages::{API_TOKEN, USER_TOKEN, read_string};
use actors::session::registration::{EVENT_NAME_RULE, is_event_name};
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a body may take to come: a caller that died within it must not hold a connection for ever.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// The longest idempotency key, in bytes.
const IDEMPOTENCY_KEY_BYTES: usize = 256;

/// `POST /api/system-api/{project}/emit-event-ws`.
pub async fn emit(
    doors: web::Data<Doors>,
    request: HttpRequest,
    project: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    let started_at = Instant::now();
    let response = match read_call(&doors, &request, &project, payload).await {
        Ok(call) => answer(&doors, call).await,
        Err(error) => {
            doors.metrics.count_emit(EmitOutcome::of_status(error.status));
            error.response()
        }
    };
    doors.metrics.observe_emit(started_at.elapsed());
    response
}

/// A call whose caller may make it.
struct Call {
    project: Arc<str>,
    items: Vec<Item>,
    is_batch: bool,
}

/// One emit, or why it is none.
type Item = Result<Emit, HttpError>;

async fn read_call(
    doors: &Doors,
    request: &HttpRequest,
    project: &str,
    payload: web::Payload,
) -> Result<Call, HttpError> {
    if doors.is_draining() {
        // Its sessions are told to go: a 200 would promise what nobody here can be told any more.
        return Err(HttpError::stopping());
    }
    let headers = request.headers();
    if headers.contains_key(header::CONTENT_LENGTH) && headers.contains_key(header::TRANSFER_ENCODING) {
        // RFC 9112 §6.1: whoever is in front may have read another body than we do.
        return Err(invalid("Content-Length and Transfer-Encoding may not stand together"));
    }
    let token = check_tokens(doors, request, project).await?;
    if !is_json(request) || is_encoded(request) {
        let message = "send Content-Type: application/json, and no Content-Encoding";
        return Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::InvalidJson, message));
    }
    let body = timeout(BODY_PATIENCE, read_body(doors, request, payload)).await.map_err(|_| late())??;
    let (items, is_batch) = read_items(doors, &body)?;
    Ok(Call { project: token.project.to_shared(), items, is_batch })
}

async fn check_tokens(doors: &Doors, request: &HttpRequest, project: &str) -> Result<Arc<ApiToken>, HttpError> {
    let of_api = |error| HttpError::of_token(error, KeyUse::Api);
    let text = header_text(request, API_TOKEN).map_err(of_api)?.unwrap_or_default();
    let token = doors.authenticator.verify_api(text).await.map_err(of_api)?;
    if token.project.as_str() != project {
        return Err(of_api(TokenError::ProjectMismatch));
    }
    token.require(Scope::Emit).map_err(of_api)?;
    let of_user = |error| HttpError::of_token(error, KeyUse::User);
    if let Some(text) = header_text(request, USER_TOKEN).map_err(of_user)? {
        doors.authenticator.verify_user(text, &token.project).await.map_err(of_user)?;
    }
    Ok(token)
}

fn header_text<'a>(request: &'a HttpRequest, name: &str) -> Result<Option<&'a str>, TokenError> {
    let value = request.headers().get(name);
    value.map(|value| value.to_str().map_err(|_| TokenError::Malformed)).transpose()
}

/// `application/json` or a `+json` type (RFC 6839 §3.1), whatever its parameters.
fn is_json(request: &HttpRequest) -> bool {
    let value = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Whether the body is compressed or otherwise encoded (RFC 9110 §8.4): it is taken as it is, or not at all.
fn is_encoded(request: &HttpRequest) -> bool {
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

async fn read_body(doors: &Doors, request: &HttpRequest, mut payload: web::Payload) -> Result<Bytes, HttpError> {
    let limit = doors.settings.limits.emit_bytes;
    let too_large = || {
        doors.counters.count_limit(Limit::EmitBytes);
        let message = format!("the body may have {limit} bytes: emit less at once, or raise limits.emit_bytes");
        HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::PayloadTooLarge, message)
    };
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| invalid("the body ended early or is not what its headers say"))?;
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn late() -> HttpError {
    let message = "the body did not come within 10 seconds: send it again";
    HttpError::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::InvalidJson, message)
}

fn invalid(message: impl Into<String>) -> HttpError {
    HttpError::bad_request(ErrorCode::InvalidJson, message)
}

fn read_items(doors: &Doors, body: &Bytes) -> Result<(Vec<Item>, bool), HttpError> {
    let text = std::str::from_utf8(body).map_err(|_| invalid("the body must be UTF-8"))?;
    if !text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('[') {
        let whole: &RawValue = serde_json::from_str(text).map_err(|_| invalid("the body is not valid JSON"))?;
        return Ok((vec![read_item(whole, body)], false));
    }
    let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| invalid("the body is not valid JSON"))?;
    let most = doors.settings.limits.emit_batch;
    if items.is_empty() {
        return Err(invalid("the array is empty: send at least one emit"));
    }
    if items.len() > most {
        doors.counters.count_limit(Limit::EmitBatch);
        return Err(invalid(format!("an array may have {most} emits: send more calls, or raise limits.emit_batch")));
    }
    Ok((items.into_iter().map(|item| read_item(item, body)).collect(), true))
}

#[derive(Deserialize)]
struct ItemFields<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow, rename = "eventData", default, deserialize_with = "even_null")]
    data: Option<&'a RawValue>,
    #[serde(borrow, rename = "idempotencyKey")]
    idempotency_key: Option<&'a RawValue>,
}

/// `null` is event data like any other; only its absence is none.
fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one emit; its data stays where it is, in the body.
fn read_item(raw: &RawValue, body: &Bytes) -> Item {
    if !raw.get().starts_with('{') {
        return Err(invalid("an emit must be an object"));
    }
    let fields: ItemFields<'_> = serde_json::from_str(raw.get())
        .map_err(|_| invalid("an emit has name, eventData and idempotencyKey, each once"))?;
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
    // A slice keeps the whole body alive: worth it only where the data is most of what was sent.
    let data = if data.len() * 2 < raw.get().len() { Bytes::copy_from_slice(data) } else { body.slice_ref(data) };
    Ok(Emit { event: name.as_ref().into(), data, idempotency_key })
}

/// Emits what is in order, and answers each item in its place.
async fn answer(doors: &Doors, call: Call) -> HttpResponse {
    let Call { project, items, is_batch } = call;
    let mut emits = Vec::with_capacity(items.len());
    let mut refused = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Ok(emit) => {
                emits.push(emit);
                refused.push(None);
            }
            Err(error) => refused.push(Some(error)),
        }
    }
    let results = if emits.is_empty() { Ok(Vec::new()) } else { doors.emitter.send(EmitAll { project, emits }).await };
    // Where the emitter is gone, every item is answered so.
    let mut results = results.unwrap_or_default().into_iter();
    let answers: Vec<Result<Emitted, HttpError>> = refused
        .into_iter()
        .map(|refused| match refused {
            Some(error) => Err(error),
            None => results.next().map_or_else(|| Err(HttpError::stopping()), of_result),
        })
        .collect();
    for answer in &answers {
        doors.metrics.count_emit(EmitOutcome::of_answer(answer));
    }
    if is_batch {
        let bodies: Vec<String> = answers.iter().map(answer_body).collect();
        return HttpResponse::Ok().content_type("application/json").body(format!("[{}]", bodies.join(",")));
    }
    match answers.into_iter().next() {
        Some(Err(error)) => error.response(),
        Some(answer) => HttpResponse::Ok().content_type("application/json").body(answer_body(&answer)),
        None => HttpError::stopping().response(),
    }
}

fn of_result(result: EmitResult) -> Result<Emitted, HttpError> {
    result.map_err(HttpError::of_emit)
}

fn answer_body(answer: &Result<Emitted, HttpError>) -> String {
    match answer {
        Err(error) => error.body(),
        Ok(emitted) => {
            let duplicate = if emitted.is_duplicate { r#","duplicate":true"# } else { "" };
            format!(r#"{{"success":true,"statusCode":200,"data":{{"id":"{}"}}{duplicate}}}"#, emitted.id)
        }
    }
}
