//! Pusher's protocol, version 7, as Sockudo serves it: no user token, no condition; a public channel for each audience.
//! Publishing is signed as Pusher's HTTP API wants it.

use super::{Dialect, Event, EventData, Heard, Person, Stage, write_post, write_text};
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use sha2::Sha256;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// The application that `tests/load/compare` configures.
const APPLICATION: (&str, &str, &str) = ("load", "load-key", "load-secret");

/// Its language.
#[derive(Debug)]
pub struct Pusher {
    data: EventData,
}

impl Pusher {
    pub fn new(data: EventData) -> Pusher {
        Pusher { data }
    }
}

impl Dialect for Pusher {
    fn upgrade(&self, _person: Person, path: &mut String, _headers: &mut String) {
        let (_, key, _) = APPLICATION;
        path.push_str(&format!("/app/{key}?protocol=7&client=load&version=1"));
    }

    fn on_open(&self, _person: Person, _out: &mut Vec<u8>) -> Stage {
        Stage::Greeting
    }

    fn on_message(&self, stage: Stage, message: &[u8], person: Person, out: &mut Vec<u8>) -> Heard {
        let says = |event: &str| memchr::memmem::find(message, event.as_bytes()).is_some();
        match stage {
            Stage::Live if says("cl~") => Heard::Notified,
            _ if says("pusher:ping") => {
                write_text(r#"{"event":"pusher:pong","data":{}}"#, out);
                Heard::Nothing
            }
            Stage::Live => Heard::Nothing,
            Stage::Greeting if says("pusher:connection_established") => {
                let channel = person.audience;
                write_text(&format!(r#"{{"event":"pusher:subscribe","data":{{"channel":"u{channel}"}}}}"#), out);
                Heard::Greeted
            }
            Stage::Registering if says("pusher_internal:subscription_succeeded") => Heard::Registered,
            _ => Heard::Refused,
        }
    }

    fn publish(&self, events: &[Event], out: &mut Vec<u8>) {
        for event in events {
            let mut data = String::new();
            self.data.write(event, &mut data);
            let data = data.replace('"', "\\\"");
            let body = format!(r#"{{"name":"notice","channel":"u{}","data":"{data}"}}"#, event.audience);
            write_post(&signed_path(&body), "", &body, out);
        }
    }
}

/// The address of a publish with its signature.
fn signed_path(body: &str) -> String {
    let (id, key, secret) = APPLICATION;
    let path = format!("/apps/{id}/events");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let md5 = hexadecimal(&Md5::digest(body));
    let query = format!("auth_key={key}&auth_timestamp={now}&auth_version=1.0&body_md5={md5}");
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(format!("POST\n{path}\n{query}").as_bytes());
    format!("{path}?{query}&auth_signature={}", hexadecimal(&mac.finalize().into_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes every text");
        text
    })
}
