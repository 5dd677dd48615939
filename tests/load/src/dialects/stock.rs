//! The stock server of actix-web-actors: no token, no condition; a name for each audience.

use super::{Dialect, Event, EventData, Heard, Person, Stage, write_post, write_text};

/// Its language.
#[derive(Debug)]
pub struct Stock {
    data: EventData,
}

impl Stock {
    pub fn new(data: EventData) -> Stock {
        Stock { data }
    }
}

impl Dialect for Stock {
    fn upgrade(&self, _person: Person, path: &mut String, _headers: &mut String) {
        path.push_str("/ws");
    }

    fn on_open(&self, person: Person, out: &mut Vec<u8>) -> Stage {
        write_text(&format!("u{}", person.audience), out);
        Stage::Registering
    }

    fn on_message(&self, stage: Stage, message: &[u8], _person: Person, _out: &mut Vec<u8>) -> Heard {
        match stage {
            Stage::Live => Heard::Notified,
            _ if message == b"ok" => Heard::Registered,
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
