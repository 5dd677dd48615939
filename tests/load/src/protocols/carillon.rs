//! A Carillon node (docs/protocol.md).

use super::{
    ClientIdentity, Event, EventData, MessageKind, ProtocolSpec, ServerProtocol, Stage, write_post, write_text,
    write_to,
};
use crate::wire::token::Signer;
use memchr::memmem;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The lifetime of a token: longer than any run.
const TOKEN_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The protocol of a node.
#[derive(Debug)]
pub struct Carillon {
    project: String,
    event: String,
    api_token: String,
    user_token: Option<String>,
    signer: Option<Signer>,
    expiry: u64,
    is_plain: bool,
    path: String,
    headers: String,
    data: EventData,
}

impl Carillon {
    pub fn new(spec: &ProtocolSpec, data: EventData) -> Carillon {
        let project = spec.project.clone();
        let expiry = (SystemTime::now() + TOKEN_LIFE).duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let credentials = &spec.credentials;
        let api_token = credentials.api_token.clone().unwrap_or_else(|| {
            let claims = format!(r#"{{"project":"{project}","sub":"load","scope":["connect","emit"],"exp":{expiry}}}"#);
            let mut token = String::new();
            if let Some(key) = &credentials.api_key {
                Signer::new(key).sign(&claims, &mut token);
            }
            token
        });
        Carillon {
            path: format!("/api/system-api/{project}/emit-event-ws"),
            headers: format!("x-am-authorization: {api_token}\r\n"),
            event: spec.event.clone(),
            user_token: credentials.user_token.clone(),
            signer: credentials.user_key.as_ref().map(Signer::new),
            is_plain: spec.is_plain,
            project,
            api_token,
            expiry,
            data,
        }
    }

    fn registration(&self, identity: ClientIdentity) -> String {
        let mut entry = format!(r#"{{"eventType":"CUSTOM_WS_EVENTS","apiName":"{}""#, self.event);
        if !self.is_plain {
            let audience = identity.audience;
            write_to(
                &mut entry,
                format_args!(
                    r#","condition":{{"conditionType":"RESPONSE","criteria":{{"recipientId":"u{audience}"}}}}"#
                ),
            );
        }
        format!(r#"{{"objType":"REGISTER","onEvents":[{entry}}}]}}"#)
    }
}

impl ServerProtocol for Carillon {
    fn upgrade(&self, identity: ClientIdentity, path: &mut String, headers: &mut String) {
        path.push_str("/ws");
        write_to(headers, format_args!("x-am-authorization: {}\r\nx-am-user-authorization: ", self.api_token));
        match (&self.user_token, &self.signer) {
            (Some(token), _) => headers.push_str(token),
            (None, Some(signer)) => {
                let (project, number, expiry) = (&self.project, identity.number, self.expiry);
                signer.sign(&format!(r#"{{"project":"{project}","sub":"u{number}","exp":{expiry}}}"#), headers);
            }
            (None, None) => {}
        }
        headers.push_str("\r\n");
    }

    fn on_open(&self, _identity: ClientIdentity, _out: &mut Vec<u8>) -> Stage {
        Stage::Greeting
    }

    fn on_message(&self, stage: Stage, message: &[u8], identity: ClientIdentity, out: &mut Vec<u8>) -> MessageKind {
        match stage {
            Stage::Live if message.starts_with(br#"{"type":"NOTIFICATION""#) => MessageKind::Notification,
            Stage::Live if message.starts_with(br#"{"type":"GAP""#) => MessageKind::Gap,
            Stage::Live => MessageKind::Other,
            Stage::Greeting if message.starts_with(br#"{"type":"CONNECTED""#) => {
                write_text(&self.registration(identity), out);
                MessageKind::Greeting
            }
            Stage::Registering
                if message.starts_with(br#"{"type":"REGISTER""#)
                    && memmem::find(message, br#""invalidOnEvents":[]"#).is_some() =>
            {
                MessageKind::Registered
            }
            Stage::Greeting | Stage::Registering => MessageKind::Refused,
        }
    }

    fn publish(&self, events: &[Event], out: &mut Vec<u8>) {
        let mut body = String::new();
        let is_batch = events.len() > 1;
        for (index, event) in events.iter().enumerate() {
            body.push_str(match (is_batch, index) {
                (true, 0) => "[",
                (true, _) => ",",
                (false, _) => "",
            });
            write_to(&mut body, format_args!(r#"{{"name":"{}","eventData":"#, self.event));
            self.data.write(event, &mut body);
            body.push('}');
        }
        if is_batch {
            body.push(']');
        }
        write_post(&self.path, &self.headers, &body, out);
    }

    fn accepted(&self, status: u16, body: &[u8], events: usize) -> usize {
        match (status, events) {
            (200, 1) => 1,
            (200, _) => memmem::find_iter(body, br#""success":true"#).count(),
            _ => 0,
        }
    }
}
