//! The messages between hubs and the registry.

use super::SessionHub;
use crate::backpressure::{FanOutPermit, QueuePermit};
use crate::ids::SessionRef;
use crate::protocol::frame::OutgoingFrame;
use crate::session::request::{PendingAnswer, PendingUnregister, Request, SubscribeResult};
use actix::prelude::*;

/// A worker's hub has started. To the registry.
#[derive(Message)]
#[rtype(result = "()")]
pub struct HubStarted {
    pub worker: u16,
    pub hub: Addr<SessionHub>,
}

/// Requests of one worker's sessions, in order. To the registry.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Requests {
    pub worker: u16,
    pub requests: Vec<Request>,
}

/// The registry's answer to one session.
pub enum Answer {
    Subscribed { session: SessionRef, results: Vec<SubscribeResult>, answer: PendingAnswer },
    Unsubscribed { session: SessionRef, answer: Box<PendingUnregister> },
}

/// Answers for sessions of one worker. To its hub.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Answers(pub Vec<Answer>);

/// One frame and the sessions of a worker that receive it.
pub struct TargetedFrame {
    pub frame: OutgoingFrame,
    pub sessions: Vec<SessionRef>,
    /// The notifications in the frame: one, or none.
    pub notifications: u32,
}

impl TargetedFrame {
    /// The approximate bytes that it takes in flight. The permit of the queue covers shared event data.
    pub fn bytes(&self) -> usize {
        self.frame.head.len() + self.sessions.len() * size_of::<SessionRef>()
    }
}

/// Frames to deliver, in order. To a hub. Both permits are held until the sessions have the frames.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Dispatch {
    /// The number of the publication. All frames of one have the same.
    pub publication: u64,
    pub frames: Vec<TargetedFrame>,
    pub queue_permit: QueuePermit,
    pub fan_out_permit: FanOutPermit,
}
