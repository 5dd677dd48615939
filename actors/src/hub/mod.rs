//! The sessions of one worker thread: their sockets, their slots, and one tick for pings, dead peers and expiry.
//!
//! The hub is a stock actor; its sessions are slim ones that it calls. A turn is: messages of the mailbox, readiness of
//! sockets, then one write per session that has something to say, then one message to the registry. It never matches
//! and never reads the JSON of emits; it knows neither bus nor catalogue. Its neighbours are `session/` and `registry/`.

mod expiry;
mod poller;
mod slots;

use crate::passage::Passage;
use crate::protocol::codes::CloseCode;
use crate::registry::{Answer, Answers, HubStarted, Leg, Requests};
use crate::session::session_ref::SessionRef;
use crate::session::{
    CheckLiveness, Close, Deliver, Feed, Flush, Grant, Open, Place, Readable, RefreshRequest, RefreshResult, Session,
    SessionContext, Subscribed, TokensJudged, Unsubscribed, release_orphans,
};
use actix::fut::ActorFuture;
use actix::prelude::*;
use bytes::{Bytes, BytesMut};
use expiry::ExpiryQueue;
use futures::future::LocalBoxFuture;
use poller::{Poller, Readiness};
use slots::Slots;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Rounds of readiness in one turn, after which other tasks of the worker have theirs.
const ROUNDS_A_TURN: usize = 4;

/// Checks new tokens of a session. Implemented by who knows keys.
pub trait TokenJudge {
    /// Judges the tokens against the session's project and user.
    fn judge(&self, request: RefreshRequest) -> LocalBoxFuture<'static, RefreshResult>;
}

/// See the module.
pub struct SessionHub {
    worker: u16,
    sessions: Slots,
    ctx: SessionContext,
    poller: Option<Poller>,
    ready: Vec<Readiness>,
    unread: Vec<(SessionRef, bool)>,
    expiry: ExpiryQueue,
    /// Sessions that said goodbye, and when the hub's patience with them ends.
    farewells: VecDeque<(u32, SessionRef)>,
    registry: Recipient<Requests>,
    judge: Rc<dyn TokenJudge>,
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
    pub welcome: Welcome,
    pub place: Option<Place>,
}

/// How an adopted socket is received.
pub enum Welcome {
    Granted(Grant),
    /// The tokens were refused: this frame says why, then the session is closed with 4401.
    Refused(Bytes),
}

/// One frame and the sessions of the worker that are told it.
pub struct Telling {
    pub frame: Bytes,
    pub sessions: Vec<SessionRef>,
}

/// Tells frames, in order.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Tell {
    pub tellings: Vec<Telling>,
    /// Held until the sessions have been handed the frames.
    pub passage: Passage,
    /// Held as long.
    pub leg: Leg,
}

impl Telling {
    /// What it takes on its way, about.
    pub fn bytes(&self) -> usize {
        self.frame.len() + self.sessions.len() * size_of::<SessionRef>()
    }
}

/// Says goodbye to every session with one code; answers how many there are still.
#[derive(Message)]
#[rtype(result = "usize")]
pub struct CloseAll(pub CloseCode);

