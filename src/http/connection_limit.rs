//! The limit of HTTP connections. A connection past it is answered 503 and closed.
//!
//! The server accepts every connection. If it stopped accepting, health checks and upgrades would also wait, without an
//! answer. An upgrade leaves the count when its socket goes to the hub.

use super::AppState;
use super::connection::ConnectionFlow;
use super::error::HttpError;
use actix_http::ConnectionType;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{Error, HttpRequest, web};
use actors::counters::{Counters, Limit};
use actors::protocol::codes::ErrorCode;
use std::rc::Rc;
use std::sync::Arc;

/// One connection, counted until it ends or is upgraded. Lives in the connection's data.
pub struct HttpConnection {
    counters: Arc<Counters>,
    is_too_many: bool,
    flow: Rc<ConnectionFlow>,
}

impl HttpConnection {
    /// Counts a connection. It is over the limit if there are more than `most`.
    pub fn count(counters: Arc<Counters>, most: u64, flow: Rc<ConnectionFlow>) -> HttpConnection {
        let is_too_many = counters.http_connections.add(1) > most;
        HttpConnection { counters, is_too_many, flow }
    }
}

/// The flow state of a request's connection.
pub(super) fn flow_of(request: &HttpRequest) -> Option<&Rc<ConnectionFlow>> {
    request.conn_data::<HttpConnection>().map(|connection| &connection.flow)
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        self.counters.http_connections.subtract(1);
    }
}

/// The middleware in front of every route: refuses connections past the limit and header lines that end with a line
/// feed alone, and marks a request as under way for the connection's I/O.
pub async fn limit_connections(
    app_state: web::Data<AppState>,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let connection = request.conn_data::<HttpConnection>();
    let is_too_many = connection.is_some_and(|connection| connection.is_too_many);
    let _under_way = connection.map(|connection| connection.flow.begin(request.headers()));
    // An operator needs these most when the node is overloaded.
    let is_monitoring = matches!(request.path(), "/healthz" | "/readyz" | "/metrics");
    let has_bare_line_feed = connection.is_some_and(|connection| connection.flow.has_bare_line_feed());
    let mut response = if has_bare_line_feed {
        request.into_response(HttpError::bare_line_feed().response())
    } else if is_too_many && !is_monitoring {
        app_state.counters.count_limit(Limit::HttpConnections);
        let message = "the node has reached its limit of HTTP connections: use fewer, or try again";
        let error = HttpError::unavailable(ErrorCode::TemporarilyUnavailable, message);
        request.into_response(error.response())
    } else {
        next.call(request).await?.map_into_boxed_body()
    };
    let no_sniffing = header::HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, no_sniffing);
    if is_too_many || has_bare_line_feed {
        response.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    Ok(response)
}
