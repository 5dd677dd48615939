//! The emit route: who calls, what they say, and the emitter's answer in the caller's shape (docs/protocol.md §6).

use super::Doors;
use super::call::{self, invalid, stopped};
use super::error::HttpError;
use crate::auth::{ApiToken, EventUse, Scope};
use crate::catalogue::{EventMode, KeyUse};
use crate::metrics::EmitOutcome;
use actix_web::{HttpRequest, HttpResponse, web};
use actors::condition::document::Document;
use actors::counters::Limit;
use actors::emitter::{Emit, EmitAll, EmitResult, Emitted};
use actors::protocol::codes::ErrorCode;
use actors::protocol::messages::{USER_TOKEN, read_string};
use actors::session::registration::{EVENT_NAME_RULE, is_event_name};
use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Instant;

/// What may stand around a JSON value (RFC 8259 §2).
const JSON_SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

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
    call::check_open(doors, request)?;
    let token = check_tokens(doors, request, project).await?;
    let body = call::read_json(doors, request, payload).await?;
    let (mut items, is_batch) = read_items(doors, &body)?;
    if token.events == EventMode::Defined {
        judge_events(doors, &token, &mut items).await;
    }
    Ok(Call { project: token.project.to_shared(), items, is_batch })
}

/// Refuses items whose event the project does not know, or does not let the application emit.
async fn judge_events(doors: &Doors, token: &ApiToken, items: &mut [Item]) {
    let application = doors.authenticator.application(token);
    for item in items {
        let Ok(emit) = item else { continue };
        let wanted = EventUse::Emit;
        let verdict = doors.authenticator.check_event(&token.project, application, &emit.event, wanted).await;
        if let Err(error) = verdict {
            *item = Err(HttpError::of_event(error));
        }
    }
}

async fn check_tokens(doors: &Doors, request: &HttpRequest, project: &str) -> Result<Arc<ApiToken>, HttpError> {
    let token = call::check_application(doors, request, project, Scope::Emit).await?;
    let of_user = |error| HttpError::of_token(error, KeyUse::User);
    if let Some(text) = call::header_text(request, USER_TOKEN).map_err(of_user)? {
        doors.authenticator.verify_user(text, &token.project).await.map_err(of_user)?;
    }
    Ok(token)
}

fn read_items(doors: &Doors, body: &Bytes) -> Result<(Vec<Item>, bool), HttpError> {
    let text = std::str::from_utf8(body).map_err(|_| invalid("the body must be UTF-8"))?;
    let text = text.trim_matches(JSON_SPACE);
    if !text.starts_with('[') {
        return Ok((vec![read_item(text, body)], false));
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
    Ok((items.into_iter().map(|item| read_item(item.get(), body)).collect(), true))
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
    // A slice keeps the whole body alive: worth it only where the data is most of what was sent.
    let data = if data.len() * 2 < text.len() { Bytes::copy_from_slice(data) } else { body.slice_ref(data) };
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
            None => results.next().map_or_else(|| Err(stopped()), of_result),
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
        None => stopped().response(),
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
