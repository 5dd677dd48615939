//! The upgrade of an HTTP request to a WebSocket. The request becomes a session of its worker's hub, or is refused.
//!
//! The socket leaves the HTTP dispatcher for good, so that an idle session costs nothing there. A refused upgrade
//! closes the connection, and requests that were pipelined behind it are dropped.

use super::AppState;
use super::bearer::prefix_problem;
use super::connection::PacedStream;
use super::error::HttpError;
use super::handshake::Handshake;
use crate::auth::{ApiToken, Scope, TokenError, UserToken};
use crate::catalogue::KeyUse;
use crate::metrics::UpgradeOutcome;
use actix::Addr;
use actix_codec::Framed;
use actix_http::{Request, StatusCode, h1, header};
use actors::hub::{Adopt, HandshakeOutcome, SessionHub};
use actors::protocol::codes::ErrorCode;
use actors::protocol::{frame, messages};
use actors::session::life_log::{self, ClientIdentity};
use actors::session::{ApiGrant, ConnectionSlot, Grant, UserGrant};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a refused client has to read its answer.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum bytes that are read from a refused client before its connection is closed.
const REFUSAL_INPUT_BYTES: usize = 256 * 1024;

/// A request that asks for an upgrade, as the dispatcher hands it over.
pub type UpgradeRequest = (Request, Framed<PacedStream, h1::Codec>);

/// Checks one upgrade request. Hands its socket to the hub, or refuses it.
pub async fn on_upgrade(
    app_state: &AppState,
    hub: &Addr<SessionHub>,
    (request, framed): UpgradeRequest,
) -> io::Result<()> {
    let parts = framed.into_parts();
    let has_bare_line_feed = parts.io.flow().has_bare_line_feed();
    let (socket, unread) = parts.io.into_parts();
    // Answers to requests before the upgrade are sent first.
    let mut head = parts.write_buf;
    let admitted = if has_bare_line_feed { Err(HttpError::bare_line_feed()) } else { admit(app_state, &request).await };
    match admitted {
        Ok(Admitted { handshake, outcome, identity, connection_slot }) => {
            app_state.metrics.count_upgrade(UpgradeOutcome::of_handshake(&outcome));
            handshake.write_answer(&mut head);
            let mut early = parts.read_buf;
            early.unsplit(unread);
            let socket = socket.into_std()?;
            hub.do_send(Adopt { socket, head: head.freeze(), early, outcome, identity, connection_slot });
            Ok(())
        }
        Err(error) => {
            app_state.metrics.count_upgrade(UpgradeOutcome::of_status(error.status));
            let (status, code) = (error.status.as_u16(), error.code.as_str());
            log::debug!(status, code, address = address_text(&request); "an upgrade was refused");
            head.extend_from_slice(error.closing_answer().as_bytes());
            refuse(socket, &head).await
        }
    }
}

/// An upgrade that becomes a session.
struct Admitted<'a> {
    handshake: Handshake<'a>,
    outcome: HandshakeOutcome,
    identity: Option<Box<ClientIdentity>>,
    connection_slot: ConnectionSlot,
}

async fn admit<'a>(app_state: &AppState, request: &'a Request) -> Result<Admitted<'a>, HttpError> {
    let handshake = Handshake::read(request.head())?;
    check_draining(app_state)?;
    if app_state.admission.is_full() {
        return Err(app_state.admission.full());
    }
    check_origin(app_state, request)?;
    let granted = grant(app_state, &handshake.api_token, &handshake.user_token).await;
    // Checked again: a session that begins after the stop has closed all sessions would never be closed.
    check_draining(app_state)?;
    let address = request.head().peer_addr;
    let user = granted.as_ref().ok().map(|(grant, _)| grant.user);
    let (outcome, identity) = match granted {
        Ok((grant, identity)) => (
            HandshakeOutcome::Accepted(grant),
            identity.map(|identity| Box::new(ClientIdentity { address, ..identity })),
        ),
        // The tokens may be good: a client that gets another answer would discard them.
        Err((error @ TokenError::Unavailable, token)) => return Err(HttpError::of_token(error, token)),
        Err((error, token)) => {
            let (value, header) = match token {
                KeyUse::Api => (&handshake.api_token, messages::API_TOKEN),
                KeyUse::User => (&handshake.user_token, messages::USER_TOKEN),
            };
            let message = prefix_problem(value, header).unwrap_or_else(|| error.message(token));
            let error = messages::ErrorBody::new(error.code(), message);
            log::debug!(token = token.as_str(), code = error.code.as_str(), address = address_text(request); "a token was refused at the handshake");
            let frame = frame::text_frame(&messages::errors("TOKEN_VALIDATION", None, &error));
            (HandshakeOutcome::Refused(frame), None)
        }
    };
    let connection_slot = app_state.admission.admit(user, address.map(|address| address.ip()))?;
    Ok(Admitted { handshake, outcome, identity, connection_slot })
}

