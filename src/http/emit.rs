//! The emit route: checks the tokens and the items of a call, and answers with the results of the emitter
//! (docs/protocol.md §6).

use super::AppState;
use super::call;
use super::emit_body::{Item, read_emits};
use super::error::HttpError;
use crate::auth::{ApiToken, EventUse, Scope};
use crate::catalogue::{EventMode, KeyUse};
use crate::metrics::EmitOutcome;
use actix::Addr;
use actix_web::{HttpRequest, HttpResponse, web};
use actors::emitter::{Emit, EmitBatcher, EmitCall, EmitError, EmitResult, Emitted};
use actors::protocol::messages::USER_TOKEN;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// `POST /api/system-api/{project}/emit-event-ws`.
pub async fn emit(
    app_state: web::Data<AppState>,
    batcher: web::Data<Addr<EmitBatcher>>,
    request: HttpRequest,
    project: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    let started_at = Instant::now();
    let response = match read_call(&app_state, &request, &project, payload).await {
        Ok(call) => answer(&app_state, &batcher, call).await,
        Err(error) => {
            app_state.metrics.count_emit(EmitOutcome::of_status(error.status));
            error.response()
        }
    };
    app_state.metrics.observe_emit(started_at.elapsed());
    response
}

/// A call with good tokens.
struct Call {
    project: Arc<str>,
    items: Vec<Item>,
    is_batch: bool,
}

async fn read_call(
    app_state: &AppState,
    request: &HttpRequest,
    project: &str,
    payload: web::Payload,
) -> Result<Call, HttpError> {
    call::check_open(app_state, request)?;
    let token = check_tokens(app_state, request, project).await?;
    let body = call::read_json(app_state, request, payload).await?;
    let (mut items, is_batch) = read_emits(&body, app_state.settings().limits.emit_batch, &app_state.counters)?;
    if token.events == EventMode::Defined {
        authorize_events(app_state, &token, &mut items).await;
    }
    Ok(Call { project: token.project.to_shared(), items, is_batch })
}

/// Refuses items whose event is not defined, or which the application may not emit.
async fn authorize_events(app_state: &AppState, token: &ApiToken, items: &mut [Item]) {
    let application = app_state.authenticator.application(token);
    for item in items {
        let Ok(emit) = item else { continue };
        let wanted = EventUse::Emit;
        let verdict = app_state.authenticator.check_event(&token.project, application, &emit.event, wanted).await;
        if let Err(error) = verdict {
            *item = Err(HttpError::of_event(error));
        }
    }
}

async fn check_tokens(app_state: &AppState, request: &HttpRequest, project: &str) -> Result<Arc<ApiToken>, HttpError> {
    let token = call::check_application(app_state, request, project, Scope::Emit).await?;
    let of_user = |error| HttpError::of_token(error, KeyUse::User);
    if let Some(text) = call::header_text(request, USER_TOKEN).map_err(of_user)? {
        call::check_no_scheme(text, USER_TOKEN)?;
        app_state.authenticator.verify_user(text, &token.project).await.map_err(of_user)?;
    }
    Ok(token)
}

/// Emits the valid items. The answers have the order of the items.
async fn answer(app_state: &AppState, batcher: &Addr<EmitBatcher>, call: Call) -> HttpResponse {
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
    let mut results = publish(batcher, project, emits).await.into_iter();
    let answers: Vec<Result<Emitted, HttpError>> = refused
        .into_iter()
        .map(|refused| match refused {
            Some(error) => Err(error),
            None => of_result(results.next().unwrap_or(Err(EmitError::OutcomeUnknown))),
        })
        .collect();
    for answer in &answers {
        app_state.metrics.count_emit(outcome_of(answer));
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

/// The result of each emit, in order. Empty if the emitter has ended: then the outcome of all is unknown.
async fn publish(batcher: &Addr<EmitBatcher>, project: Arc<str>, emits: Vec<Emit>) -> Vec<EmitResult> {
    if emits.is_empty() {
        return Vec::new();
    }
    let (answer, results) = oneshot::channel();
    // `do_send` ignores the limit of the mailbox. The queue is bounded, because each connection has one call under way.
    batcher.do_send(EmitCall { project, emits, answer });
    results.await.unwrap_or_default()
}

fn of_result(result: EmitResult) -> Result<Emitted, HttpError> {
    result.map_err(HttpError::of_emit)
}

fn outcome_of(answer: &Result<Emitted, HttpError>) -> EmitOutcome {
    match answer {
        Ok(emitted) if emitted.is_duplicate => EmitOutcome::Duplicate,
        Ok(_) => EmitOutcome::Accepted,
        Err(error) => EmitOutcome::of_status(error.status),
    }
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
