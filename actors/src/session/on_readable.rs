//! What a session does with bytes that came: read them, make events of them, hand on the messages.

use super::life_log::ClosedBy;
use super::{Phase, Session, SessionContext};
use crate::counters::{CloseCause, Limit};
use crate::protocol::codes::CloseCode;
use crate::protocol::frame::{self, Event};
use actix::prelude::*;
use bytes::Bytes;
use std::io::{self, Read as _};
use std::ops::ControlFlow;

/// Reads of one session in one turn of its hub: a flood waits for the others' turn.
const READS_A_TURN: usize = 4;

/// A close frame without a code (RFC 6455 §5.5.1): the answer to one without.
const EMPTY_CLOSE: &[u8] = &[0x88, 0];

/// The socket can be read, and whether the peer has ended its side.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Readable {
    pub is_read_closed: bool,
}

/// The turn has come for what an earlier one left unread.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ReadOn;

/// Bytes that came before the session had its socket.
pub struct Feed<'a>(pub &'a mut [u8]);

impl Message for Feed<'_> {
    type Result = ();
}

impl Handler<Readable> for Session {
    type Result = ();

    fn handle(&mut self, message: Readable, ctx: &mut SessionContext) {
        if !self.is_unread {
            self.read(message.is_read_closed, ctx);
        }
    }
}

impl Handler<ReadOn> for Session {
    type Result = ();

    fn handle(&mut self, _: ReadOn, ctx: &mut SessionContext) {
        self.is_unread = false;
        // Until the socket is empty: what its readiness said is of an earlier turn.
        self.read(true, ctx);
    }
}

impl Handler<Feed<'_>> for Session {
    type Result = ();

    fn handle(&mut self, message: Feed<'_>, ctx: &mut SessionContext) {
        self.on_bytes(message.0, ctx);
    }
}

impl Session {
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
        if ctx.state() == ActorState::Running && !self.is_unread {
            self.is_unread = true;
            ctx.unread.push(self.reference);
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
            let by = if error.close_code() == CloseCode::TooBig {
                ctx.counters.count_limit(Limit::MessageBytes);
                ClosedBy::Limit(Limit::MessageBytes)
            } else {
                ClosedBy::ProtocolError
            };
            match self.phase {
                Phase::Open => self.close(error.close_code(), by, ctx),
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
            self.ending = Some(ours.map_or(CloseCause::OtherCode, CloseCause::Code));
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
