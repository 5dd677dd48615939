//! Answers the hub's questions about open sessions: may a session use new tokens (REFRESH), and may it subscribe to
//! these events (REGISTER)?
//!
//! New tokens are verified as at the handshake, and must be of the same project and user.

use super::AppState;
use super::connect::{api_grant, user_grant};
use crate::auth::{EventError, EventUse, Scope, TokenError};
use crate::catalogue::{KeyUse, ProjectName};
use actix_web::web;
use actors::hub::{Authorizer, EventsRequest};
use actors::protocol::codes::ErrorCode;
use actors::protocol::messages::ErrorBody;
use actors::session::{RefreshRequest, RefreshResult, Refreshed};
use futures::future::LocalBoxFuture;

/// The authorizer of this node's hubs.
pub struct NodeAuthorizer(pub web::Data<AppState>);

impl Authorizer for NodeAuthorizer {
    fn verify_tokens(&self, request: RefreshRequest) -> LocalBoxFuture<'static, RefreshResult> {
        let app_state = self.0.clone();
        Box::pin(async move { verify_tokens(&app_state, request).await })
    }

    fn authorize_events(&self, request: EventsRequest) -> LocalBoxFuture<'static, Vec<Result<(), ErrorBody>>> {
        let app_state = self.0.clone();
        Box::pin(async move { authorize_events(&app_state, request).await })
    }
}

async fn authorize_events(app_state: &AppState, request: EventsRequest) -> Vec<Result<(), ErrorBody>> {
    let project = ProjectName::parse(&request.project);
    let mut verdicts = Vec::with_capacity(request.events.len());
    for event in &request.events {
        let verdict = match &project {
            Ok(project) => {
                let wanted = EventUse::Subscribe;
                app_state.authenticator.check_event(project, request.application, event, wanted).await
            }
            Err(_) => Err(EventError::Unknown),
        };
        verdicts.push(verdict.map_err(|error| ErrorBody::new(error.code(), error.to_string())));
    }
    verdicts
}

async fn verify_tokens(app_state: &AppState, request: RefreshRequest) -> RefreshResult {
    let refused = |token| move |error: TokenError| ErrorBody::new(error.code(), error.message(token));
    let project = ProjectName::parse(&request.project).map_err(|_| refused(KeyUse::Api)(TokenError::UnknownProject))?;
    let mut refreshed = Refreshed::default();
    if let Some(text) = &request.api {
        let token = app_state.authenticator.verify_api(text).await.map_err(refused(KeyUse::Api))?;
        token.require(Scope::Connect).map_err(refused(KeyUse::Api))?;
        if token.project != project {
            return Err(refused(KeyUse::Api)(TokenError::ProjectMismatch));
        }
        refreshed.api = Some(api_grant(app_state, &token));
    }
    if let Some(text) = &request.user_token {
        let token = app_state.authenticator.verify_user(text, &project).await.map_err(refused(KeyUse::User))?;
        if app_state.admission.user(project.as_str(), &token.subject) != request.user {
            return Err(ErrorBody::new(
                ErrorCode::TokenInvalid,
                "user token: it is of another user, open a new connection",
            ));
        }
        refreshed.user = Some(user_grant(app_state, &token));
    }
    Ok(refreshed)
}
