//! The context of a session's handlers: the hub's clock, settings and scratch buffer, and lists of what the hub does
//! after the turn. One context serves all sessions of a worker in turn.

use super::life_log::ClientIdentity;
use super::outbox::Released;
use super::request::Request;
use super::{ApiGrant, Outbox, Session, UserGrant};
use crate::counters::Counters;
use crate::fingerprint::Fingerprint;
use crate::ids::SessionRef;
use crate::protocol::frame::{self, Event};
use crate::protocol::messages::ErrorBody;
use actix::{ActorContext, ActorState};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Size of the read buffer, which all sessions of a worker share.
const SCRATCH_BYTES: usize = 64 * 1024;

/// Maximum number of spare outboxes: as many as a usual turn writes to.
const SPARE_OUTBOXES: usize = 256;

/// The handlers of sessions. The broker uses `on_open` and `on_client_message`. The echo example has its own.
#[derive(Clone, Copy)]
pub struct SessionHandlers {
    pub on_open: fn(&mut Session, &mut SessionContext),
    /// Called for text and binary messages only.
    pub on_message: fn(&mut Session, Event<'_>, &mut SessionContext),
}

/// The settings of a node's sessions.
#[derive(Clone)]
pub struct SessionSettings {
    pub handlers: SessionHandlers,
    /// The node's name, as clients see it.
    pub node: Arc<str>,
    /// Interval of pings. With 0 there are none, and silent peers are not closed.
    pub ping_seconds: u32,
    /// Maximum time for the peer's answer to our close frame.
    pub close_seconds: u32,
    /// Maximum memory of the unsent frames of a session. One emit may exceed it.
    pub send_buffer_bytes: usize,
    /// Maximum memory of emits that exceed `send_buffer_bytes`, for all sessions of the node together.
    pub burst_bytes: usize,
    /// Maximum time without progress while frames wait for the socket.
    pub write_timeout_seconds: u32,
    /// Maximum size of a client's message.
    pub message_bytes: usize,
    pub messages_per_second: u32,
    /// Maximum processor time of a session's REGISTERs per second.
    pub register_milliseconds: u32,
    /// Maximum number of subscriptions of a session.
    pub subscriptions: usize,
}

/// New tokens of a session, for the authorizer. Not `Debug`, because it holds tokens.
pub struct RefreshRequest {
    pub session: SessionRef,
    pub guid: Option<Box<str>>,
    pub project: Arc<str>,
    pub user: Fingerprint,
    pub api: Option<Box<str>>,
    pub user_token: Option<Box<str>>,
}

/// The grants of the new tokens, for each token that was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    pub api: Option<ApiGrant>,
    pub user: Option<UserGrant>,
}

/// The result of a [`RefreshRequest`].
pub type RefreshResult = Result<Refreshed, ErrorBody>;

/// The context of the sessions of one hub.
pub struct SessionContext {
    state: ActorState,
    /// Seconds since the hub started.
    pub now: u32,
    pub settings: SessionSettings,
    pub counters: Arc<Counters>,
    /// Requests for the registry, sent after the turn.
    pub requests: Vec<Request>,
    /// Requests for the authorizer, sent after the turn.
    pub refreshes: Vec<RefreshRequest>,
    /// Sessions that may expire earlier than before.
    pub(crate) expiring: Vec<SessionRef>,
    /// Slots with output, in the order in which they got it.
    pub(crate) dirty: VecDeque<u32>,
    /// Sessions that started to close in this turn, and how many seconds the hub waits for the peer.
    pub(crate) closing: Vec<(SessionRef, u32)>,
    /// Sessions with unsent frames, and when the hub checks their progress.
    pub(crate) write_deadlines: Vec<(SessionRef, u32)>,
    /// Sessions with more to read than one turn allows, each once.
    pub(crate) unread: Vec<SessionRef>,
    /// The clients of sessions that began while the lines of sessions are logged. Otherwise empty.
    pub(crate) identities: HashMap<SessionRef, Box<ClientIdentity>>,
    /// Notifications written in this turn.
    pub(crate) notifications: u64,
    pub(crate) scratch: Box<[u8]>,
    #[expect(clippy::vec_box, reason = "sessions hold boxes, and a spare one is reused without an allocation")]
    pub(crate) spare_outboxes: Vec<Box<Outbox>>,
    pub(crate) ping_frame: Bytes,
}

impl SessionContext {
    /// A context for the sessions of one hub.
    pub fn new(settings: SessionSettings, counters: Arc<Counters>) -> SessionContext {
        SessionContext {
            state: ActorState::Running,
            now: 0,
            settings,
            counters,
            requests: Vec::new(),
            refreshes: Vec::new(),
            expiring: Vec::new(),
            dirty: VecDeque::new(),
            closing: Vec::new(),
            write_deadlines: Vec::new(),
            unread: Vec::new(),
            identities: HashMap::new(),
            notifications: 0,
            scratch: vec![0; SCRATCH_BYTES].into_boxed_slice(),
            spare_outboxes: Vec::new(),
            ping_frame: frame::ping_frame(b""),
        }
    }

    /// Prepares the context for the next session.
    pub(crate) fn prepare(&mut self) {
        self.state = ActorState::Running;
    }

    pub(crate) fn keep_spare(&mut self, outbox: Option<Box<Outbox>>) {
        if self.spare_outboxes.len() < SPARE_OUTBOXES {
            self.spare_outboxes.extend(outbox.and_then(|mut outbox| outbox.recycle().then_some(outbox)));
        }
    }

    /// Subtracts bytes that left an outbox from the counters.
    pub(crate) fn account(&self, released: Released) {
        self.counters.session_queue_bytes.subtract(released.wire_bytes as u64);
        if released.burst_bytes > 0 {
            self.counters.session_burst_bytes.subtract(released.burst_bytes as u64);
        }
    }
}

impl ActorContext for SessionContext {
    fn stop(&mut self) {
        self.state = ActorState::Stopping;
    }

    fn terminate(&mut self) {
        self.state = ActorState::Stopped;
    }

    fn state(&self) -> ActorState {
        self.state
    }
}
