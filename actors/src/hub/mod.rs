//! The sessions of one worker thread: their sockets, their slots, and one tick for pings, dead peers and expiry.
//!
//! The hub is a normal actor. It calls the handlers of its sessions, which have no task of their own. A turn handles
//! the messages in the mailbox, then the sockets that are ready, then makes one write for each session with output,
//! then sends one message to the registry. The hub does not match emits and does not read their JSON. It does not know
//! the bus or the catalogue. Its neighbors are `session/` and `registry/`.

mod coalescing;
mod coalescing_delay;
mod disconnect_scan;
mod dispatch;
mod expiry;
pub mod messages;
mod poller;
mod register;
mod slots;
#[cfg(test)]
mod testing;
mod tick;
mod turn;

use crate::fingerprint::Fingerprint64;
use crate::ids::SessionRef;
use crate::protocol::codes::CloseCode;
use crate::protocol::messages::ErrorBody;
use crate::session::life_log::{ClientIdentity, ClosedBy};
use crate::session::{
    Close, ConnectionSlot, EarlyBytes, Grant, Open, RefreshRequest, RefreshResult, Session, SessionContext,
};
use actix::prelude::*;
use bytes::{Bytes, BytesMut};
use coalescing_delay::CoalescingDelay;
use disconnect_scan::DisconnectScan;
pub use disconnect_scan::{DisconnectUser, RetainKeys};
use expiry::ExpiryQueue;
use futures::future::LocalBoxFuture;
use messages::{Answers, Dispatch, HubStarted, Requests};
use poller::{Poller, Readiness};
use slots::Slots;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use turn::Turn;

/// Decides what a session may do. The program implements it with the keys and the events of projects.
pub trait Authorizer {
    /// Verifies new tokens of a session. They must be of its project and user.
    fn verify_tokens(&self, request: RefreshRequest) -> LocalBoxFuture<'static, RefreshResult>;

    /// Decides for each event, in order, whether the session may subscribe to it. Answers from the cache are immediate.
    fn authorize_events(&self, request: EventsRequest) -> LocalBoxFuture<'static, Vec<Result<(), ErrorBody>>>;
}

/// The events of one REGISTER.
pub struct EventsRequest {
    pub project: Arc<str>,
    /// The application whose token the session has.
    pub application: Fingerprint64,
    pub events: Vec<Arc<str>>,
}

/// The actor that owns the sessions of one worker.
pub struct SessionHub {
    worker: u16,
    sessions: Slots,
    ctx: SessionContext,
    poller: Option<Poller>,
    ready: Vec<Readiness>,
    /// Messages of the registry, in order. They share one queue, because an answer must not overtake a notification.
    /// The registry bounds it by its permits.
    incoming: VecDeque<Incoming>,
    coalescing_delay: CoalescingDelay,
    /// Approximate number of sessions with dispatched frames that are not written yet.
    unwritten: usize,
    expiry: ExpiryQueue,
    /// Closing sessions, by the time (hub clock) when the hub stops waiting for the peer.
    closing_deadlines: ExpiryQueue,
    /// Sessions with full sockets, by the time (hub clock) of the next check for progress. At most one entry per
    /// session.
    write_deadlines: ExpiryQueue,
    disconnect_scan: DisconnectScan,
    /// The last second (hub clock) whose liveness checks are done.
    checked_until: u32,
    registry: Recipient<Requests>,
    authorizer: Rc<dyn Authorizer>,
    started_at: Instant,
}

/// Takes over a socket after its handshake was checked.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Adopt {
    pub socket: std::net::TcpStream,
    /// Bytes to send first: answers to requests before the upgrade, and the `101`.
    pub head: Bytes,
    /// Bytes that arrived after the handshake.
    pub early: BytesMut,
    pub outcome: HandshakeOutcome,
    /// Set while the lines of sessions are logged.
    pub identity: Option<Box<ClientIdentity>>,
    pub connection_slot: ConnectionSlot,
}

/// The outcome of a handshake.
pub enum HandshakeOutcome {
    Accepted(Grant),
    /// The tokens were refused. The session sends this frame with the reason and closes with 4401.
    Refused(Bytes),
}

/// A message of the registry.
enum Incoming {
    Dispatch(Dispatch),
    Answers(Answers),
}

