//! Client messages: whatever is sent is answered in valid JSON that is bounded by the question.

#![no_main]

use actors::protocol::messages::{self, ClientMessage, EventId};
use actors::registry::index::SubscriptionId;
use actors::session::registration::{self, PendingAnswer, Registration};
use actors::session::session_ref::SessionRef;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    match messages::read_client_message(text) {
        Ok(ClientMessage::Register { guid, entries }) => {
            let mut registration = Registration {
                session: SessionRef { worker: 0, slot: 0, generation: 0 },
                project: "demo".into(),
                wishes: Vec::new(),
                answer: PendingAnswer::new(guid.as_deref()),
            };
            for (number, entry) in (1..).zip(&entries) {
                registration::add_entry(&mut registration, entry, EventId(number));
            }
            let good = registration.wishes.len();
            let answer = registration.answer.write(&vec![Ok(SubscriptionId(0)); good]);
            let answer: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
            let response = &answer["response"];
            assert_eq!(response["validOnEvents"].as_array().expect("a list").len(), good);
            assert_eq!(response["invalidOnEvents"].as_array().expect("a list").len(), entries.len() - good);
        }
        Ok(_) => {}
        Err(refusal) => {
            let answer = messages::errors(refusal.answer_type, refusal.guid.as_deref(), &refusal.error);
            serde_json::from_slice::<Value>(&answer).expect("an answer is JSON");
        }
    }
});