impl SessionHub {
    /// The hub of worker `worker`; requests of its sessions go to `registry`, new tokens to `judge`.
    pub fn new(
        worker: u16,
        ctx: SessionContext,
        registry: Recipient<Requests>,
        judge: Rc<dyn TokenJudge>,
    ) -> SessionHub {
        SessionHub {
            worker,
            sessions: Slots::new(worker),
            ctx,
            poller: None,
            ready: Vec::new(),
            unread: Vec::new(),
            expiry: ExpiryQueue::default(),
            farewells: VecDeque::new(),
            registry,
            judge,
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
        let Adopt { socket, head, mut early, welcome, place } = message;
        let now = self.ctx.now;
        let mut socket = mio::net::TcpStream::from_std(socket);
        let watched = self.poller.as_ref().map(|poller| poller.watch(&mut socket, self.sessions.next_slot()));
        if !matches!(watched, Some(Ok(()))) {
            return self.ctx.counters.sessions.subtract(1);
        }
        let (grant, refusal) = match welcome {
            Welcome::Granted(grant) => (grant, None),
            Welcome::Refused(reason) => (Grant::nobody(), Some(reason)),
        };
        let session = self.sessions.insert(|reference| Session::new(reference, socket, grant, place, now));
        self.with(session, Open { head, refusal });
        self.ctx.expiring.push(session);
        if !early.is_empty() {
            self.with(session, Feed(&mut early));
        }
    }

    fn on_readiness(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        for event in ready.drain(..) {
            // A socket leaves the poll when it is dropped, so that an event names the slot's present tenant; one that
            // was taken in the same round is at most polled for nothing.
            let Some(session) = self.sessions.at(event.slot) else { continue };
            if event.is_writable {
                self.with(session, Flush);
            }
            if event.is_readable {
                self.with(session, Readable { is_read_closed: event.is_read_closed });
            }
        }
        self.ready = ready;
    }

    fn on_unread(&mut self) {
        std::mem::swap(&mut self.unread, &mut self.ctx.unread);
        let mut unread = std::mem::take(&mut self.unread);
        for (session, is_read_closed) in unread.drain(..) {
            self.with(session, Readable { is_read_closed });
        }
        self.unread = unread;
    }

    /// The end of a turn: what the sessions left to do is done.
    fn settle(&mut self, ctx: &mut Context<Self>) {
        while let Some(slot) = self.ctx.dirty.pop() {
            if let Some(session) = self.sessions.at(slot) {
                self.with(session, Flush);
            }
        }
        let patience_ends = self.ctx.now + self.ctx.settings.close_seconds;
        self.farewells.extend(self.ctx.closing.drain(..).map(|session| (patience_ends, session)));
        for session in self.ctx.expiring.drain(..) {
            if let Some(found) = self.sessions.find(session) {
                self.expiry.insert(found.note_end(), session);
            }
        }
        self.ctx.counters.notifications.add(std::mem::take(&mut self.ctx.notifications));
        for request in std::mem::take(&mut self.ctx.refreshes) {
            let (session, guid) = (request.session, request.guid.clone());
            let verdict = self.judge.judge(request).into_actor(self);
            ctx.spawn(verdict.map(move |result, hub, _| {
                hub.with(session, TokensJudged { guid, result });
            }));
        }
        if !self.ctx.requests.is_empty() {
            let requests = std::mem::take(&mut self.ctx.requests);
            // Bounded by the sessions: each has at most its messages of a second and its subscriptions under way.
            self.registry.do_send(Requests { worker: self.worker, requests });
        }
    }

    /// Once a second.
    fn tick(&mut self) {
        self.ctx.now = u32::try_from(self.started_at.elapsed().as_secs()).unwrap_or(u32::MAX);
        self.check_liveness();
        self.end_expired();
        while let Some((_, session)) = self.farewells.pop_front_if(|(ends, _)| *ends <= self.ctx.now) {
            self.end(session);
        }
    }

    /// Each session is pinged once an interval and looked at twice, spread evenly over the interval's seconds.
    fn check_liveness(&mut self) {
        let interval = self.ctx.settings.ping_seconds.max(1);
        let phase = self.ctx.now % interval;
        let half = (phase + interval / 2) % interval;
        for (first, sends_ping) in [(phase, true), (half, false)] {
            if !sends_ping && half == phase {
                continue;
            }
            for slot in (first..self.sessions.end()).step_by(interval as usize) {
                if let Some(session) = self.sessions.at(slot) {
                    self.with(session, CheckLiveness { sends_ping });
                }
            }
        }
    }

    fn end_expired(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        while let Some(session) = self.expiry.pop_due(now) {
            let Some(found) = self.sessions.find(session) else { continue };
            let expires_at = found.note_end();
            if expires_at > now {
                self.expiry.insert(expires_at, session);
            } else {
                self.with(session, Close(CloseCode::TokenRefused));
            }
        }
        let sessions = &self.sessions;
        self.expiry.sweep(sessions.len(), |session| sessions.holds(session));
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

/// What a hub does in each of its turns, after the messages of its mailbox. Never ends.
struct Turn;

impl ActorFuture<SessionHub> for Turn {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        hub: &mut SessionHub,
        ctx: &mut Context<SessionHub>,
        task: &mut TaskContext<'_>,
    ) -> Poll<()> {
        hub.on_unread();
        let is_drained = (0..ROUNDS_A_TURN).any(|_| hub.poll_sockets(task).is_pending());
        hub.settle(ctx);
        if !is_drained || !hub.ctx.unread.is_empty() {
            task.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl SessionHub {
    /// One round of readiness; `Pending` when there is no more for now.
    fn poll_sockets(&mut self, task: &mut TaskContext<'_>) -> Poll<()> {
        let Some(poller) = &mut self.poller else { return Poll::Pending };
        match poller.poll(task, &mut self.ready) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => {
                self.on_readiness();
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                log::error!("worker {} lost its sockets: {error}", self.worker);
                self.poller = None;
                Poll::Pending
            }
        }
    }
}

impl Handler<Adopt> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: Adopt, _: &mut Context<Self>) {
        self.adopt(message);
    }
}

impl Handler<Tell> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: Tell, _: &mut Context<Self>) {
        let Tell { tellings, passage: _passage, leg: _leg } = message;
        for telling in tellings {
            for session in telling.sessions {
                self.with(session, Deliver(telling.frame.clone()));
            }
        }
    }
}

impl Handler<Answers> for SessionHub {
    type Result = ();

    fn handle(&mut self, message: Answers, _: &mut Context<Self>) {
        for answer in message.0 {
            match answer {
                Answer::Subscribed { session, results, answer } => {
                    if self.sessions.holds(session) {
                        self.with(session, Subscribed { results, answer });
                    } else {
                        release_orphans(session, &results, &mut self.ctx);
                    }
                }
                Answer::Unsubscribed { session, answer } => {
                    self.with(session, Unsubscribed(*answer));
                }
            }
        }
    }
}

impl Handler<CloseAll> for SessionHub {
    type Result = usize;

    fn handle(&mut self, message: CloseAll, _: &mut Context<Self>) -> usize {
        for slot in 0..self.sessions.end() {
            if let Some(session) = self.sessions.at(slot) {
                self.with(session, Close(message.0));
            }
        }
        self.sessions.len()
    }
}
