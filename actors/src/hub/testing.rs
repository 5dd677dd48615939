//! A hub with sockets and nothing behind it, for the tests of this folder.

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

/// The longest that the system may take to hand on what was written to a socket.
const DELIVERY: Duration = Duration::from_secs(5);

/// The first session of a hub.
pub const FIRST: SessionRef = SessionRef { worker: 0, slot: 0, generation: 1 };

/// A ping with the payload "ping", masked with zeros (RFC 6455 §5.2).
pub const PING: &[u8] = b"\x89\x84\0\0\0\0ping";

/// A hub, and where its clients connect.
pub struct HubUnderTest {
    pub address: Addr<SessionHub>,
    listener: TcpListener,
    counters: Arc<Counters>,
}

/// The other end of a session's connection.
pub struct Peer(TcpStream);

/// Stands where the registry and the keeper of keys would, and never answers.
struct Nobody;

impl HubUnderTest {
    /// A hub that pings nobody.
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
        let address = SessionHub::new(0, ctx, Nobody.start().recipient(), Rc::new(Nobody)).start();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        HubUnderTest { address, listener, counters }
    }

    /// A client, and the message by which the hub takes over its socket.
    pub fn client(&self) -> (Peer, Adopt) {
        let peer = TcpStream::connect(self.listener.local_addr().expect("bound")).expect("listens");
        let (socket, _) = self.listener.accept().expect("connected");
        for socket in [&peer, &socket] {
            socket.set_nonblocking(true).expect("a socket");
        }
        let connection_slot = ConnectionSlot {
            counted: CountedSession::count(&self.counters, u64::MAX).expect("a connection_slot"),
            limit_slots: None,
        };
        let (head, early) = (Bytes::from_static(b"welcome"), BytesMut::new());
        (
            Peer(peer),
            Adopt {
                socket,
                head,
                early,
                outcome: HandshakeOutcome::Accepted(Grant::nobody()),
                identity: None,
                connection_slot,
            },
        )
    }
}

impl Peer {
    /// Sends bytes.
    pub fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("room in an empty buffer");
    }

    /// What the hub has written, up to where a word stands for the last of so many times. Holds the thread, so that the hub can do
    /// no more for it: only what is on its way is waited for.
    pub fn hear(&mut self, word: &str, times: usize) -> String {
        self.0.set_nonblocking(false).expect("a socket");
        self.0.set_read_timeout(Some(DELIVERY)).expect("a socket");
        let (mut heard, mut piece) = (String::new(), [0; 4096]);
        while heard.matches(word).count() < times {
            match self.0.read(&mut piece) {
                Ok(0) | Err(_) => break,
                Ok(count) => heard += &String::from_utf8_lossy(&piece[..count]),
            }
        }
        heard
    }
}

/// Lets the thread's other tasks have so many turns. No time: a hub's tick wakes it once a second.
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

impl Actor for Nobody {
    type Context = Context<Self>;
}

impl Handler<Requests> for Nobody {
    type Result = ();

    fn handle(&mut self, _: Requests, _: &mut Context<Self>) {}
}

impl Authorizer for Nobody {
    fn verify_tokens(&self, _: RefreshRequest) -> LocalBoxFuture<'static, RefreshResult> {
        Box::pin(pending())
    }

    fn authorize_events(&self, _: EventsRequest) -> LocalBoxFuture<'static, Vec<Result<(), ErrorBody>>> {
        Box::pin(pending())
    }
}