/// The peer's address for a log line.
fn address_text(request: &Request) -> String {
    request.head().peer_addr.map(|address| address.to_string()).unwrap_or_default()
}

fn check_draining(app_state: &AppState) -> Result<(), HttpError> {
    if app_state.is_draining() { Err(HttpError::stopping()) } else { Ok(()) }
}

fn check_origin(app_state: &AppState, request: &Request) -> Result<(), HttpError> {
    let settings = app_state.settings();
    let allowed = &settings.http.allowed_origins;
    let Some(origin) = request.head().headers.get(header::ORIGIN) else { return Ok(()) };
    if allowed.is_empty() || allowed.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()) {
        return Ok(());
    }
    let message = "pages of this origin may not connect: add it to http.allowed_origins";
    Err(HttpError::new(StatusCode::FORBIDDEN, ErrorCode::AccessDenied, message))
}

/// The grant of both tokens, and their user and application in plain text while the lines of sessions are logged.
async fn grant(
    app_state: &AppState,
    api: &str,
    user: &str,
) -> Result<(Grant, Option<ClientIdentity>), (TokenError, KeyUse)> {
    let authenticator = &app_state.authenticator;
    let api = authenticator.verify_api(api).await.map_err(|error| (error, KeyUse::Api))?;
    api.require(Scope::Connect).map_err(|error| (error, KeyUse::Api))?;
    let user = authenticator.verify_user(user, &api.project).await.map_err(|error| (error, KeyUse::User))?;
    let grant = Grant {
        project: api.project.to_shared(),
        user: app_state.admission.user(api.project.as_str(), &user.subject),
        api: api_grant(app_state, &api),
        user_token: user_grant(app_state, &user),
    };
    let identity = life_log::is_enabled().then(|| {
        let (user, application) = (user.subject.clone(), api.application.clone());
        ClientIdentity { user, application, address: None }
    });
    Ok((grant, identity))
}

/// The grant of an API token.
pub fn api_grant(app_state: &AppState, token: &ApiToken) -> ApiGrant {
    let expires_at = token.expires_at.map(|end| end_of_session(app_state, end));
    ApiGrant { application: app_state.authenticator.application(token), key: token.key, expires_at }
}

/// The grant of a user token.
pub fn user_grant(app_state: &AppState, token: &UserToken) -> UserGrant {
    UserGrant { key: token.key, expires_at: end_of_session(app_state, token.expires_at) }
}

/// A token that is accepted within the leeway after its `exp` is good until the leeway is over.
fn end_of_session(app_state: &AppState, expires_at: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    if expires_at > now { expires_at } else { expires_at.saturating_add(app_state.settings().auth.leeway_seconds) }
}

/// Sends the answer, then reads until the client closes. Closing a socket with unread input would reset the connection,
/// and the client could lose the answer.
async fn refuse(mut socket: TcpStream, answer: &[u8]) -> io::Result<()> {
    let refusal = async {
        socket.write_all(answer).await?;
        socket.shutdown().await?;
        let mut unread = [0; 4096];
        let mut left = REFUSAL_INPUT_BYTES;
        while left > 0 {
            match socket.read(&mut unread).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        Ok(())
    };
    tokio::time::timeout(REFUSAL_TIMEOUT, refusal).await.unwrap_or(Ok(()))
}
