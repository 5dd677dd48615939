//! Health, readiness and metrics of the node.

use super::AppState;
use super::error::HttpError;
use crate::metrics::Format;
use actix_web::http::header;
use actix_web::http::header::{Accept, Header as _};
use actix_web::{HttpRequest, HttpResponse, web};
use actors::protocol::codes::ErrorCode;
use serde_json::json;

/// `GET /healthz`: the process serves requests.
pub async fn live() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "ok"}))
}

/// `GET /readyz`: the node accepts clients, and delivers every emit to them.
pub async fn ready(app_state: web::Data<AppState>) -> HttpResponse {
    if app_state.is_stopping() {
        return HttpError::stopping().response();
    }
    if !app_state.authenticator.is_ready() {
        let message = "the catalogue has not answered since the node's start";
        return HttpError::unavailable(ErrorCode::TemporarilyUnavailable, message).response();
    }
    if !app_state.bus_health.is_ready() {
        let message = "the bus is not reachable: sessions stay open, emits are refused";
        return HttpError::unavailable(ErrorCode::BusUnavailable, message).response();
    }
    HttpResponse::Ok().json(json!({"status": "ready"}))
}

/// `GET /metrics`, in the format that the client accepts. The page is written on a blocking thread, as it reads
/// `/proc`.
pub async fn metrics(app_state: web::Data<AppState>, request: HttpRequest) -> HttpResponse {
    let format = Accept::parse(&request).map_or(Format::Prometheus, |accept| Format::accepted_by(&accept));
    let page = web::block(move || app_state.metrics.page(format)).await;
    let Ok(Ok(page)) = page else {
        log::error!("the page of metrics cannot be written");
        return HttpResponse::InternalServerError().finish();
    };
    HttpResponse::Ok().content_type(format.content_type()).insert_header((header::VARY, "Accept")).body(page)
}
