//! Writes queued frames to the socket at the end of a turn, and closes the session if the peer reads too slowly.

use super::life_log::ClosedBy;
use super::outbox::{Flushed, Released};
use super::{Deliver, Phase, Session, SessionContext};
use crate::counters::Limit;
use crate::protocol::codes::CloseCode;
use crate::protocol::frame::OutgoingFrame;
use actix::prelude::*;
use bytes::Bytes;
use std::net::Shutdown;

/// Writes queued frames until the socket accepts no more.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Flush;

impl Handler<Flush> for Session {
    type Result = ();

    fn handle(&mut self, _: Flush, ctx: &mut SessionContext) {
        self.flush(ctx);
    }
}

/// Closes the session if its socket accepted nothing for `write_timeout_seconds`.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CheckWriteProgress;

impl Handler<CheckWriteProgress> for Session {
    type Result = ();

    fn handle(&mut self, _: CheckWriteProgress, ctx: &mut SessionContext) {
        self.has_write_deadline = false;
        let (Phase::Open, Some(outbox)) = (self.phase, &self.outbox) else { return };
        if ctx.now.saturating_sub(outbox.progress_at()) >= ctx.settings.write_timeout_seconds {
            self.close_too_slow(Limit::WriteTimeoutSeconds, ctx);
        } else {
            self.set_write_deadline(ctx);
        }
    }
}

impl Session {
    /// Queues frames that belong to no emit.
    pub(super) fn push(&mut self, frames: Bytes, ctx: &mut SessionContext) {
        self.push_frames(frames.into(), 0, None, ctx);
    }

    /// Queues frames of an emit.
    pub(super) fn push_delivery(&mut self, message: Deliver, ctx: &mut SessionContext) {
        let Deliver { frames, notifications, publication } = message;
        self.push_frames(frames, notifications, Some(publication), ctx);
    }

    fn push_frames(
        &mut self,
        frames: OutgoingFrame,
        notifications: u32,
        publication: Option<u64>,
        ctx: &mut SessionContext,
    ) {
        ctx.counters.session_queue_bytes.add(frames.wire_bytes() as u64);
        let outbox = self.outbox.get_or_insert_with(|| {
            ctx.dirty.push_back(self.reference.slot);
            let mut outbox = ctx.spare_outboxes.pop().unwrap_or_default();
            outbox.note_progress(ctx.now);
            outbox
        });
        outbox.push(frames, notifications, publication);
        if self.phase == Phase::Open && outbox.memory() > ctx.settings.send_buffer_bytes {
            self.limit_backlog(publication, ctx);
        }
    }

    /// The backlog exceeds the session's bound. The frames of one emit may do so, within the node's bound for all such
    /// bursts. Anything more closes the session.
    fn limit_backlog(&mut self, publication: Option<u64>, ctx: &mut SessionContext) {
        let bound = ctx.settings.send_buffer_bytes;
        if !self.has_blocked_socket() && !self.is_past(bound, ctx) {
            return;
        }
        let Some(outbox) = &mut self.outbox else { return };
        let growth = publication.and_then(|publication| outbox.extend_burst(publication));
        if let Some(growth) = growth {
            let node = ctx.counters.session_burst_bytes.add(growth as u64);
            if node <= ctx.settings.burst_bytes as u64 {
                return;
            }
        } else if outbox.memory_without_burst() <= bound || !self.is_past(bound, ctx) {
            return;
        }
        self.close_too_slow(Limit::SendBufferBytes, ctx);
    }

    fn has_blocked_socket(&self) -> bool {
        self.outbox.as_ref().is_some_and(|outbox| outbox.is_blocked())
    }

    /// Whether the backlog stays past the bound after another attempt to write it.
    fn is_past(&mut self, bound: usize, ctx: &mut SessionContext) -> bool {
        self.flush(ctx);
        ctx.state() == ActorState::Running
            && self.outbox.as_ref().is_some_and(|outbox| outbox.memory_without_burst() > bound)
    }

    fn close_too_slow(&mut self, limit: Limit, ctx: &mut SessionContext) {
        if let Some(outbox) = &mut self.outbox {
            let released = outbox.discard();
            ctx.account(released);
        }
        ctx.counters.count_limit(limit);
        self.close(CloseCode::TooSlow, ClosedBy::Limit(limit), ctx);
    }

    fn flush(&mut self, ctx: &mut SessionContext) {
        let Some(outbox) = &mut self.outbox else { return };
        let mut flushed = Flushed::default();
        let result = outbox.flush(&mut self.socket, &mut flushed);
        let burst_bytes = outbox.shrink_burst(ctx.settings.send_buffer_bytes);
        ctx.account(Released { wire_bytes: flushed.bytes, burst_bytes });
        ctx.notifications += flushed.notifications;
        if result.is_err() {
            return ctx.stop();
        }
        if flushed.bytes > 0 {
            outbox.note_progress(ctx.now);
        }
        if outbox.is_empty() {
            ctx.keep_spare(self.outbox.take());
            self.on_all_written(ctx);
        } else if !self.has_write_deadline && self.phase == Phase::Open {
            self.set_write_deadline(ctx);
        }
    }

    fn set_write_deadline(&mut self, ctx: &mut SessionContext) {
        let Some(outbox) = &self.outbox else { return };
        self.has_write_deadline = true;
        let deadline = outbox.progress_at().saturating_add(ctx.settings.write_timeout_seconds);
        ctx.write_deadlines.push((self.reference, deadline));
    }

    pub(super) fn on_all_written(&mut self, ctx: &mut SessionContext) {
        match self.phase {
            Phase::Open | Phase::AwaitingClose => {}
            // The peer reads our close frame before the end of the stream. A reset would destroy the frame.
            Phase::Discarding => drop(self.socket.shutdown(Shutdown::Write)),
            Phase::Finishing => ctx.stop(),
        }
    }
}
