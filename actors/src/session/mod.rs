//! One client's WebSocket: its protocol state, its subscriptions' ids, what it could not write yet.
//!
//! A [`Session`] is an actor whose context lives on the stack: the hub of its worker calls its handlers, so that an
//! idle session has no task, mailbox, timer or buffer. It never knows the bus, the catalogue, Redis or HTTP. Messages
//! of a client are answered in `on_client_message.rs`; what could not be written waits in `outbox.rs`.

mod context;
mod on_client_message;
mod on_registry_answer;
mod outbox;
pub mod registration;
pub mod session_ref;
mod subscriptions;

pub use context::{Conduct, RefreshRequest, RefreshResult, Refreshed, SessionContext, SessionSettings};
pub use on_client_message::{on_client_message, on_open};
pub(crate) use on_registry_answer::{Subscribed, TokensJudged, Unsubscribed, release_orphans};
pub use outbox::Outbox;

use crate::counters::{Ending, Limit};
use crate::fingerprint::Fingerprint;
use crate::protocol::codes::CloseCode;
use crate::protocol::frame::{self, Event, FrameReader};
use crate::registry::Request;
use actix::prelude::*;
use bytes::Bytes;
use mio::net::TcpStream;
use session_ref::SessionRef;
use std::any::Any;
use std::io::{self, Read};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::sync::Arc;
use subscriptions::Subscriptions;

/// Reads of one session in one turn of its hub: a flood waits for the others' turn.
const READS_A_TURN: usize = 4;

/// A close frame without a code (RFC 6455 §5.5.1): the answer to one without.
const EMPTY_CLOSE: &[u8] = &[0x88, 0];

/// What the tokens of a session say.
#[derive(Clone, Debug)]
pub struct Grant {
    pub project: Arc<str>,
    /// The user, as a fingerprint of (project, `sub`): enough to compare, nothing to leak.
    pub user: Fingerprint,
    /// The end of the API token, in Unix seconds.
    pub api_expires_at: Option<u64>,
    /// The end of the user token, in Unix seconds.
    pub user_expires_at: u64,
}

impl Grant {
    /// What refused tokens are good for: being told so.
    pub fn nobody() -> Grant {
        Grant { project: "".into(), user: Fingerprint::default(), api_expires_at: None, user_expires_at: u64::MAX }
    }

    /// When the session ends: the earlier end of its two tokens, in Unix seconds.
    pub fn expires_at(&self) -> u64 {
        self.api_expires_at.map_or(self.user_expires_at, |api| api.min(self.user_expires_at))
    }
}

/// Something that is given back when the session ends, such as a place under a limit.
pub type Place = Box<dyn Any + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// We said goodbye and wait for the peer's (RFC 6455 §7.1.2).
    AwaitingClose,
    /// We said goodbye to a peer that can't be followed any more: what it sends is dropped until it hangs up.
    Discarding,
    /// Both said goodbye: the connection ends with the last byte written.
    Finishing,
}

/// See the module.
pub struct Session {
    reference: SessionRef,
    socket: TcpStream,
    phase: Phase,
    ending: Option<Ending>,
    reader: FrameReader,
    outbox: Option<Box<Outbox>>,
    subscriptions: Subscriptions,
    grant: Grant,
    /// When the hub's expiry queue looks at this session, in Unix seconds.
    due_at: u64,
    /// The hub's clock when something last came.
    last_heard: u32,
    window_started: u32,
    messages_in_window: u32,
    _place: Option<Place>,
}

impl Actor for Session {
    type Context = SessionContext;

    fn stopped(&mut self, ctx: &mut SessionContext) {
        self.release_subscriptions(ctx);
        if let Some(outbox) = self.outbox.take() {
            ctx.counters.session_queue_bytes.subtract(outbox.bytes() as u64);
        }
        ctx.counters.count_close(self.ending.unwrap_or(Ending::Abrupt));
        ctx.counters.sessions.subtract(1);
    }
}

/// The first thing that a session says: what is left of the handshake, then a greeting or why it is refused.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Open {
    pub head: Bytes,
    pub refusal: Option<Bytes>,
}

/// The socket can be read, and whether the peer has ended its side.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Readable {
    pub is_read_closed: bool,
}

/// Bytes that came before the session had its socket.
pub struct Feed<'a>(pub &'a mut [u8]);

impl Message for Feed<'_> {
    type Result = ();
}

/// Writes what waits, as far as the socket takes it.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Flush;

/// Tells a notification, as a whole frame.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Deliver(pub Bytes);

/// Asks for a sign of life, and ends a session that gave none.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CheckLiveness {
    pub sends_ping: bool,
}

/// Says goodbye.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Close(pub CloseCode);

