//! An echo server on the broker's own hub, sessions and frames, for the Autobahn cases.
//!
//! `cargo run --release -p carillon-actors --example echo -- 127.0.0.1:9001` prints the address once it listens. It has
//! no tokens, no registry, and a handshake without checks.

use actix::{Actor, Addr, Context, Handler, System};
use actors::counters::{CountedSession, Counters};
use actors::hub::messages::Requests;
use actors::hub::{Adopt, Authorizer, EventsRequest, HandshakeOutcome, SessionHub};
use actors::protocol::codes::ErrorCode;
use actors::protocol::frame::{self, Event};
use actors::protocol::messages::ErrorBody;
use actors::session::{
    ConnectionSlot, Grant, RefreshRequest, RefreshResult, Session, SessionContext, SessionHandlers, SessionSettings,
};
use base64::Engine as _;
use bytes::BytesMut;
use futures::future::{LocalBoxFuture, ready};
use sha1::{Digest, Sha1};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};

/// Autobahn sends messages of 16 MiB.
const MESSAGE_BYTES: usize = 64 << 20;
const HEAD_BYTES: usize = 8192;

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9001".to_owned());
    System::new().block_on(serve(address))
}

async fn serve(address: String) -> io::Result<()> {
    let settings = SessionSettings {
        handlers: SessionHandlers { on_open: |_, _| {}, on_message: echo },
        node: "echo".into(),
        // The cases do not expect pings of the server.
        ping_seconds: 0,
        close_seconds: 5,
        send_buffer_bytes: 4 * MESSAGE_BYTES,
        burst_bytes: 4 * MESSAGE_BYTES,
        write_timeout_seconds: 10,
        message_bytes: MESSAGE_BYTES,
        messages_per_second: u32::MAX,
        register_milliseconds: 0,
        subscriptions: 0,
    };
    let counters = Arc::new(Counters::default());
    let context = SessionContext::new(settings, counters.clone());
    let hub = SessionHub::new(0, context, Unused.start().recipient(), Rc::new(Unused)).start();
    let listener = TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        let Some(counted) = CountedSession::count(&counters, u64::MAX) else { continue };
        let (hub, connection_slot) = (hub.clone(), ConnectionSlot { counted, limit_slots: None });
        actix::spawn(async move {
            if let Err(error) = shake_hands(socket, connection_slot, &hub).await {
                eprintln!("no handshake: {error}");
            }
        });
    }
}

fn echo(session: &mut Session, message: Event<'_>, ctx: &mut SessionContext) {
    match message {
        Event::Text(text) => session.queue(frame::text_frame(text.as_bytes()), ctx),
        Event::Binary(bytes) => session.queue(frame::binary_frame(bytes), ctx),
        _ => {}
    }
}

async fn shake_hands(mut socket: TcpStream, connection_slot: ConnectionSlot, hub: &Addr<SessionHub>) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut request = BytesMut::new();
    let end = loop {
        if socket.read_buf(&mut request).await? == 0 || request.len() > HEAD_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if let Some(end) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let early = request.split_off(end);
    let head = String::from_utf8_lossy(&request).into_owned();
    let key = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    let key = key.ok_or(io::ErrorKind::InvalidData)?.1.trim();
    let hash = Sha1::new().chain_update(key).chain_update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11").finalize();
    let accept = base64::engine::general_purpose::STANDARD.encode(hash);
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    let socket = socket.into_std()?;
    hub.do_send(Adopt {
        socket,
        head: answer.into(),
        early,
        outcome: HandshakeOutcome::Accepted(Grant::none()),
        identity: None,
        connection_slot,
    });
    Ok(())
}

/// A registry and an authorizer that the echo server does not use.
struct Unused;

impl Actor for Unused {
    type Context = Context<Self>;
}

impl Handler<Requests> for Unused {
    type Result = ();

    fn handle(&mut self, _: Requests, _: &mut Context<Self>) {}
}

impl Authorizer for Unused {
    fn verify_tokens(&self, _: RefreshRequest) -> LocalBoxFuture<'static, RefreshResult> {
        Box::pin(ready(Err(ErrorBody::new(ErrorCode::TokenInvalid, "an echo has no tokens"))))
    }

    fn authorize_events(&self, _: EventsRequest) -> LocalBoxFuture<'static, Vec<Result<(), ErrorBody>>> {
        Box::pin(ready(Vec::new()))
    }
}
