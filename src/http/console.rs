//! The try page: `/try` and its files, compiled in. It uses only the public protocol, through the client of
//! `clients/js`.
//!
//! `npm run try` in `clients/js` writes the build of that client to `try/client.js`. Never edit it by hand.

use super::unrouted;
use actix_web::http::header;
use actix_web::{HttpResponse, web};

/// The page may load its own files. It may open WebSockets to any host, because a proxy may serve it under another
/// name.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self' ws: wss:; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /try`.
pub async fn page() -> HttpResponse {
    file("text/html; charset=utf-8", include_str!("console/try.html"))
}

/// `GET /try.css`.
pub async fn style() -> HttpResponse {
    file("text/css; charset=utf-8", include_str!("console/try.css"))
}

/// `GET /try.js`.
pub async fn script() -> HttpResponse {
    javascript(include_str!("console/try.js"))
}

/// `GET /try/{file}`: the modules that `try.js` imports, the JavaScript client among them.
pub async fn module(name: web::Path<String>) -> HttpResponse {
    javascript(match name.as_str() {
        "client.js" => include_str!("console/try/client.js"),
        "connection.js" => include_str!("console/try/connection.js"),
        "connection_view.js" => include_str!("console/try/connection_view.js"),
        "emit.js" => include_str!("console/try/emit.js"),
        "emit_history.js" => include_str!("console/try/emit_history.js"),
        "json.js" => include_str!("console/try/json.js"),
        "log.js" => include_str!("console/try/log.js"),
        "logged_socket.js" => include_str!("console/try/logged_socket.js"),
        "notifications.js" => include_str!("console/try/notifications.js"),
        "page.js" => include_str!("console/try/page.js"),
        "subscriptions.js" => include_str!("console/try/subscriptions.js"),
        "tokens.js" => include_str!("console/try/tokens.js"),
        _ => return unrouted::no_route().await,
    })
}

fn javascript(text: &'static str) -> HttpResponse {
    file("text/javascript; charset=utf-8", text)
}

fn file(content_type: &str, text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(content_type)
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .body(text)
}
