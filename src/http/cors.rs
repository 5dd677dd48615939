//! CORS: which pages of other origins may make the calls of a project (`http.cors_origins`).
//!
//! A call is authorized by its token alone. No cookie takes part, so credentials are not allowed.

use super::error::HttpError;
use actix_cors::{Cors, CorsError};
use actix_web::Error;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{StatusCode, header};
use actix_web::middleware::{Condition, Next};
use actors::protocol::codes::ErrorCode;
use actors::protocol::messages::{API_TOKEN, USER_TOKEN};

/// How long a browser may remember the answer to its preflight request, in seconds.
const PREFLIGHT_SECONDS: usize = 3_600;

/// The middleware that answers preflight requests and adds CORS headers. It is inactive without origins.
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

/// The middleware around [`layer`]: gives the answer to a refused preflight request the shape of all errors.
pub(super) async fn refuse_in_our_shape(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let response = next.call(request).await?.map_into_boxed_body();
    let refusal = response.response().error().and_then(|error| error.as_error::<CorsError>()).map(refusal);
    Ok(match refusal {
        Some(refusal) => response.into_response(refusal.response()),
        None => response,
    })
}

fn refusal(error: &CorsError) -> HttpError {
    let message = match error {
        CorsError::OriginNotAllowed => "pages of this origin may not call: add it to http.cors_origins",
        CorsError::MethodNotAllowed => "pages of other origins may call with GET and POST only",
        CorsError::HeadersNotAllowed => {
            "pages of other origins may send only Authorization, Content-Type, x-am-authorization and \
                x-am-user-authorization"
        }
        malformed => return HttpError::bad_request(ErrorCode::UnknownMessage, malformed.to_string()),
    };
    HttpError::new(StatusCode::FORBIDDEN, ErrorCode::AccessDenied, message)
}
