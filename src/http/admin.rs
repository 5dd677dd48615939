//! The calls of an application with the scope `admin` (docs/protocol.md §6, "Administration").
//!
//! A 200 means that the bus has accepted the control message. Every node that is connected to the bus handles it, this
//! one too.

use super::AppState;
use super::call::{self, invalid};
use super::error::HttpError;
use crate::auth::{ApiToken, MAX_SUBJECT_BYTES, Scope};
use crate::catalogue::{self, CatalogueError, Key};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use actors::announcer::Announce;
use actors::bus::Control;
use actors::protocol::codes::ErrorCode;
use actors::protocol::messages::read_string;
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// The longest key id that is looked up, in bytes. A token's header has no room for a longer one.
const MAX_KEY_ID_BYTES: usize = 1_024;

/// `POST /api/system-api/{project}/disconnect-user-ws`.
pub async fn disconnect_user(
    app_state: web::Data<AppState>,
    request: HttpRequest,
    project: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    let outcome = async {
        let (by, body) = read_command(&app_state, &request, &project, payload).await?;
        let project = by.project.to_string();
        let user = read_member(&body, "user", MAX_SUBJECT_BYTES)?;
        let pending = app_state.disconnect_replies.begin();
        let (user_copy, application) = (user.clone(), by.application.to_string());
        let message = Control::DisconnectUser { project, user: user_copy, by: application, call: Some(pending.call) };
        let nodes = announce(&app_state, message).await?;
        let ended = pending.collect(nodes).await;
        Ok(json!({"user": user, "disconnected": ended.sessions, "nodes": nodes, "nodesReplied": ended.nodes}))
    };
    answer(outcome.await)
}

/// `GET /api/system-api/{project}/list-keys-ws`: the project's keys without their secrets.
pub async fn list_keys(
    app_state: web::Data<AppState>,
    request: HttpRequest,
    project: web::Path<String>,
) -> HttpResponse {
    let keys = async {
        call::check_open(&app_state, &request)?;
        let token = call::check_application(&app_state, &request, &project, Scope::Admin).await?;
        let project = app_state.catalogue.project(&token.project).await.map_err(of_catalogue)?;
        let keys = project.map(|project| project.keys).unwrap_or_default();
        Ok(json!({"keys": keys.iter().map(describe).collect::<Vec<_>>()}))
    };
    answer(keys.await)
}

/// `POST /api/system-api/{project}/revoke-key-ws`.
pub async fn revoke_key(
    app_state: web::Data<AppState>,
    request: HttpRequest,
    project: web::Path<String>,
    payload: web::Payload,
) -> HttpResponse {
    let outcome = async {
        let (by, body) = read_command(&app_state, &request, &project, payload).await?;
        let project = &by.project;
        let id = read_member(&body, "id", MAX_KEY_ID_BYTES)?;
        if !catalogue::revoke_key(app_state.catalogue.as_ref(), project, &id).await.map_err(of_catalogue)? {
            let message = "the project has no key with this id: list them";
            return Err(HttpError::new(StatusCode::NOT_FOUND, ErrorCode::UnknownMessage, message));
        }
        log::info!(project:%, key = id, by = by.application; "a key was revoked");
        announce(&app_state, Control::ProjectChanged { project: project.to_string() }).await?;
        Ok(json!({"id": id}))
    };
    answer(outcome.await)
}

fn describe(key: &Key) -> Value {
    let (key_use, algorithm) = (key.key_use.as_str(), key.algorithm.as_str());
    json!({"id": key.id, "use": key_use, "algorithm": algorithm, "active": key.active})
}

fn of_catalogue(error: CatalogueError) -> HttpError {
    log::warn!(cause:% = error; "an admin call failed because the catalogue failed");
    let message = "the catalogue does not answer: try again in a few seconds";
    HttpError::unavailable(ErrorCode::TemporarilyUnavailable, message)
}

/// The token and the body of a call that must have the scope `admin`.
async fn read_command(
    app_state: &AppState,
    request: &HttpRequest,
    project: &str,
    payload: web::Payload,
) -> Result<(Arc<ApiToken>, Bytes), HttpError> {
    call::check_open(app_state, request)?;
    let token = call::check_application(app_state, request, project, Scope::Admin).await?;
    let body = call::read_json(app_state, request, payload).await?;
    Ok((token, body))
}

/// Reads a member of the body that must be a string of 1 to `most` bytes.
fn read_member(body: &[u8], name: &str, most: usize) -> Result<String, HttpError> {
    let members: HashMap<String, &RawValue> =
        serde_json::from_slice(body).map_err(|_| invalid("the body is not a JSON object"))?;
    let text = members.get(name).copied().and_then(read_string);
    let text = text.filter(|text| (1..=most).contains(&text.len()));
    let text = text.ok_or_else(|| invalid(format!("{name} must be a string of 1 to {most} bytes")))?;
    Ok(text.into_owned())
}

/// Publishes a control message to all nodes. Returns the number of nodes that receive it.
async fn announce(app_state: &AppState, control: Control) -> Result<u64, HttpError> {
    app_state
        .announcer
        .send(Announce(control))
        .await
        .map_err(|_| HttpError::stopping())?
        .map_err(HttpError::of_announcement)
}

fn answer(outcome: Result<Value, HttpError>) -> HttpResponse {
    match outcome {
        Ok(data) => HttpResponse::Ok().json(json!({"success": true, "statusCode": 200, "data": data})),
        Err(error) => error.response(),
    }
}
