//! What a session says: frames that wait for the end of the turn, and what becomes of them when the peer reads too slowly.

use super::outbox::Flushed;
use super::{Phase, Session, SessionContext};
use crate::counters::Limit;
use crate::protocol::codes::CloseCode;
use actix::prelude::*;
use bytes::Bytes;
use std::net::Shutdown;

/// Writes what waits, as far as the socket takes it.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Flush;

impl Handler<Flush> for Session {
    type Result = ();

    fn handle(&mut self, _: Flush, ctx: &mut SessionContext) {
        self.flush(ctx);
    }
}

impl Session {
    pub(super) fn push(&mut self, frames: Bytes, notifications: u32, ctx: &mut SessionContext) {
        ctx.counters.session_queue_bytes.add(frames.len() as u64);
        let outbox = self.outbox.get_or_insert_with(|| {
            ctx.dirty.push_back(self.reference.slot);
            ctx.spare_outboxes.pop().unwrap_or_default()
        });
        outbox.push(frames, notifications);
        if self.phase == Phase::Open && outbox.bytes() > ctx.settings.send_buffer_bytes {
            self.make_room(ctx);
        }
    }

    /// Past the bound of what may wait: either the socket takes it now, or the peer is too slow.
    fn make_room(&mut self, ctx: &mut SessionContext) {
        self.flush(ctx);
        if ctx.state() != ActorState::Running {
            return;
        }
        let Some(outbox) = &mut self.outbox else { return };
        if outbox.bytes() > ctx.settings.send_buffer_bytes {
            ctx.counters.session_queue_bytes.subtract(outbox.discard() as u64);
            ctx.counters.count_limit(Limit::SendBufferBytes);
            self.close(CloseCode::TooSlow, ctx);
        }
    }

    fn flush(&mut self, ctx: &mut SessionContext) {
        let Some(outbox) = &mut self.outbox else { return };
        let mut flushed = Flushed::default();
        let result = outbox.flush(&mut self.socket, &mut flushed);
        ctx.counters.session_queue_bytes.subtract(flushed.bytes as u64);
        ctx.notifications += flushed.notifications;
        if result.is_err() {
            return ctx.stop();
        }
        if outbox.is_empty() {
            ctx.keep_spare(self.outbox.take());
            self.on_all_written(ctx);
        }
    }

    pub(super) fn on_all_written(&mut self, ctx: &mut SessionContext) {
        match self.phase {
            Phase::Open | Phase::AwaitingClose => {}
            // The peer reads our close frame before it learns that nobody listens: no reset destroys it.
            Phase::Discarding => drop(self.socket.shutdown(Shutdown::Write)),
            Phase::Finishing => ctx.stop(),
        }
    }
}
