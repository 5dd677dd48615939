//! Authorizes a REGISTER between the session and the registry: the project must know the events, and the application
//! must be allowed to subscribe to them. If the authorizer has the answer cached, the request keeps its place in the
//! order.

use super::messages::Requests;
use super::{EventsRequest, SessionHub};
use crate::protocol::messages::ErrorBody;
use crate::session::request::Registration;
use crate::session::request::Request;
use crate::session::{Refused, RegisterAnswered};
use actix::prelude::*;
use futures::FutureExt as _;

impl SessionHub {
    /// Returns the requests that go to the registry now.
    pub(super) fn authorize_requests(&mut self, requests: Vec<Request>, ctx: &mut Context<Self>) -> Vec<Request> {
        let authorize = |request| match request {
            Request::Subscribe(registration) => self.authorize_registration(registration, ctx),
            other => Some(other),
        };
        requests.into_iter().filter_map(authorize).collect()
    }

    fn authorize_registration(&mut self, registration: Registration, ctx: &mut Context<Self>) -> Option<Request> {
        let application = self.sessions.find(registration.session)?.grant().api.application;
        let project = registration.project.clone();
        let events = registration.specs.iter().map(|spec| spec.event.clone()).collect();
        let mut verdicts = self.authorizer.authorize_events(EventsRequest { project, application, events });
        if let Some(verdicts) = (&mut verdicts).now_or_never() {
            return self.admit(registration, verdicts);
        }
        ctx.spawn(verdicts.into_actor(self).map(move |verdicts, hub, ctx| {
            if let Some(request) = hub.admit(registration, verdicts) {
                hub.registry.do_send(Requests { worker: hub.worker, requests: vec![request] });
            }
            // This future runs after the turn, and nothing else would wake the hub.
            hub.settle(ctx);
        }));
        None
    }

    /// Removes the refused entries of a registration. Returns what is left for the registry, if anything.
    fn admit(&mut self, mut registration: Registration, verdicts: Vec<Result<(), ErrorBody>>) -> Option<Request> {
        let session = registration.session;
        if !self.sessions.holds(session) {
            return None;
        }
        let refused = registration.refuse(verdicts);
        if refused > 0 {
            self.with(session, Refused(refused));
        }
        if registration.specs.is_empty() {
            self.with(session, RegisterAnswered(registration.answer));
            return None;
        }
        Some(Request::Subscribe(registration))
    }
}
