//! The sessions of one worker thread: their sockets, their slots, and one tick for pings, dead peers and expiry.
//!
//! The hub is a stock actor; its sessions are slim ones that it calls. A turn is: messages of the mailbox, readiness of
//! sockets, then one write per session that has something to say, then one message to the registry. It never matches
//! and never reads the JSON of emits; it knows neither bus nor catalogue. Its neighbours are `session/` and `registry/`.

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
    Close, ConnectionSlot, Feed, Grant, Open, RefreshRequest, RefreshResult, Session, SessionContext,
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

/// Who knows the keys and the events of projects, and is asked what a session may do.
pub trait Authorizer {
    /// Judges new tokens of a session against its project and user.
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

/// See the module.
pub struct SessionHub {
    worker: u16,
    sessions: Slots,
    ctx: SessionContext,
    poller: Option<Poller>,
    ready: Vec<Readiness>,
    /// What the registry said, in its order: one queue, since an answer must not overtake a notification. Bounded as
    /// the mailbox that it comes from, by the registry.
    incoming: VecDeque<Incoming>,
    coalescing_delay: CoalescingDelay,
    /// Sessions, about, that were handed something out and have not been written to.
    unwritten: usize,
    expiry: ExpiryQueue,
    /// Sessions that said goodbye, by the hub's clock when its patience with them ends.
    closing_deadlines: ExpiryQueue,
    /// When sessions with full sockets are checked for progress, by the hub's clock. At most one entry for each session.
    write_deadlines: ExpiryQueue,
    disconnect_scan: DisconnectScan,
    /// Until when, by the hub's clock, sessions were looked after.
    checked_until: u32,
    registry: Recipient<Requests>,
    authorizer: Rc<dyn Authorizer>,
    started_at: Instant,
}

/// Takes over a socket whose handshake is checked.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Adopt {
    pub socket: std::net::TcpStream,
    /// What goes out before anything else: answers to requests before the upgrade, and the `101`.
    pub head: Bytes,
    /// What came right behind the handshake.
    pub early: BytesMut,
    pub outcome: HandshakeOutcome,
    /// Given while the lines of sessions are logged.
    pub identity: Option<Box<ClientIdentity>>,
    pub connection_slot: ConnectionSlot,
}

/// How an adopted socket is received.
pub enum HandshakeOutcome {
    Accepted(Grant),
    /// The tokens were refused: this frame says why, then the session is closed with 4401.
    Refused(Bytes),
}

/// What the registry says.
enum Incoming {
    Dispatch(Dispatch),
    Answers(Answers),
}

/// The node stops: closes every session with 1001. The answer is the number of sessions that are not gone yet.
#[derive(Message)]
#[rtype(result = "usize")]
pub struct CloseAll;

impl SessionHub {
    /// The hub of worker `worker`; requests of its sessions go to `registry`, what they may do `authorizer` says.
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

    /// Has one session do something, if it is still there, and ends it if that was its end.
    fn with<M>(&mut self, session: SessionRef, message: M) -> bool
    where
        M: Message,
        Session: Handler<M>,
    {
        let Some(found) = self.sessions.find(session) else { return false };
        self.ctx.begin();
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
            return log::error!("worker {} cannot watch a socket: {error}", self.worker);
        }
        let (grant, refusal) = match outcome {
            HandshakeOutcome::Accepted(grant) => (grant, None),
            HandshakeOutcome::Refused(reason) => (Grant::nobody(), Some(reason)),
        };
        let session = self.sessions.insert(|reference| Session::new(reference, socket, grant, connection_slot, now));
        if let Some(identity) = identity {
            self.ctx.identities.insert(session, identity);
        }
        self.with(session, Open { head, refusal });
        self.ctx.expiring.push(session);
        if !early.is_empty() {
            self.with(session, Feed(&mut early));
        }
    }
}

impl Actor for SessionHub {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        match Poller::new() {
            Ok(poller) => self.poller = Some(poller),
            Err(error) => {
                log::error!("worker {} cannot poll sockets: {error}", self.worker);
                return ctx.stop();
            }
        }
        ctx.run_interval(Duration::from_secs(1), |hub, _| hub.tick());
        ctx.spawn(Turn);
    }
}

/// Says to the registry that a hub is there; sent by whoever starts the hub, before its first session.
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
