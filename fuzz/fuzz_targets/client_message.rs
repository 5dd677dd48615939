//! Client messages: every input gets an answer that is valid JSON, and whose length is bounded by that of the input.

#![no_main]

use actors::ids::SessionRef;
use actors::ids::SubscriptionId;
use actors::protocol::messages::{self, ClientMessage, EventId};
use actors::session::request::{self, PendingAnswer, Registration};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum bytes that an answer adds to the input, and again for each entry: names, an id, and an error message that
/// repeats at most 40 characters of a key, escaped twice.
const ADDED_BYTES: usize = 1_024;

fuzz_target!(|text: &str| {
    match messages::read_client_message(text) {
        Ok(ClientMessage::Register { guid, entries }) => {
            let answer = register(guid.as_deref(), &entries);
            assert!(answer.len() <= text.len() + ADDED_BYTES * (1 + entries.len()), "{}", answer.len());
        }
        Ok(_) => {}
        Err(refusal) => {
            let guid = refusal.guid.as_deref();
            for write in [messages::errors, messages::refused_lists] {
                let answer = write(refusal.answer_type, guid, &refusal.error);
                let answer: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
                assert_eq!(answer.get("guid").and_then(Value::as_str), guid);
            }
        }
    }
});

fn register(guid: Option<&str>, entries: &[&RawValue]) -> Vec<u8> {
    let mut registration = Registration {
        session: SessionRef { worker: 0, slot: 0, generation: 0 },
        project: "demo".into(),
        specs: Vec::new(),
        answer: PendingAnswer::new(guid),
    };
    for (number, entry) in (1..).zip(entries) {
        request::add_entry(&mut registration, entry, EventId(number));
    }
    let ids: Vec<EventId> = registration.answer.event_ids().collect();
    let good = registration.specs.len();
    let answer = registration.answer.write(&vec![Ok(SubscriptionId(0)); good]);
    check(&answer, guid, &ids, entries);
    answer
}

/// Every entry is in one of the lists, with its id or its error.
fn check(answer: &[u8], guid: Option<&str>, ids: &[EventId], entries: &[&RawValue]) {
    // The entries of the client may contain numbers or nesting that `Value` cannot represent.
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        let answer = std::str::from_utf8(answer).expect("UTF-8");
        serde_json::from_str::<&RawValue>(answer).expect("an answer is JSON");
        return;
    };
    assert_eq!(answer.get("guid").and_then(Value::as_str), guid);
    let list = |name: &str| answer["response"][name].as_array().expect("a list").clone();
    let (valid, invalid) = (list("validOnEvents"), list("invalidOnEvents"));
    assert_eq!(valid.len() + invalid.len(), entries.len());
    let event_ids: Vec<String> =
        valid.iter().map(|entry| entry["eventId"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(event_ids, ids.iter().map(EventId::to_string).collect::<Vec<_>>());
    assert!(invalid.iter().all(|entry| entry["error"]["code"].is_string() && entry["error"]["message"].is_string()));
}
