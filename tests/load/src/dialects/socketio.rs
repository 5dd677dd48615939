//! Socket.IO 5 over Engine.IO 4, WebSocket only: no token, no condition; a room for each audience.

use super::{Dialect, Event, EventData, Heard, Person, Stage, write_post, write_text};

/// Its language.
#[derive(Debug)]
pub struct SocketIo {
    data: EventData,
}

impl SocketIo {
    pub fn new(data: EventData) -> SocketIo {
        SocketIo { data }
    }
}

impl Dialect for SocketIo {
    fn upgrade(&self, _person: Person, path: &mut String, _headers: &mut String) {
        path.push_str("/socket.io/?EIO=4&transport=websocket");
    }

    fn on_open(&self, _person: Person, _out: &mut Vec<u8>) -> Stage {
        Stage::Greeting
    }

    fn on_message(&self, stage: Stage, message: &[u8], person: Person, out: &mut Vec<u8>) -> Heard {
        match (stage, message) {
            (_, b"2") => {
                write_text("3", out);
                Heard::Nothing
            }
            (Stage::Greeting, [b'0', ..]) => {
                write_text("40", out);
                Heard::Nothing
            }
            (Stage::Greeting, [b'4', b'0', ..]) => {
                write_text(&format!(r#"420["join","u{}"]"#, person.audience), out);
                Heard::Greeted
            }
            (Stage::Registering, [b'4', b'3', ..]) => Heard::Registered,
            (Stage::Live, [b'4', b'2', ..]) => Heard::Notified,
            (Stage::Live, _) => Heard::Nothing,
            _ => Heard::Refused,
        }
    }

    fn publish(&self, events: &[Event], out: &mut Vec<u8>) {
        for event in events {
            let mut body = String::new();
            self.data.write(event, &mut body);
            write_post(&format!("/emit/u{}", event.audience), "", &body, out);
        }
    }
}
