//! Socket.IO 5 over Engine.IO 4, WebSocket only: no tokens, no conditions, one room per audience.

use super::{ClientIdentity, Event, EventData, MessageKind, ServerProtocol, Stage, write_posts, write_text};

/// The protocol of Socket.IO.
#[derive(Debug)]
pub struct SocketIo {
    data: EventData,
}

impl SocketIo {
    pub fn new(data: EventData) -> SocketIo {
        SocketIo { data }
    }
}

impl ServerProtocol for SocketIo {
    fn upgrade(&self, _identity: ClientIdentity, path: &mut String, _headers: &mut String) {
        path.push_str("/socket.io/?EIO=4&transport=websocket");
    }

    fn on_open(&self, _identity: ClientIdentity, _out: &mut Vec<u8>) -> Stage {
        Stage::Greeting
    }

    fn on_message(&self, stage: Stage, message: &[u8], identity: ClientIdentity, out: &mut Vec<u8>) -> MessageKind {
        match (stage, message) {
            (_, b"2") => {
                write_text("3", out);
                MessageKind::Other
            }
            (Stage::Greeting, [b'0', ..]) => {
                write_text("40", out);
                MessageKind::Other
            }
            (Stage::Greeting, [b'4', b'0', ..]) => {
                write_text(&format!(r#"420["join","u{}"]"#, identity.audience), out);
                MessageKind::Greeting
            }
            (Stage::Registering, [b'4', b'3', ..]) => MessageKind::Registered,
            (Stage::Live, [b'4', b'2', ..]) => MessageKind::Notification,
            (Stage::Live, _) => MessageKind::Other,
            _ => MessageKind::Refused,
        }
    }

    fn publish(&self, events: &[Event], out: &mut Vec<u8>) {
        write_posts(events, &self.data, |audience| format!("/emit/u{audience}"), out);
    }
}
