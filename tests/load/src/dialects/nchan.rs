//! Nchan: no token, no condition; the channel in the address is the subscription.

use super::{Dialect, Event, EventData, Heard, Person, Stage, write_post, write_to};

/// Its language.
#[derive(Debug)]
pub struct Nchan {
    data: EventData,
}

impl Nchan {
    pub fn new(data: EventData) -> Nchan {
        Nchan { data }
    }
}

impl Dialect for Nchan {
    fn upgrade(&self, person: Person, path: &mut String, _headers: &mut String) {
        write_to(path, format_args!("/sub/u{}", person.audience));
    }

    fn on_open(&self, _person: Person, _out: &mut Vec<u8>) -> Stage {
        Stage::Live
    }

    fn on_message(&self, _stage: Stage, _message: &[u8], _person: Person, _out: &mut Vec<u8>) -> Heard {
        Heard::Notified
    }

    fn publish(&self, events: &[Event], out: &mut Vec<u8>) {
        for event in events {
            let mut body = String::new();
            self.data.write(event, &mut body);
            write_post(&format!("/pub/u{}", event.audience), "", &body, out);
        }
    }
}
