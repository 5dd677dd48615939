//! The stock server of actix-web-actors: no tokens, no conditions, one name per audience.

use super::{ClientIdentity, Event, EventData, MessageKind, ServerProtocol, Stage, write_posts, write_text};

/// The protocol of the stock server.
#[derive(Debug)]
pub struct Stock {
    data: EventData,
}

impl Stock {
    pub fn new(data: EventData) -> Stock {
        Stock { data }
    }
}

impl ServerProtocol for Stock {
    fn upgrade(&self, _identity: ClientIdentity, path: &mut String, _headers: &mut String) {
        path.push_str("/ws");
    }

    fn on_open(&self, identity: ClientIdentity, out: &mut Vec<u8>) -> Stage {
        write_text(&format!("u{}", identity.audience), out);
        Stage::Registering
    }

    fn on_message(&self, stage: Stage, message: &[u8], _identity: ClientIdentity, _out: &mut Vec<u8>) -> MessageKind {
        match stage {
            Stage::Live => MessageKind::Notification,
            _ if message == b"ok" => MessageKind::Registered,
            _ => MessageKind::Refused,
        }
    }

    fn publish(&self, events: &[Event], out: &mut Vec<u8>) {
        write_posts(events, &self.data, |audience| format!("/emit/u{audience}"), out);
    }
}
