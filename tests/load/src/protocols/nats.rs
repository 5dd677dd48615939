//! NATS over WebSocket, as an example of a plain bus: no tokens, no conditions, one subject per audience.
//!
//! Frames carry a stream of lines. One frame can hold several messages.

use super::{ClientIdentity, Event, EventData, MessageKind, ServerProtocol, Stage, Transport};
use crate::wire::frame::{self, Opcode};

/// The protocol of nats-server.
#[derive(Debug)]
pub struct Nats {
    data: EventData,
}

impl Nats {
    pub fn new(data: EventData) -> Nats {
        Nats { data }
    }
}

impl ServerProtocol for Nats {
    fn upgrade(&self, _identity: ClientIdentity, path: &mut String, _headers: &mut String) {
        path.push('/');
    }

    fn on_open(&self, _identity: ClientIdentity, _out: &mut Vec<u8>) -> Stage {
        Stage::Greeting
    }

    fn on_message(&self, stage: Stage, message: &[u8], identity: ClientIdentity, out: &mut Vec<u8>) -> MessageKind {
        let is_asked = memchr::memmem::find(message, b"PING\r\n").is_some();
        if is_asked {
            frame::write(Opcode::Binary, b"PONG\r\n", out);
        }
        match stage {
            Stage::Live => MessageKind::Notification,
            _ if is_asked => MessageKind::Other,
            Stage::Greeting if message.starts_with(b"INFO") => {
                let lines = format!("CONNECT {{\"verbose\":false}}\r\nSUB u{} 1\r\nPING\r\n", identity.audience);
                frame::write(Opcode::Binary, lines.as_bytes(), out);
                MessageKind::Greeting
            }
            Stage::Registering if message.starts_with(b"PONG") => MessageKind::Registered,
            _ => MessageKind::Refused,
        }
    }

    fn publish_transport(&self) -> Transport {
        Transport::WebSocket
    }

    fn publish(&self, events: &[Event], out: &mut Vec<u8>) {
        for event in events {
            let mut data = String::new();
            self.data.write(event, &mut data);
            let lines = format!("PUB u{} {}\r\n{data}\r\nPING\r\n", event.audience, data.len());
            frame::write(Opcode::Binary, lines.as_bytes(), out);
        }
    }
}
