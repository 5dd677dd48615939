//! One client's WebSocket: its protocol state, the ids of its subscriptions, and its unsent frames.
//!
//! A [`Session`] is an actor whose context is shared: the hub of its worker calls its handlers. So an idle session has
//! no task, mailbox, timer or buffer. It does not know the bus, the catalogue, Redis or HTTP. `on_client_message.rs`
//! answers the client's messages, and `outbox.rs` holds the unsent frames.

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
pub(crate) use on_readable::{ContinueReading, EarlyBytes, Readable};
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

/// The code of an end without a close frame (RFC 6455 §7.1.5). It is never sent.
const ABNORMAL_CLOSE: u16 = 1006;

/// A session's share of the node's limits, released when it is dropped: its count, and its permits for the limits of
/// users and addresses, if they are set.
pub struct ConnectionSlot {
    pub counted: CountedSession,
    pub limit_slots: Option<Box<dyn Any + Send>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// We sent a close frame and wait for the peer's (RFC 6455 §7.1.2).
    AwaitingClose,
    /// We sent a close frame after a violation. Everything that the peer sends is discarded until it disconnects.
    Discarding,
    /// Both sides sent a close frame. The connection ends after the last byte is written.
    Finishing,
}

/// One client's session.
pub struct Session {
    reference: SessionRef,
    socket: TcpStream,
    phase: Phase,
    close_cause: Option<CloseCause>,
    reader: FrameReader,
    outbox: Option<Box<Outbox>>,
    subscriptions: Subscriptions,
    grant: Grant,
    /// When the hub's expiry queue checks this session, in Unix seconds.
    due_at: u64,
    /// When bytes were last received, by the hub's clock.
    last_received: u32,
    window_started: u32,
    messages_in_window: u32,
    /// Processor time of the REGISTERs in the window, in microseconds.
    register_time: u32,
    /// Whether its tokens were refused at the handshake.
    is_unauthenticated: bool,
    /// Whether it is on the hub's list of sessions with more to read.
    has_unread: bool,
    /// Whether it is on the hub's list of write deadlines.
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
        if self.close_cause.is_none() {
            self.log_close(ABNORMAL_CLOSE, "the connection ended without a close frame", &ClosedBy::Peer, ctx);
        }
        ctx.identities.remove(&self.reference);
        ctx.counters.count_close(self.close_cause.unwrap_or(CloseCause::Abrupt));
        self.limit_linger(ctx.settings.close_seconds);
    }
}

/// Starts the session: sends the rest of the handshake, then a greeting or the reason of a refusal.
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
    /// The number of notifications in them.
    pub notifications: u32,
    /// The number of the publication.
    pub publication: u64,
}

/// Sends a ping if it is due, and closes a session whose peer is silent.
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

/// Sends the reason why its tokens are no longer valid, then closes with 4401.
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
            close_cause: None,
            reader: FrameReader::default(),
            outbox: None,
            subscriptions: Subscriptions::default(),
            grant,
            due_at: u64::MAX,
            last_received: now,
            window_started: now,
            messages_in_window: 0,
            register_time: 0,
            is_unauthenticated: false,
            has_unread: false,
            has_write_deadline: false,
            _connection_slot: connection_slot,
        }
    }

    /// The session's address in the node.
    pub fn reference(&self) -> SessionRef {
        self.reference
    }

    /// Whether no close frame was sent or received.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// The grant of its tokens.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Returns when the session expires, in Unix seconds. The caller checks the session then.
    pub fn schedule_expiry(&mut self) -> u64 {
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
        self.close_cause = Some(CloseCause::Code(code));
        self.log_close(code.as_u16(), code.reason(), &by, ctx);
        self.release_subscriptions(ctx);
        self.push(frame::close_frame(code.as_u16(), code.reason()), ctx);
        // A client without valid tokens keeps its connection slot only for the time to read the reason.
        let seconds = ctx.settings.close_seconds;
        ctx.closing.push((self.reference, if self.is_unauthenticated { seconds.min(1) } else { seconds }));
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
        let silent_seconds = ctx.now.saturating_sub(self.last_received);
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
