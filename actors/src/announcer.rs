//! Sends control messages of the program to all nodes, over the bus.
//!
//! One actor on the bus arbiter, behind the HTTP API. It does not interpret the messages. Their handlers are attached
//! to the bus.

use crate::bus::{BusError, Control, SharedBus};
use actix::prelude::*;

/// Sends a message to all nodes, this one included. The answer is the number of nodes that receive it.
#[derive(Message)]
#[rtype(result = "Result<u64, BusError>")]
pub struct Announce(pub Control);

/// The actor that sends control messages.
pub struct Announcer {
    bus: SharedBus,
}

impl Announcer {
    /// Announces on `bus`.
    pub fn new(bus: SharedBus) -> Announcer {
        Announcer { bus }
    }
}

impl Actor for Announcer {
    type Context = Context<Self>;
}

impl Handler<Announce> for Announcer {
    type Result = ResponseFuture<Result<u64, BusError>>;

    fn handle(&mut self, message: Announce, _: &mut Context<Self>) -> Self::Result {
        self.bus.announce(&message.0)
    }
}
