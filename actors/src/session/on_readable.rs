//! Reads bytes from the socket, parses them into events, and passes messages to the handler.

use super::life_log::ClosedBy;
use super::{Phase, Session, SessionContext};
use crate::counters::{CloseCause, Limit};
use crate::protocol::codes::CloseCode;
use crate::protocol::frame::{self, Event};
use actix::prelude::*;
use bytes::Bytes;
use std::io::{self, Read as _};
use std::ops::ControlFlow;

/// Maximum number of reads of one session per turn of its hub. A flood waits for the other sessions.
const READS_PER_TURN: usize = 4;

/// A close frame without a code (RFC 6455 §5.5.1). It answers a close frame without a code.
const EMPTY_CLOSE: &[u8] = &[0x88, 0];

/// The socket is readable.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Readable {
    /// Whether the peer closed its side.
    pub is_read_closed: bool,
}

/// Reads what an earlier turn left in the socket.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ContinueReading;

/// Bytes that arrived before the session had its socket.
pub struct EarlyBytes<'a>(pub &'a mut [u8]);

impl Message for EarlyBytes<'_> {
    type Result = ();
}

impl Handler<Readable> for Session {
    type Result = ();

    fn handle(&mut self, message: Readable, ctx: &mut SessionContext) {
        if !self.has_unread {
            self.read(message.is_read_closed, ctx);
        }
    }
}

impl Handler<ContinueReading> for Session {
    type Result = ();

    fn handle(&mut self, _: ContinueReading, ctx: &mut SessionContext) {
        self.has_unread = false;
        // Read until the socket is empty, because its readiness was reported in an earlier turn.
        self.read(true, ctx);
    }
}

impl Handler<EarlyBytes<'_>> for Session {
    type Result = ();

    fn handle(&mut self, message: EarlyBytes<'_>, ctx: &mut SessionContext) {
        self.on_bytes(message.0, ctx);
    }
}

impl Session {
    fn read(&mut self, is_read_closed: bool, ctx: &mut SessionContext) {
        let mut scratch = std::mem::take(&mut ctx.scratch);
        for _ in 0..READS_PER_TURN {
            match self.socket.read(&mut scratch) {
                Ok(0) => {
                    ctx.stop();
                    break;
                }
                Ok(count) => {
                    self.on_bytes(&mut scratch[..count], ctx);
                    // A short read empties the socket (epoll(7), question 9), unless the end is still to be read.
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
        if ctx.state() == ActorState::Running && !self.has_unread {
            self.has_unread = true;
            ctx.unread.push(self.reference);
        }
    }

    fn on_bytes(&mut self, bytes: &mut [u8], ctx: &mut SessionContext) {
        self.last_received = ctx.now;
        if self.phase == Phase::Discarding {
            return;
        }
        let mut reader = std::mem::take(&mut self.reader);
        let result = reader.feed(bytes, ctx.settings.message_bytes, &mut |event| self.on_event(event, ctx));
        self.reader = reader;
        if let Err(error) = result {
            let by = if error.close_code() == CloseCode::TooBig {
                ctx.counters.count_limit(Limit::MessageBytes);
                ClosedBy::Limit(Limit::MessageBytes)
            } else {
                ClosedBy::ProtocolError
            };
            match self.phase {
                Phase::Open => self.close(error.close_code(), by, ctx),
                // The peer broke the protocol after our close frame, so its close frame will not come.
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
            self.close(CloseCode::TooManyMessages, ClosedBy::Limit(Limit::MessagesPerSecond), ctx);
            return ControlFlow::Break(());
        }
        match event {
            Event::Ping(payload) => self.queue(frame::pong_frame(payload), ctx),
            Event::Pong(_) | Event::Close(_) => {}
            Event::Text(_) | Event::Binary(_) => {
                let on_message = ctx.settings.handlers.on_message;
                on_message(self, event, ctx);
            }
        }
        if self.phase == Phase::Discarding { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn on_peer_close(&mut self, close: Option<frame::Close<'_>>, ctx: &mut SessionContext) {
        if self.phase == Phase::Open {
            let code = close.map_or(CloseCode::Normal.as_u16(), |close| close.code);
            let ours = CloseCode::ALL.into_iter().find(|ours| ours.as_u16() == code);
            self.close_cause = Some(ours.map_or(CloseCause::OtherCode, CloseCause::Code));
            self.log_close(code, "", &ClosedBy::Peer, ctx);
            self.release_subscriptions(ctx);
            self.phase = Phase::Finishing;
            let echo = close.map_or(Bytes::from_static(EMPTY_CLOSE), |close| frame::close_frame(close.code, ""));
            self.push(echo, ctx);
            ctx.closing.push((self.reference, ctx.settings.close_seconds));
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
            self.register_time = 0;
        }
        self.messages_in_window += 1;
        self.messages_in_window <= ctx.settings.messages_per_second
    }
}
