//! Carries out on this node what all nodes are told: ends the sessions of a user.
//!
//! One actor on the node's main thread, attached to the bus. It is where names (of a project, of a user) become what the
//! hubs compare.

use super::stop::Hubs;
use crate::http::Admission;
use actix::{Actor, Context, Handler, Message};
use actors::bus::Control;
use actors::hub::{DisconnectUser, SessionHub};
use std::sync::{Arc, PoisonError};

/// See the module.
pub(super) struct Orders {
    hubs: Hubs,
    admission: Arc<Admission>,
}

impl Orders {
    /// Orders to these hubs, whose users `admission` knows.
    pub fn new(hubs: Hubs, admission: Arc<Admission>) -> Orders {
        Orders { hubs, admission }
    }

    fn tell_hubs<M>(&self, message: &M)
    where
        M: Message<Result = ()> + Clone + Send + 'static,
        SessionHub: Handler<M>,
    {
        for hub in self.hubs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // Must not be refused: one for each order of an operator.
            hub.do_send(message.clone());
        }
    }
}

impl Actor for Orders {
    type Context = Context<Self>;
}

impl Handler<Control> for Orders {
    type Result = ();

    fn handle(&mut self, message: Control, _: &mut Context<Self>) {
        match message {
            Control::DisconnectUser { project, user } => {
                self.tell_hubs(&DisconnectUser(self.admission.user(&project, &user)));
            }
            Control::NodeSeen(_) | Control::NodeLeft { .. } => {}
        }
    }
}
