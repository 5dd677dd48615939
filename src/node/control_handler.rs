//! Handles control messages on this node: ends the sessions of a user, reads a project again after a change of the
//! catalogue, and ends the sessions whose key is not active any more.
//!
//! It is one actor on the node's main thread, attached to the bus. It translates names (of a project, of a user) into
//! the fingerprints that the hubs compare. It also watches the catalogue, because the command line writes an embedded
//! one and has no bus.

use super::stop::Hubs;
use crate::auth::{ActiveKeys, Authenticator};
use crate::catalogue::{Catalogue, ProjectName};
use crate::http::{Admission, DisconnectReplies};
use actix::fut::{ActorFutureExt as _, WrapFuture as _};
use actix::{Actor, Addr, AsyncContext as _, Context, Handler, Message};
use actors::announcer::{Announce, Announcer};
use actors::bus::Control;
use actors::counters::Counters;
use actors::hub::{DisconnectUser, RetainKeys, SessionHub};
use actors::protocol::codes::ErrorCode;
use actors::protocol::frame;
use actors::protocol::messages::{self, ErrorBody};
use futures::future::join_all;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How often the handler checks whether another process has changed the catalogue, if that check is cheap.
const POLL_INTERVAL: Duration = Duration::from_millis(400);

/// The time until the second scan of the sessions. By then, a session whose token was verified just before the change
/// has reached its hub, even after a slow lookup.
const SECOND_PASS_DELAY: Duration = Duration::from_secs(5);

/// How often an unavailable catalogue is asked for the changes.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The message to a session whose key was revoked.
const REVOKED_MESSAGE: &str =
    "a key that signed the session's tokens was revoked, or the project was disabled: connect again with new tokens";

/// Gives the handler the actor through which it replies to other nodes.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct UseAnnouncer(pub Addr<Announcer>);

/// The actor that handles control messages.
pub(super) struct ControlHandler {
    hubs: Hubs,
    admission: Arc<Admission>,
    authenticator: Arc<Authenticator>,
    catalogue: Arc<dyn Catalogue>,
    counters: Arc<Counters>,
    replies: DisconnectReplies,
    /// Set when the bus has started.
    announcer: Option<Addr<Announcer>>,
    /// Projects whose keys are read again soon.
    retrying: HashSet<ProjectName>,
    /// The catalogue's version at the last check.
    version: Option<i64>,
}

impl ControlHandler {
    /// Creates the handler for these hubs. `admission` has the fingerprints of users.
    pub fn new(
        hubs: Hubs,
        admission: Arc<Admission>,
        authenticator: Arc<Authenticator>,
        catalogue: Arc<dyn Catalogue>,
        replies: DisconnectReplies,
        counters: Arc<Counters>,
    ) -> ControlHandler {
        ControlHandler {
            hubs,
            admission,
            authenticator,
            catalogue,
            counters,
            replies,
            announcer: None,
            retrying: HashSet::new(),
            version: None,
        }
    }

    /// Sends a message to all hubs. Resolves to the sum of the sessions that they ended.
    fn end_sessions<M>(&self, message: &M) -> impl Future<Output = usize> + use<M>
    where
        M: Message<Result = usize> + Clone + Send + 'static,
        SessionHub: Handler<M>,
    {
        let hubs = self.hubs.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = join_all(hubs.iter().map(|hub| hub.send(message.clone())));
        // A hub that has stopped has no session.
        async move { counts.await.into_iter().map(|count| count.unwrap_or(0)).sum() }
    }

    fn on_disconnect_user(
        &self,
        project: String,
        user: String,
        by: String,
        call: Option<u64>,
        ctx: &mut Context<Self>,
    ) {
        let message = DisconnectUser { user: self.admission.user(&project, &user), by: by.as_str().into() };
        let ended = self.end_sessions(&message).into_actor(self);
        ctx.spawn(ended.map(move |sessions, handler, _| {
            log::info!(project, user, by, sessions; "disconnected all sessions of a user on this node");
            if let Some(call) = call {
                handler.reply(call, sessions as u64);
            }
        }));
    }

    /// Replies to the node that received the call. If the reply is lost on the bus, the answer of the call shows it.
    fn reply(&self, call: u64, sessions: u64) {
        if !self.replies.add(call, sessions)
            && let Some(announcer) = &self.announcer
        {
            announcer.do_send(Announce(Control::UserDisconnected { call, sessions }));
        }
    }

