//! The try page: `/try` and its two files, compiled in. It speaks the public protocol and nothing else.

use actix_web::HttpResponse;
use actix_web::http::header;

/// What the page may load: itself, and WebSockets for where it is served behind another name.
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
    file("text/javascript; charset=utf-8", include_str!("console/try.js"))
}

fn file(content_type: &str, text: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(content_type)
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .body(text)
}
