//! Health, readiness and metrics of the node, and answers that belong to no other route.

use super::AppState;
use super::error::HttpError;
use crate::metrics::Format;
use actix_web::http::header::{Accept, Header as _};
use actix_web::http::{StatusCode, header};
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

/// The page that a browser gets at `/`, up to its list of links.
const PRODUCT_PAGE: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Carillon</title>\n",
    "<meta name=\"viewport\" content=\"width=device-width\"></head>\n<body>\n<h1>Carillon ",
    env!("CARGO_PKG_VERSION"),
    "</h1>\n<p>This is a real-time broker. Backends emit events over HTTP. Clients receive them over a WebSocket.</p>\n",
    "<ul>\n",
);
const TRY_LINK: &str = "<li><a href=\"/try\">Try it in the browser</a></li>\n";
const OTHER_LINKS: &str = "<li><a href=\"/readyz\">Readiness</a> and <a href=\"/metrics\">metrics</a> of this node</li>\n\
    <li>Documentation: the folder <code>docs</code> of the source code, which begins with <code>docs/README.md</code></li>\n\
    </ul>\n</body>\n</html>\n";

/// `GET /`: the product's name, its version and a link to the try page; an HTML page for browsers, JSON for others.
pub async fn product(request: HttpRequest, app_state: web::Data<AppState>) -> HttpResponse {
    let has_try_page = app_state.settings().http.try_page;
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let mut response = HttpResponse::Ok();
    response.insert_header((header::VARY, "Accept"));
    if accept.contains("text/html") {
        let link = if has_try_page { TRY_LINK } else { "" };
        return response
            .content_type("text/html; charset=utf-8")
            .insert_header((header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"))
            .body([PRODUCT_PAGE, link, OTHER_LINKS].concat());
    }
    let mut product = json!({"name": "Carillon", "version": env!("CARGO_PKG_VERSION")});
    if has_try_page {
        product["tryPage"] = "/try".into();
    }
    response.json(product)
}

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