    fn on_project_changed(&mut self, project: ProjectName, ctx: &mut Context<Self>) {
        self.authenticator.expire(Some(&project));
        self.counters.project_changes.add(1);
        log::info!(project:%; "a project has changed in the catalogue; its keys are read again");
        self.end_revoked(project.clone(), ctx);
        ctx.run_later(SECOND_PASS_DELAY, |handler, ctx| handler.end_revoked(project, ctx));
    }

    /// Handles that control messages were missed: everything may have changed.
    fn on_missed(&mut self, ctx: &mut Context<Self>) {
        self.authenticator.expire(None);
        for project in self.authenticator.projects() {
            self.on_project_changed(project, ctx);
        }
    }

    /// Ends the sessions of a project whose key is not active any more, when the catalogue answers.
    fn end_revoked(&mut self, project: ProjectName, ctx: &mut Context<Self>) {
        let authenticator = self.authenticator.clone();
        let request = async move {
            let keys = authenticator.active_keys(&project).await;
            (project, keys)
        };
        ctx.spawn(request.into_actor(self).map(|(project, keys), handler, ctx| match keys {
            Ok(keys) => handler.retain_keys(&project, keys, ctx),
            Err(_) => handler.retry(project, ctx),
        }));
    }

    /// Asks again later, once per project, even if it was changed several times.
    fn retry(&mut self, project: ProjectName, ctx: &mut Context<Self>) {
        if self.retrying.insert(project.clone()) {
            ctx.run_later(RETRY_INTERVAL, |handler, ctx| {
                handler.retrying.remove(&project);
                handler.end_revoked(project, ctx);
            });
        }
    }

    fn retain_keys(&self, project: &ProjectName, keys: ActiveKeys, ctx: &mut Context<Self>) {
        let reason =
            messages::errors("TOKEN_VALIDATION", None, &ErrorBody::new(ErrorCode::TokenInvalid, REVOKED_MESSAGE));
        let ended = self.end_sessions(&RetainKeys {
            project: project.to_shared(),
            api: keys.api.into(),
            user: keys.user.into(),
            reason: frame::text_frame(&reason),
        });
        let project = project.to_string();
        ctx.spawn(ended.into_actor(self).map(move |sessions, _, _| {
            if sessions > 0 {
                log::info!(project, sessions; "closed the sessions whose keys are not active any more");
            }
        }));
    }

    /// Checks repeatedly whether another process has changed the catalogue.
    fn watch(&mut self, ctx: &mut Context<Self>) {
        let catalogue = self.catalogue.clone();
        let request = async move { catalogue.version().await };
        ctx.spawn(request.into_actor(self).map(|version, handler, ctx| {
            match version {
                // This catalogue has no version.
                Ok(None) => return,
                Ok(version) => {
                    let before = std::mem::replace(&mut handler.version, version);
                    if before.is_some() && before != version {
                        handler.on_missed(ctx);
                    }
                }
                Err(error) => log::warn!(cause:% = error; "the catalogue cannot be watched for changes"),
            }
            ctx.run_later(POLL_INTERVAL, |handler, ctx| handler.watch(ctx));
        }));
    }
}

impl Actor for ControlHandler {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.watch(ctx);
    }
}

impl Handler<UseAnnouncer> for ControlHandler {
    type Result = ();

    fn handle(&mut self, message: UseAnnouncer, _: &mut Context<Self>) {
        self.announcer = Some(message.0);
    }
}

impl Handler<Control> for ControlHandler {
    type Result = ();

    fn handle(&mut self, message: Control, ctx: &mut Context<Self>) {
        match message {
            Control::DisconnectUser { project, user, by, call } => {
                self.on_disconnect_user(project, user, by, call, ctx);
            }
            Control::UserDisconnected { call, sessions } => {
                self.replies.add(call, sessions);
            }
            Control::ProjectChanged { project } => {
                if let Ok(project) = ProjectName::parse(&project) {
                    self.on_project_changed(project, ctx);
                }
            }
            Control::Missed => self.on_missed(ctx),
            Control::NodeSeen(_) | Control::NodeLeft { .. } => {}
        }
    }
}
