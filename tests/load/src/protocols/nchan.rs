//! Nchan: no tokens, no conditions. The channel in the URL is the subscription.

use super::{ClientIdentity, Event, EventData, MessageKind, ServerProtocol, Stage, write_posts, write_to};

/// The protocol of Nchan.
#[derive(Debug)]
pub struct Nchan {
    data: EventData,
}

impl Nchan {
    pub fn new(data: EventData) -> Nchan {
        Nchan { data }
    }
}

impl ServerProtocol for Nchan {
    fn upgrade(&self, identity: ClientIdentity, path: &mut String, _headers: &mut String) {
        write_to(path, format_args!("/sub/u{}", identity.audience));
    }

    fn on_open(&self, _identity: ClientIdentity, _out: &mut Vec<u8>) -> Stage {
        Stage::Live
    }

    fn on_message(&self, _stage: Stage, _message: &[u8], _identity: ClientIdentity, _out: &mut Vec<u8>) -> MessageKind {
        MessageKind::Notification
    }

    fn publish(&self, events: &[Event], out: &mut Vec<u8>) {
        write_posts(events, &self.data, |audience| format!("/pub/u{audience}"), out);
    }
}
