//! What a session may use while its hub has it work: the hub's clock, settings and scratch, and lists of what the hub
//! is to do after the turn. One context serves all sessions of a worker, one after the other.

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

/// Bytes read from a socket at once, shared by all sessions of a worker.
const SCRATCH_BYTES: usize = 64 * 1024;

/// Outboxes kept for the next turn: as many as a usual turn writes to.
const SPARE_OUTBOXES: usize = 256;

/// What a session says when it opens and how it answers messages. The broker's is `on_open` and `on_client_message`;
/// the echo example has its own.
#[derive(Clone, Copy)]
pub struct SessionHandlers {
    pub on_open: fn(&mut Session, &mut SessionContext),
    /// Called with text and binary messages only.
    pub on_message: fn(&mut Session, Event<'_>, &mut SessionContext),
}

/// How the sessions of a node behave.
#[derive(Clone)]
pub struct SessionSettings {
    pub handlers: SessionHandlers,
    /// The node's name, as clients are told.
    pub node: Arc<str>,
    /// Seconds from ping to ping; 0: none, and silent peers stay.
    pub ping_seconds: u32,
    /// How long a peer has to answer our close frame.
    pub close_seconds: u32,
    /// Bytes of memory that the unsent frames of one session may hold. One emit may exceed it.
    pub send_buffer_bytes: usize,
    /// Bytes that all sessions of the node together may hold of emits that exceed `send_buffer_bytes`.
    pub burst_bytes: usize,
    /// How long a socket may take nothing while frames wait for it.
    pub write_timeout_seconds: u32,
    /// Bytes of one message of a client.
    pub message_bytes: usize,
    pub messages_per_second: u32,
    /// Milliseconds of a processor that one session's REGISTERs may take in a second.
    pub register_milliseconds: u32,
    /// Subscriptions of one session.
    pub subscriptions: usize,
}

/// New tokens for a session, to be checked by who knows keys. Not `Debug`: it holds tokens.
pub struct RefreshRequest {
    pub session: SessionRef,
    pub guid: Option<Box<str>>,
    pub project: Arc<str>,
    pub user: Fingerprint,
    pub api: Option<Box<str>>,
    pub user_token: Option<Box<str>>,
}

/// What new tokens are good for, those that were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    pub api: Option<ApiGrant>,
    pub user: Option<UserGrant>,
}

/// The verdict over a [`RefreshRequest`].
pub type RefreshResult = Result<Refreshed, ErrorBody>;

/// See the module.
pub struct SessionContext {
    state: ActorState,
    /// Seconds since the hub started.
    pub now: u32,
    pub settings: SessionSettings,
    pub counters: Arc<Counters>,
    /// For the registry, after the turn.
    pub requests: Vec<Request>,
    /// For the keeper of keys, after the turn.
    pub refreshes: Vec<RefreshRequest>,
    /// Sessions whose end in time may have moved forward.
    pub(crate) expiring: Vec<SessionRef>,
    /// Slots with something to write, in the order in which they came to have it.
    pub(crate) dirty: VecDeque<u32>,
    /// Sessions that said goodbye in this turn, and for how many seconds the peer is waited for.
    pub(crate) closing: Vec<(SessionRef, u32)>,
    /// Sessions whose sockets took not everything, and when the hub checks whether they took more since.
    pub(crate) write_deadlines: Vec<(SessionRef, u32)>,
    /// Sessions with more to read than their turn allows, each once.
    pub(crate) unread: Vec<SessionRef>,
    /// The clients of the sessions that began while their lines are logged. Empty otherwise.
    pub(crate) identities: HashMap<SessionRef, Box<ClientIdentity>>,
    /// Notifications written in this turn.
    pub(crate) notifications: u64,
    pub(crate) scratch: Box<[u8]>,
    #[expect(clippy::vec_box, reason = "sessions hold boxes: a spare one moves in without an allocation")]
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

    /// Makes the context ready for the next session.
    pub(crate) fn begin(&mut self) {
        self.state = ActorState::Running;
    }

    pub(crate) fn keep_spare(&mut self, outbox: Option<Box<Outbox>>) {
        if self.spare_outboxes.len() < SPARE_OUTBOXES {
            self.spare_outboxes.extend(outbox.and_then(|mut outbox| outbox.recycle().then_some(outbox)));
        }
    }

    /// Counts what left an outbox.
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