impl Session {
    /// A session on a socket whose handshake is done. The hub has counted it.
    pub fn new(reference: SessionRef, socket: TcpStream, grant: Grant, place: Option<Place>, now: u32) -> Session {
        Session {
            reference,
            socket,
            phase: Phase::Open,
            ending: None,
            reader: FrameReader::default(),
            outbox: None,
            subscriptions: Subscriptions::default(),
            grant,
            due_at: u64::MAX,
            last_heard: now,
            window_started: now,
            messages_in_window: 0,
            _place: place,
        }
    }

    /// Who this is.
    pub fn reference(&self) -> SessionRef {
        self.reference
    }

    /// When the session ends, in Unix seconds; the caller has its expiry queue look again then.
    pub fn note_end(&mut self) -> u64 {
        self.due_at = self.grant.expires_at();
        self.due_at
    }

    /// The socket, for the hub's poller.
    pub fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Queues a frame that is not a notification.
    pub fn queue(&mut self, frame: Bytes, ctx: &mut SessionContext) {
        if self.phase == Phase::Open {
            self.push(frame, false, ctx);
        }
    }

    /// Says goodbye with `code`; nothing else is told after it.
    pub fn close(&mut self, code: CloseCode, ctx: &mut SessionContext) {
        if self.phase != Phase::Open {
            return;
        }
        self.phase = match code {
            CloseCode::Normal | CloseCode::GoingAway | CloseCode::TokenRefused | CloseCode::SilentTooLong => {
                Phase::AwaitingClose
            }
            _ => Phase::Discarding,
        };
        self.ending = Some(Ending::Code(code));
        self.release_subscriptions(ctx);
        self.push(frame::close_frame(code.as_u16(), code.reason()), false, ctx);
        ctx.closing.push(self.reference);
    }

    fn push(&mut self, frame: Bytes, is_notification: bool, ctx: &mut SessionContext) {
        ctx.counters.session_queue_bytes.add(frame.len() as u64);
        let outbox = self.outbox.get_or_insert_with(|| {
            ctx.dirty.push(self.reference.slot);
            ctx.spare_outboxes.pop().unwrap_or_default()
        });
        outbox.push(frame, is_notification);
        if self.phase == Phase::Open && outbox.bytes() > ctx.settings.send_buffer_bytes {
            self.make_room(ctx);
        }
    }

    /// Past the bound of what may wait: either the socket takes it now, or the peer is too slow.
    fn make_room(&mut self, ctx: &mut SessionContext) {
        self.flush(ctx);
        let Some(outbox) = &mut self.outbox else { return };
        if outbox.bytes() > ctx.settings.send_buffer_bytes {
            ctx.counters.session_queue_bytes.subtract(outbox.discard() as u64);
            ctx.counters.count_limit(Limit::SendBufferBytes);
            self.close(CloseCode::TooSlow, ctx);
        }
    }

    fn flush(&mut self, ctx: &mut SessionContext) {
        let Some(outbox) = &mut self.outbox else { return };
        match outbox.flush(&mut self.socket) {
            Ok(flushed) => {
                ctx.counters.session_queue_bytes.subtract(flushed.bytes as u64);
                ctx.notifications += flushed.notifications;
            }
            Err(_) => return ctx.stop(),
        }
        if outbox.is_empty() {
            ctx.keep_spare(self.outbox.take());
            self.on_all_written(ctx);
        }
    }

    fn on_all_written(&mut self, ctx: &mut SessionContext) {
        match self.phase {
            Phase::Open | Phase::AwaitingClose => {}
            // The peer reads our close frame before it learns that nobody listens: no reset destroys it.
            Phase::Discarding => drop(self.socket.shutdown(Shutdown::Write)),
            Phase::Finishing => ctx.stop(),
        }
    }

