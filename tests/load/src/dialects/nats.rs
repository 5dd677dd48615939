//! NATS over WebSocket, a stand-in for a plain bus: no token, no condition; a subject for each audience.
//!
//! Frames carry a stream of lines here; one may hold several messages.

use super::{Dialect, Door, Event, EventData, Heard, Person, Stage};
use crate::wire::frame::{self, Opcode};

/// Its language.
#[derive(Debug)]
pub struct Nats {
    data: EventData,
}

impl Nats {
    pub fn new(data: EventData) -> Nats {
        Nats { data }
    }
}

impl Dialect for Nats {
    fn upgrade(&self, _person: Person, path: &mut String, _headers: &mut String) {
        path.push('/');
    }

    fn on_open(&self, _person: Person, _out: &mut Vec<u8>) -> Stage {
        Stage::Greeting
    }

    fn on_message(&self, stage: Stage, message: &[u8], person: Person, out: &mut Vec<u8>) -> Heard {
        let is_asked = memchr::memmem::find(message, b"PING\r\n").is_some();
        if is_asked {
            frame::write(Opcode::Binary, b"PONG\r\n", out);
        }
        match stage {
            Stage::Live => Heard::Notified,
            _ if is_asked => Heard::Nothing,
            Stage::Greeting if message.starts_with(b"INFO") => {
                let lines = format!("CONNECT {{\"verbose\":false}}\r\nSUB u{} 1\r\nPING\r\n", person.audience);
                frame::write(Opcode::Binary, lines.as_bytes(), out);
                Heard::Greeted
            }
            Stage::Registering if message.starts_with(b"PONG") => Heard::Registered,
            _ => Heard::Refused,
        }
    }

    fn door(&self) -> Door {
        Door::WebSocket
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
