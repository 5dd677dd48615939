//! What a client says to each of the servers that are measured, and how an event is published there.
//!
//! One file a dialect, the same functions in the same order in each. A dialect knows messages; it never sees a socket.

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

/// Which server is spoken to.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// A Carillon node: two tokens, a subscription with a condition.
    #[default]
    Carillon,
    /// The stock server of actix-web-actors in `tests/load/compare/stock`.
    Stock,
    /// Nchan, a module of nginx: a channel for each audience, named in the address.
    Nchan,
    /// A server of Pusher's protocol, version 7, such as Sockudo: a public channel for each audience.
    Pusher,
    /// The Socket.IO server in `tests/load/compare/socketio`: a room for each audience.
    SocketIo,
    /// nats-server's WebSocket: a subject for each audience. Events are published by WebSocket too.
    Nats,
}

/// How tokens come about.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Credentials {
    /// A ready API token; without it, one is signed with `api_key`.
    pub api_token: Option<String>,
    /// A ready user token for everybody; without it, each client has its own, signed with `user_key`.
    pub user_token: Option<String>,
    pub api_key: Option<Key>,
    pub user_key: Option<Key>,
}

/// What a dialect needs to know.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DialectSpec {
    pub protocol: Protocol,
    pub project: String,
    pub event: String,
    pub credentials: Credentials,
    /// Whether a subscription has no condition: all hear all.
    pub is_plain: bool,
    /// Bytes of each event's data, about.
    pub payload: usize,
}

/// Who a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Person {
    /// Its own number.
    pub number: u32,
    /// The audience that it is one of.
    pub audience: u32,
}

/// How far the conversation of a client has come once it has its WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The server says the next word.
    Greeting,
    /// The subscription was asked for.
    Registering,
    /// It is told what is published.
    Live,
}

/// What a message of the server means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing to count.
    Nothing,
    /// The server has greeted; the subscription is asked for.
    Greeted,
    /// The subscription stands.
    Registered,
    /// Something was published; it may have several marks.
    Notified,
    /// Notifications may have been missed.
    Gap,
    /// The server does not want this client or its subscription.
    Refused,
}

/// One event to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub audience: u32,
    pub mark: Mark,
}

/// Over what events are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    Http,
    WebSocket,
}

/// A server's language.
pub trait Dialect: fmt::Debug {
    /// Appends the address to upgrade and further header lines, each with its line end, as `path`, `headers`.
    fn upgrade(&self, person: Person, path: &mut String, headers: &mut String);

    /// Right after the upgrade: appends frames, and says what comes next.
    fn on_open(&self, person: Person, out: &mut Vec<u8>) -> Stage;

    /// Judges a message; appends frames to answer with.
    fn on_message(&self, stage: Stage, message: &[u8], person: Person, out: &mut Vec<u8>) -> Heard;

    /// Over what [`Dialect::publish`] goes.
    fn door(&self) -> Door {
        Door::Http
    }

    /// Appends a request (or frames) that publishes `events`: one, but where the server takes batches.
    fn publish(&self, events: &[Event], out: &mut Vec<u8>);

    /// How many of `events` an HTTP answer accepts.
    fn accepted(&self, status: u16, body: &[u8], events: usize) -> usize {
        let _ = body;
        if (200..300).contains(&status) { events } else { 0 }
    }
}

impl DialectSpec {
    /// The dialect, with its keys prepared.
    pub fn dialect(&self) -> Box<dyn Dialect> {
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

/// Writes event data: a JSON object of about so many bytes.
#[derive(Debug)]
struct EventData {
    filler: String,
}

impl EventData {
    /// Bytes of an event's data without its text.
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

/// Appends to a text, which takes everything.
fn write_to(out: &mut String, arguments: fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("a String takes every text");
}

/// Appends a text frame.
fn write_text(text: &str, out: &mut Vec<u8>) {
    frame::write(Opcode::Text, text.as_bytes(), out);
}

/// Appends a POST request; `headers` are whole lines.
fn write_post(path: &str, headers: &str, body: &str, out: &mut Vec<u8>) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body.as_bytes());
}
