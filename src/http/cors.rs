//! CORS: which pages of other origins may make a project's calls (`http.cors_origins`).
//!
//! A call is authorized by its token alone. No cookie takes part, so credentials are not allowed.

use actix_cors::Cors;
use actix_web::http::header;
use actix_web::middleware::Condition;
use actors::protocol::messages::{API_TOKEN, USER_TOKEN};

/// How long a browser may remember the answer to its preflight request, in seconds.
const PREFLIGHT_SECONDS: usize = 3_600;

/// Answers preflight requests and adds the headers of CORS; without any origin, does nothing.
pub(super) fn layer(origins: &[String]) -> Condition<Cors> {
    let allows_any = origins.iter().any(|origin| origin == "*");
    let cors = Cors::default()
        .allowed_methods(["GET", "POST"])
        .allowed_headers([header::AUTHORIZATION.as_str(), header::CONTENT_TYPE.as_str(), API_TOKEN, USER_TOKEN])
        .expose_headers([header::RETRY_AFTER])
        .max_age(PREFLIGHT_SECONDS);
    let cors = if allows_any {
        cors.allow_any_origin().send_wildcard()
    } else {
        origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin))
    };
    Condition::new(!origins.is_empty(), cors)
}
