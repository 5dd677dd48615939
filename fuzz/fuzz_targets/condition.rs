//! Conditions and selections over event data: nothing panics, the index finds just what matches, and a selection of valid
//! data is valid JSON.

#![no_main]

use actors::condition::Condition;
use actors::condition::document::Document;
use actors::condition::selection::Selection;
use actors::registry::index::{ChannelId, DeliveryId, SubscriptionIndex};
use actors::session::session_ref::SessionRef;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (asked, data) = input;
    let condition = Condition::parse(asked);
    let selection = Selection::parse(asked);
    let Ok(document) = Document::parse(data) else {
        // What serde_json takes, we take, but for its depth.
        assert!(serde_json::from_str::<serde_json::Value>(data).is_err() || data.matches(['[', '{']).count() > 100);
        return;
    };
    if let Ok(condition) = condition {
        let expected = usize::from(condition.matches(&document));
        let mut index = SubscriptionIndex::default();
        let target = SessionRef { worker: 0, slot: 0, generation: 1 };
        let id = index.insert(ChannelId(0), Some(condition), DeliveryId(0), target);
        let mut found = 0;
        index.find(ChannelId(0), &document, &mut |_, _| found += 1);
        assert_eq!(found, expected, "the index and the matcher differ");
        assert!(index.remove(id, target).is_some() && index.is_empty());
    }
    if let Ok(selection) = selection {
        let mut out = Vec::new();
        selection.apply(&document, &mut out);
        let text = std::str::from_utf8(&out).expect("UTF-8");
        assert!(Document::parse(text).is_ok(), "not JSON: {text}");
    }
});
