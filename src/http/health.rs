//! How the node is: alive, ready, in numbers.

use super::AppState;
use super::error::HttpError;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, web};
use actors::protocol::codes::ErrorCode;
use serde_json::json;

/// `GET /healthz`: the process serves requests.
pub async fn live() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "ok"}))
}

/// `GET /readyz`: the node takes clients and tells them everything.
pub async fn ready(app_state: web::Data<AppState>) -> HttpResponse {
    if app_state.is_stopping() {
        return HttpError::stopping().response();
    }
    if !app_state.authenticator.is_ready() {
        let message = "the catalogue has not answered since the node's start";
        return HttpError::unavailable(ErrorCode::TemporarilyUnavailable, message).response();
    }
    if !app_state.bus_health.is_ready() {
        let message = "the bus is out of reach: sessions stay, emits are refused";
        return HttpError::unavailable(ErrorCode::BusUnavailable, message).response();
    }
    HttpResponse::Ok().json(json!({"status": "ready"}))
}

/// `GET /metrics`: OpenMetrics text.
pub async fn metrics(app_state: web::Data<AppState>) -> HttpResponse {
    match app_state.metrics.text() {
        Ok(text) => {
            HttpResponse::Ok().content_type("application/openmetrics-text; version=1.0.0; charset=utf-8").body(text)
        }
        Err(error) => {
            log::error!(cause:% = error; "the metrics page can't be written");
            HttpResponse::InternalServerError().finish()
        }
    }
}

/// `GET /`: what this is.
pub async fn product() -> HttpResponse {
    HttpResponse::Ok().json(json!({"name": "Carillon", "version": env!("CARGO_PKG_VERSION")}))
}

/// `GET /ws` without an upgrade.
pub async fn upgrade_required() -> HttpResponse {
    let message = "open a WebSocket here: send Upgrade: websocket";
    HttpError::new(StatusCode::UPGRADE_REQUIRED, ErrorCode::UnknownMessage, message).response()
}

/// Another method than the one that is allowed at a path (RFC 9110 §15.5.6).
pub async fn method_not_allowed(allowed: &'static str) -> HttpResponse {
    let message = "this path does not take this method: see the protocol page";
    let mut response = HttpError::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::UnknownMessage, message).response();
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(allowed));
    response
}

/// Any other path.
pub async fn no_route() -> HttpResponse {
    HttpError::new(StatusCode::NOT_FOUND, ErrorCode::UnknownMessage, "nothing is served at this path").response()
}
