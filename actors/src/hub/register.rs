//! A REGISTER on its way from a session to the registry: whether the project knows its events, and lets its application
//! subscribe to them. Who knows that is asked; what is known already is answered at once, and keeps its place.

use super::messages::Requests;
use super::{EventsRequest, SessionHub};
use crate::protocol::messages::ErrorBody;
use crate::session::request::Registration;
use crate::session::request::Request;
use crate::session::{Refused, RegisterAnswered};
use actix::prelude::*;
use futures::FutureExt as _;

impl SessionHub {
    /// What of these requests the registry is asked now.
    pub(super) fn authorize_requests(&mut self, requests: Vec<Request>, ctx: &mut Context<Self>) -> Vec<Request> {
        let judge = |request| match request {
            Request::Subscribe(registration) => self.authorize_registration(registration, ctx),
            other => Some(other),
        };
        requests.into_iter().filter_map(judge).collect()
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
            // Futures behind the turn's are polled after it, and nothing else would wake the hub.
            hub.settle(ctx);
        }));
        None
    }

    /// Takes out of a registration what is refused; what is left, if there is anything, is the registry's.
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