/// The node stops: closes every session with 1001. The answer is the number of sessions that are not gone yet.
#[derive(Message)]
#[rtype(result = "usize")]
pub struct CloseAll;

impl SessionHub {
    /// The hub of worker `worker`. The requests of its sessions go to `registry`, and `authorizer` decides what they
    /// may do.
    pub fn new(
        worker: u16,
        ctx: SessionContext,
        registry: Recipient<Requests>,
        authorizer: Rc<dyn Authorizer>,
    ) -> SessionHub {
        SessionHub {
            worker,
            sessions: Slots::new(worker),
            ctx,
            poller: None,
            ready: Vec::new(),
            incoming: VecDeque::new(),
            coalescing_delay: CoalescingDelay::default(),
            unwritten: 0,
            expiry: ExpiryQueue::default(),
            closing_deadlines: ExpiryQueue::default(),
            write_deadlines: ExpiryQueue::default(),
            disconnect_scan: DisconnectScan::default(),
            checked_until: 0,
            registry,
            authorizer,
            started_at: Instant::now(),
        }
    }

    /// Sends a message to a session, if it still exists, and removes the session if the message ended it. Returns
    /// whether it existed.
    fn with<M>(&mut self, session: SessionRef, message: M) -> bool
    where
        M: Message,
        Session: Handler<M>,
    {
        let Some(found) = self.sessions.find(session) else { return false };
        self.ctx.prepare();
        found.handle(message, &mut self.ctx);
        if self.ctx.state() != ActorState::Running {
            self.end(session);
        }
        true
    }

    fn end(&mut self, session: SessionRef) {
        if let Some(mut ended) = self.sessions.remove(session) {
            ended.stopped(&mut self.ctx);
        }
    }

    fn adopt(&mut self, message: Adopt) {
        let Adopt { socket, head, mut early, outcome, identity, connection_slot } = message;
        let now = self.ctx.now;
        let mut socket = mio::net::TcpStream::from_std(socket);
        let Some(poller) = &self.poller else { return };
        if let Err(error) = poller.watch(&mut socket, self.sessions.next_slot()) {
            return log::error!(worker = self.worker, cause:% = error; "a socket cannot be registered for polling");
        }
        let (grant, refusal) = match outcome {
            HandshakeOutcome::Accepted(grant) => (grant, None),
            HandshakeOutcome::Refused(reason) => (Grant::none(), Some(reason)),
        };
        let session = self.sessions.insert(|reference| Session::new(reference, socket, grant, connection_slot, now));
        if let Some(identity) = identity {
            self.ctx.identities.insert(session, identity);
        }
        self.with(session, Open { head, refusal });
        self.ctx.expiring.push(session);
        if !early.is_empty() {
            self.with(session, EarlyBytes(&mut early));
        }
    }
}

impl Actor for SessionHub {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        match Poller::new() {
            Ok(poller) => self.poller = Some(poller),
            Err(error) => {
                log::error!(worker = self.worker, cause:% = error; "the worker cannot poll sockets");
                return ctx.stop();
            }
        }
        ctx.run_interval(Duration::from_secs(1), |hub, _| hub.tick());
        ctx.spawn(Turn);
    }
}

/// Announces a hub to the registry. The code that starts the hub calls this before the first session.
pub fn announce(registry: &Recipient<HubStarted>, worker: u16, hub: &Addr<SessionHub>) {
    registry.do_send(HubStarted { worker, hub: hub.clone() });
}

impl Handler<Adopt> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: Adopt, _: &mut Context<Self>) {
        self.adopt(message);
    }
}

impl Handler<Dispatch> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: Dispatch, _: &mut Context<Self>) {
        self.incoming.push_back(Incoming::Dispatch(message));
    }
}

impl Handler<Answers> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: Answers, _: &mut Context<Self>) {
        self.incoming.push_back(Incoming::Answers(message));
    }
}

impl Handler<CloseAll> for SessionHub {
    type Result = usize;

    fn handle(&mut self, _: CloseAll, _: &mut Context<Self>) -> usize {
        for slot in 0..self.sessions.end() {
            if let Some(session) = self.sessions.at(slot) {
                self.with(session, Close { code: CloseCode::GoingAway, by: ClosedBy::NodeStop });
            }
        }
        self.sessions.len()
    }
}
