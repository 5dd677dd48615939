//! The messages of each server under test: how a client connects and subscribes, and how an event is published.
//!
//! One file per server, with the same functions in the same order. A protocol reads and writes messages and has no
//! socket.

mod carillon;
mod nats;
mod nchan;
mod pusher;
mod socketio;
mod stock;

use crate::wire::frame::{self, Opcode};
use crate::wire::mark::Mark;
use crate::wire::token::Key;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};

/// The server under test.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// A Carillon node: two tokens, a subscription with a condition.
    #[default]
    Carillon,
    /// The stock server of actix-web-actors in `tests/load/compare/stock`.
    Stock,
    /// Nchan, a module of nginx: one channel per audience, named in the URL.
    Nchan,
    /// A server of Pusher's protocol, version 7, such as Sockudo: one public channel per audience.
    Pusher,
    /// The Socket.IO server in `tests/load/compare/socketio`: one room per audience.
    SocketIo,
    /// The WebSocket of nats-server: one subject per audience. Events are published over WebSocket too.
    Nats,
}

/// Ready tokens, or the keys that sign them.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Credentials {
    /// A ready API token. Without it, one is signed with `api_key`.
    pub api_token: Option<String>,
    /// A ready user token for all clients. Without it, each client gets its own, signed with `user_key`.
    pub user_token: Option<String>,
    pub api_key: Option<Key>,
    pub user_key: Option<Key>,
}

/// The settings of a protocol.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ProtocolSpec {
    pub protocol: Protocol,
    pub project: String,
    pub event: String,
    pub credentials: Credentials,
    /// Subscribes without a condition, so that every client receives every event.
    pub is_plain: bool,
    /// Approximate size of the event data, in bytes.
    pub payload: usize,
}

/// Identifies a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The number of the client.
    pub number: u32,
    /// The audience that the client belongs to.
    pub audience: u32,
}

/// The state of a client after the upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Waits for a message of the server.
    Greeting,
    /// Waits for the confirmation of its subscription.
    Registering,
    /// Receives events.
    Live,
}

/// The meaning of a message from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Not counted.
    Other,
    /// The first message of the server. The client has requested its subscription.
    Greeting,
    /// The subscription is confirmed.
    Registered,
    /// One or more events, each with a mark.
    Notification,
    /// The client may have missed events.
    Gap,
    /// The server refuses this client or its subscription.
    Refused,
}

/// One event to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub audience: u32,
    pub mark: Mark,
}

/// The transport for publishing events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Http,
    WebSocket,
}

/// Reads and writes the messages of one server.
pub trait ServerProtocol: fmt::Debug {
    /// Appends the path and the extra header lines of the upgrade request. Each header line includes its line end.
    fn upgrade(&self, identity: ClientIdentity, path: &mut String, headers: &mut String);

    /// Appends the frames to send right after the upgrade. Returns the next stage.
    fn on_open(&self, identity: ClientIdentity, out: &mut Vec<u8>) -> Stage;

    /// Interprets a message, and appends the frames that answer it.
    fn on_message(&self, stage: Stage, message: &[u8], identity: ClientIdentity, out: &mut Vec<u8>) -> MessageKind;

    /// The transport that [`ServerProtocol::publish`] writes for.
    fn publish_transport(&self) -> Transport {
        Transport::Http
    }

    /// Appends a request (or frames) that publishes `events`. Only Carillon accepts several events in one request.
    fn publish(&self, events: &[Event], out: &mut Vec<u8>);

    /// The number of events that an HTTP answer accepts.
    fn accepted(&self, status: u16, body: &[u8], events: usize) -> usize {
        let _ = body;
        if (200..300).contains(&status) { events } else { 0 }
    }
}

impl ProtocolSpec {
    /// Creates the protocol and prepares its keys.
    pub fn build(&self) -> Box<dyn ServerProtocol> {
        let data = EventData::new(self.payload);
        match self.protocol {
            Protocol::Carillon => Box::new(carillon::Carillon::new(self, data)),
            Protocol::Stock => Box::new(stock::Stock::new(data)),
            Protocol::Nchan => Box::new(nchan::Nchan::new(data)),
            Protocol::Pusher => Box::new(pusher::Pusher::new(data)),
            Protocol::SocketIo => Box::new(socketio::SocketIo::new(data)),
            Protocol::Nats => Box::new(nats::Nats::new(data)),
        }
    }
}

/// Writes event data: a JSON object of about the configured size.
#[derive(Debug)]
struct EventData {
    filler: String,
}

impl EventData {
    /// Bytes of the event data besides the text.
    const FIXED: usize = 90;

    fn new(payload: usize) -> EventData {
        let text = "hello world, this is a text of some length; ";
        EventData { filler: text.chars().cycle().take(payload.saturating_sub(EventData::FIXED)).collect() }
    }

    fn write(&self, event: &Event, out: &mut String) {
        let Event { audience, mark } = event;
        let filler = &self.filler;
        write_to(out, format_args!(r#"{{"recipientId":"u{audience}","mark":"{mark}","text":"{filler}"}}"#));
    }
}

/// Appends one POST request per event, to the path of its audience.
fn write_posts(events: &[Event], data: &EventData, path: impl Fn(u32) -> String, out: &mut Vec<u8>) {
    for event in events {
        let mut body = String::new();
        data.write(event, &mut body);
        write_post(&path(event.audience), "", &body, out);
    }
}

/// Appends formatted text.
fn write_to(out: &mut String, arguments: fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a String never fails");
}

/// Appends a text frame.
fn write_text(text: &str, out: &mut Vec<u8>) {
    frame::write(Opcode::Text, text.as_bytes(), out);
}

/// Appends a POST request. `headers` are complete lines.
fn write_post(path: &str, headers: &str, body: &str, out: &mut Vec<u8>) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body.as_bytes());
}
