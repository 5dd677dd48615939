//! One client's WebSocket: its protocol state, its subscriptions' ids, what it could not write yet.
//!
//! A [`Session`] is an actor whose context lives on the stack: the hub of its worker calls its handlers, so that an
//! idle session has no task, mailbox, timer or buffer. It never knows the bus, the catalogue, Redis or HTTP. Messages
//! of a client are answered in `on_client_message.rs`; what could not be written waits in `outbox.rs`.

mod context;
mod grant;
pub mod life_log;
mod linger;
mod on_client_message;
mod on_readable;
mod on_registry_answer;
mod on_writable;
mod outbox;
pub mod request;
mod subscriptions;

pub use context::{RefreshRequest, RefreshResult, Refreshed, SessionContext, SessionHandlers, SessionSettings};
pub use grant::{ApiGrant, Grant, UserGrant};
pub use on_client_message::{on_client_message, on_open};
pub(crate) use on_readable::{Feed, ReadOn, Readable};
pub(crate) use on_registry_answer::{
    Refused, RegisterAnswered, Subscribed, TokensVerified, Unsubscribed, release_orphans,
};
pub(crate) use on_writable::{CheckWriteProgress, Flush};
pub use outbox::Outbox;

use crate::counters::{CloseCause, CountedSession};
use crate::ids::SessionRef;
use crate::protocol::codes::CloseCode;
use crate::protocol::frame::{self, FrameReader, OutgoingFrame};
use actix::prelude::*;
use bytes::Bytes;
use life_log::ClosedBy;
use mio::net::TcpStream;
use request::Request;
use std::any::Any;
use subscriptions::Subscriptions;

/// What stands for an end without a close frame (RFC 6455 §7.1.5).
const ABNORMAL_CLOSE: u16 = 1006;

/// What a session holds of the node, given back when it ends: its count, and limit_slots under limits where there are
/// any.
pub struct ConnectionSlot {
    pub counted: CountedSession,
    pub limit_slots: Option<Box<dyn Any + Send>>,
}

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
    ending: Option<CloseCause>,
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
    /// Time of a processor that REGISTERs took in the window, in microseconds.
    register_time: u32,
    /// Whether its tokens were refused.
    is_unauthenticated: bool,
    /// Whether the hub has it on its list of sessions with more to read.
    is_unread: bool,
    /// Whether the hub has it on its list of sessions with a write timeout.
    has_write_deadline: bool,
    _connection_slot: ConnectionSlot,
}

impl Actor for Session {
    type Context = SessionContext;

    fn stopped(&mut self, ctx: &mut SessionContext) {
        self.release_subscriptions(ctx);
        if let Some(mut outbox) = self.outbox.take() {
            let released = outbox.release();
            ctx.account(released);
        }
        if self.ending.is_none() {
            self.log_close(ABNORMAL_CLOSE, "the connection ended without a close frame", &ClosedBy::Peer, ctx);
        }
        ctx.identities.remove(&self.reference);
        ctx.counters.count_close(self.ending.unwrap_or(CloseCause::Abrupt));
        self.limit_linger(ctx.settings.close_seconds);
    }
}

/// The first thing that a session says: what is left of the handshake, then a greeting or why it is refused.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Open {
    pub head: Bytes,
    pub refusal: Option<Bytes>,
}

/// Queues whole frames of an emit.
#[derive(Clone, Message)]
#[rtype(result = "()")]
pub struct Deliver {
    pub frames: OutgoingFrame,
    /// How many of them are notifications.
    pub notifications: u32,
    /// The number of the publication.
    pub publication: u64,
}

/// Asks for a sign of life, and ends a session that gave none.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CheckLiveness {
    pub sends_ping: bool,
}

/// Closes the session with `code`.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Close {
    pub code: CloseCode,
    pub by: ClosedBy,
}

/// Says why its tokens are not good any more, then goodbye with 4401.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Revoke(pub Bytes);

impl Session {
    /// A session on a socket whose handshake is done.
    pub fn new(
        reference: SessionRef,
        socket: TcpStream,
        grant: Grant,
        connection_slot: ConnectionSlot,
        now: u32,
    ) -> Session {
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
            register_time: 0,
            is_unauthenticated: false,
            is_unread: false,
            has_write_deadline: false,
            _connection_slot: connection_slot,
        }
    }

    /// Who this is.
    pub fn reference(&self) -> SessionRef {
        self.reference
    }

    /// Whether no close frame was sent or received yet.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// What its tokens said.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// When the session ends, in Unix seconds; the caller has its expiry queue look again then.
    pub fn note_end(&mut self) -> u64 {
        self.due_at = self.grant.expires_at();
        self.due_at
    }

    /// Queues a frame that is not a notification.
    pub fn queue(&mut self, frame: Bytes, ctx: &mut SessionContext) {
        if self.phase == Phase::Open {
            self.push(frame, ctx);
        }
    }

    /// Closes with `code`. Nothing is delivered after it.
    pub fn close(&mut self, code: CloseCode, by: ClosedBy, ctx: &mut SessionContext) {
        if self.phase != Phase::Open {
            return;
        }
        self.phase = match code {
            CloseCode::Normal
            | CloseCode::GoingAway
            | CloseCode::TokenRefused
            | CloseCode::Disconnected
            | CloseCode::SilentTooLong => Phase::AwaitingClose,
            _ => Phase::Discarding,
        };
        self.ending = Some(CloseCause::Code(code));
        self.log_close(code.as_u16(), code.reason(), &by, ctx);
        self.release_subscriptions(ctx);
        self.push(frame::close_frame(code.as_u16(), code.reason()), ctx);
        // A stranger holds a connection_slot of the node no longer than it takes to read why it was refused.
        let patience = ctx.settings.close_seconds;
        ctx.closing.push((self.reference, if self.is_unauthenticated { patience.min(1) } else { patience }));
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
            None => (ctx.settings.handlers.on_open)(self, ctx),
            Some(reason) => {
                self.is_unauthenticated = true;
                self.queue(reason, ctx);
                self.close(CloseCode::TokenRefused, ClosedBy::RefusedTokens, ctx);
            }
        }
    }
}

impl Handler<Deliver> for Session {
    type Result = ();

    fn handle(&mut self, message: Deliver, ctx: &mut SessionContext) {
        if self.phase == Phase::Open {
            self.push_delivery(message, ctx);
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
            self.close(CloseCode::SilentTooLong, ClosedBy::Silence, ctx);
        } else if message.sends_ping {
            self.queue(ctx.ping_frame.clone(), ctx);
        }
    }
}

impl Handler<Close> for Session {
    type Result = ();

    fn handle(&mut self, message: Close, ctx: &mut SessionContext) {
        self.close(message.code, message.by, ctx);
    }
}

impl Handler<Revoke> for Session {
    type Result = ();

    fn handle(&mut self, message: Revoke, ctx: &mut SessionContext) {
        self.queue(message.0, ctx);
        self.close(CloseCode::TokenRefused, ClosedBy::RevokedKey, ctx);
    }
}