    fn read(&mut self, is_read_closed: bool, ctx: &mut SessionContext) {
        let mut scratch = std::mem::take(&mut ctx.scratch);
        for _ in 0..READS_A_TURN {
            match self.socket.read(&mut scratch) {
                Ok(0) => {
                    ctx.stop();
                    break;
                }
                Ok(count) => {
                    self.on_bytes(&mut scratch[..count], ctx);
                    // A short read has emptied the socket (epoll(7), question 9), unless its end is still to be read.
                    if ctx.state() != ActorState::Running || (count < scratch.len() && !is_read_closed) {
                        ctx.scratch = scratch;
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ctx.scratch = scratch;
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    ctx.stop();
                    break;
                }
            }
        }
        ctx.scratch = scratch;
        if ctx.state() == ActorState::Running {
            ctx.unread.push((self.reference, is_read_closed));
        }
    }

    fn on_bytes(&mut self, bytes: &mut [u8], ctx: &mut SessionContext) {
        self.last_heard = ctx.now;
        if self.phase == Phase::Discarding {
            return;
        }
        let mut reader = std::mem::take(&mut self.reader);
        let result = reader.feed(bytes, ctx.settings.message_bytes, &mut |event| self.on_event(event, ctx));
        self.reader = reader;
        if let Err(error) = result {
            if error.close_code() == CloseCode::TooBig {
                ctx.counters.count_limit(Limit::MessageBytes);
            }
            match self.phase {
                Phase::Open => self.close(error.close_code(), ctx),
                // The peer lost the thread after our goodbye: there is no other one to wait for.
                _ => self.enter(Phase::Discarding, ctx),
            }
        }
    }

    fn on_event(&mut self, event: Event<'_>, ctx: &mut SessionContext) -> ControlFlow<()> {
        if let Event::Close(close) = event {
            self.on_peer_close(close, ctx);
            return ControlFlow::Break(());
        }
        if self.phase != Phase::Open {
            return ControlFlow::Continue(());
        }
        if !self.is_within_rate(ctx) {
            ctx.counters.count_limit(Limit::MessagesPerSecond);
            self.close(CloseCode::TooManyMessages, ctx);
            return ControlFlow::Break(());
        }
        match event {
            Event::Ping(payload) => self.queue(frame::pong_frame(payload), ctx),
            Event::Pong(_) | Event::Close(_) => {}
            Event::Text(_) | Event::Binary(_) => {
                let on_message = ctx.settings.conduct.on_message;
                on_message(self, event, ctx);
            }
        }
        if self.phase == Phase::Discarding { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn on_peer_close(&mut self, close: Option<frame::Close<'_>>, ctx: &mut SessionContext) {
        if self.phase == Phase::Open {
            let code = close.map_or(CloseCode::Normal.as_u16(), |close| close.code);
            let ours = CloseCode::ALL.into_iter().find(|ours| ours.as_u16() == code);
            self.ending = Some(ours.map_or(Ending::OtherCode, Ending::Code));
            self.release_subscriptions(ctx);
            self.phase = Phase::Finishing;
            let echo = close.map_or(Bytes::from_static(EMPTY_CLOSE), |close| frame::close_frame(close.code, ""));
            self.push(echo, false, ctx);
            ctx.closing.push(self.reference);
        } else {
            self.enter(Phase::Finishing, ctx);
        }
    }

    fn enter(&mut self, phase: Phase, ctx: &mut SessionContext) {
        self.phase = phase;
        if self.outbox.is_none() {
            self.on_all_written(ctx);
        }
    }

    fn is_within_rate(&mut self, ctx: &SessionContext) -> bool {
        if self.window_started != ctx.now {
            self.window_started = ctx.now;
            self.messages_in_window = 0;
        }
        self.messages_in_window += 1;
        self.messages_in_window <= ctx.settings.messages_per_second
    }

    fn release_subscriptions(&mut self, ctx: &mut SessionContext) {
        let ids = self.subscriptions.take_all();
        if !ids.is_empty() {
            ctx.requests.push(Request::Unsubscribe { session: self.reference, ids, answer: None });
        }
    }
}

impl Handler<Open> for Session {
    type Result = ();

    fn handle(&mut self, message: Open, ctx: &mut SessionContext) {
        self.queue(message.head, ctx);
        match message.refusal {
            None => (ctx.settings.conduct.on_open)(self, ctx),
            Some(reason) => {
                self.queue(reason, ctx);
                self.close(CloseCode::TokenRefused, ctx);
            }
        }
    }
}

impl Handler<Readable> for Session {
    type Result = ();

    fn handle(&mut self, message: Readable, ctx: &mut SessionContext) {
        self.read(message.is_read_closed, ctx);
    }
}

impl Handler<Feed<'_>> for Session {
    type Result = ();

    fn handle(&mut self, message: Feed<'_>, ctx: &mut SessionContext) {
        self.on_bytes(message.0, ctx);
    }
}

impl Handler<Flush> for Session {
    type Result = ();

    fn handle(&mut self, _: Flush, ctx: &mut SessionContext) {
        self.flush(ctx);
    }
}

impl Handler<Deliver> for Session {
    type Result = ();

    fn handle(&mut self, message: Deliver, ctx: &mut SessionContext) {
        if self.phase == Phase::Open {
            self.push(message.0, true, ctx);
        }
    }
}

impl Handler<CheckLiveness> for Session {
    type Result = ();

    fn handle(&mut self, message: CheckLiveness, ctx: &mut SessionContext) {
        if self.phase != Phase::Open {
            return;
        }
        let silent_seconds = ctx.now.saturating_sub(self.last_heard);
        // Two and a half intervals, rounded up.
        if silent_seconds >= (ctx.settings.ping_seconds * 5).div_ceil(2) {
            self.close(CloseCode::SilentTooLong, ctx);
        } else if message.sends_ping {
            self.queue(ctx.ping_frame.clone(), ctx);
        }
    }
}

impl Handler<Close> for Session {
    type Result = ();

    fn handle(&mut self, message: Close, ctx: &mut SessionContext) {
        self.close(message.0, ctx);
    }
}
