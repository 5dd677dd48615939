//! A hub with sockets, but without a registry, for the tests of this folder.

use super::messages::{Answer, Requests};
use super::{Adopt, Authorizer, EventsRequest, HandshakeOutcome, SessionHub};
use crate::counters::{CountedSession, Counters};
use crate::ids::SessionRef;
use crate::protocol::messages::ErrorBody;
use crate::session::request::PendingUnregister;
use crate::session::{
    ConnectionSlot, Grant, RefreshRequest, RefreshResult, SessionContext, SessionHandlers, SessionSettings,
};
use actix::prelude::*;
use bytes::{Bytes, BytesMut};
use futures::future::{LocalBoxFuture, pending};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time until the peer can read what was written to a socket.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The first session of a hub.
pub const FIRST: SessionRef = SessionRef { worker: 0, slot: 0, generation: 1 };

/// A ping with the payload "ping", masked with zeros (RFC 6455 §5.2).
pub const PING: &[u8] = b"\x89\x84\0\0\0\0ping";

/// A hub, and the listener of its clients.
pub struct HubUnderTest {
    pub address: Addr<SessionHub>,
    listener: TcpListener,
    counters: Arc<Counters>,
}

/// The other end of a session's connection.
pub struct Peer(TcpStream);

/// A registry and an authorizer that never answer.
struct Silent;

impl HubUnderTest {
    /// A hub that sends no pings.
    pub fn start() -> HubUnderTest {
        let settings = SessionSettings {
            handlers: SessionHandlers { on_open: |_, _| {}, on_message: |_, _, _| {} },
            node: "test".into(),
            ping_seconds: 0,
            close_seconds: 5,
            send_buffer_bytes: 1 << 20,
            burst_bytes: 1 << 20,
            write_timeout_seconds: 10,
            message_bytes: 1 << 20,
            messages_per_second: u32::MAX,
            register_milliseconds: 0,
            subscriptions: 0,
        };
        let counters = Arc::new(Counters::default());
        let ctx = SessionContext::new(settings, counters.clone());
        let address = SessionHub::new(0, ctx, Silent.start().recipient(), Rc::new(Silent)).start();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        HubUnderTest { address, listener, counters }
    }

    /// A client, and the message with which the hub takes over its socket.
    pub fn client(&self) -> (Peer, Adopt) {
        let peer = TcpStream::connect(self.listener.local_addr().expect("bound")).expect("listens");
        let (socket, _) = self.listener.accept().expect("connected");
        for socket in [&peer, &socket] {
            socket.set_nonblocking(true).expect("a socket");
        }
        let connection_slot = ConnectionSlot {
            counted: CountedSession::count(&self.counters, u64::MAX).expect("there is no limit"),
            limit_slots: None,
        };
        let (head, early) = (Bytes::from_static(b"welcome"), BytesMut::new());
        (
            Peer(peer),
            Adopt {
                socket,
                head,
                early,
                outcome: HandshakeOutcome::Accepted(Grant::none()),
                identity: None,
                connection_slot,
            },
        )
    }
}

impl Peer {
    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("room in an empty buffer");
    }

    /// Reads what the hub has written, until `word` was read `times` times. Blocks the thread, so the hub writes
    /// nothing meanwhile.
    pub fn read_until(&mut self, word: &str, times: usize) -> String {
        self.0.set_nonblocking(false).expect("a socket");
        self.0.set_read_timeout(Some(READ_TIMEOUT)).expect("a socket");
        let (mut received, mut piece) = (String::new(), [0; 4096]);
        while received.matches(word).count() < times {
            match self.0.read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(count) => received += &String::from_utf8_lossy(&piece[..count]),
            }
        }
        received
    }
}

/// Lets the other tasks of the thread run `count` times. It does not wait, because the hub's tick would wake the hub.
pub async fn turns(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// The answer to an UNREGISTER.
pub fn unregistered(session: SessionRef) -> Answer {
    let answer = PendingUnregister { guid: None, valid: Vec::new(), invalid: Vec::new() };
    Answer::Unsubscribed { session, answer: Box::new(answer) }
}

impl Actor for Silent {
    type Context = Context<Self>;
}

impl Handler<Requests> for Silent {
    type Result = ();

    fn handle(&mut self, _: Requests, _: &mut Context<Self>) {}
}

impl Authorizer for Silent {
    fn verify_tokens(&self, _: RefreshRequest) -> LocalBoxFuture<'static, RefreshResult> {
        Box::pin(pending())
    }

    fn authorize_events(&self, _: EventsRequest) -> LocalBoxFuture<'static, Vec<Result<(), ErrorBody>>> {
        Box::pin(pending())
    }
}
