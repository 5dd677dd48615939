//! Pusher's protocol, version 7, as Sockudo serves it: no user tokens, no conditions, one public channel per audience.
//! Publish requests are signed as Pusher's HTTP API requires.

use super::{ClientIdentity, Event, EventData, MessageKind, ServerProtocol, Stage, write_post, write_text};
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use sha2::Sha256;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Id, key and secret of the application that `tests/load/compare` configures.
const APPLICATION: (&str, &str, &str) = ("load", "load-key", "load-secret");

/// The protocol of Pusher.
#[derive(Debug)]
pub struct Pusher {
    data: EventData,
}

impl Pusher {
    pub fn new(data: EventData) -> Pusher {
        Pusher { data }
    }
}

impl ServerProtocol for Pusher {
    fn upgrade(&self, _identity: ClientIdentity, path: &mut String, _headers: &mut String) {
        let (_, key, _) = APPLICATION;
        path.push_str(&format!("/app/{key}?protocol=7&client=load&version=1"));
    }

    fn on_open(&self, _identity: ClientIdentity, _out: &mut Vec<u8>) -> Stage {
        Stage::Greeting
    }

    fn on_message(&self, stage: Stage, message: &[u8], identity: ClientIdentity, out: &mut Vec<u8>) -> MessageKind {
        let contains = |event: &str| memchr::memmem::find(message, event.as_bytes()).is_some();
        match stage {
            Stage::Live if contains("cl~") => MessageKind::Notification,
            _ if contains("pusher:ping") => {
                write_text(r#"{"event":"pusher:pong","data":{}}"#, out);
                MessageKind::Other
            }
            Stage::Live => MessageKind::Other,
            Stage::Greeting if contains("pusher:connection_established") => {
                let channel = identity.audience;
                write_text(&format!(r#"{{"event":"pusher:subscribe","data":{{"channel":"u{channel}"}}}}"#), out);
                MessageKind::Greeting
            }
            Stage::Registering if contains("pusher_internal:subscription_succeeded") => MessageKind::Registered,
            _ => MessageKind::Refused,
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

/// The path of a publish request with its signature.
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
        write!(text, "{byte:02x}").expect("writing to a String never fails");
        text
    })
}
