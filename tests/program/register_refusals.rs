//! Refused entries of REGISTER: each kind has its code and does not affect other entries.

use crate::support::Node;
use crate::support::client::{Client, conditional, entry};
use serde_json::{Value, json};

/// Entries that must be refused: the fault, the error code, the entry.
fn invalid_entries() -> Vec<(&'static str, &'static str, Value)> {
    let typed = |event_type: Value| json!({"eventType": event_type, "apiName": "orders"});
    let named = |name: Value| json!({"eventType": "CUSTOM_WS_EVENTS", "apiName": name});
    let criteria = |criteria: Value| conditional("orders", criteria);
    let with = |name: &str, value: Value| {
        let mut changed = entry("orders");
        changed[name] = value;
        changed
    };
    let levels = |count: usize| (1..count).fold(json!({"a": 1}), |inner, _| json!({"$and": [inner]}));
    let operators: Vec<Value> = (0..65).map(|i| json!({"a": {"$gt": i}})).collect();
    let values: Vec<u32> = (0..101).collect();
    let unsupported = "EVENT_TYPE_UNSUPPORTED";
    let mut rows = vec![
        ("unknown type", unsupported, typed(json!("NOPE"))),
        ("type in lower case", unsupported, typed(json!("custom_ws_events"))),
        ("type of another kind", unsupported, typed(json!(5))),
        ("no type", unsupported, json!({"apiName": "orders"})),
        ("no name", "EVENT_NAME_INVALID", json!({"eventType": "CUSTOM_WS_EVENTS"})),
        ("empty name", "EVENT_NAME_INVALID", named(json!(""))),
        ("name of 201 bytes", "EVENT_NAME_INVALID", named(json!("n".repeat(201)))),
        ("name of 202 bytes in 101 letters", "EVENT_NAME_INVALID", named(json!("ü".repeat(101)))),
        ("name with a line break", "EVENT_NAME_INVALID", named(json!("a\nb"))),
        ("name with a zero", "EVENT_NAME_INVALID", named(json!("a\u{0}b"))),
        ("name of another kind", "EVENT_NAME_INVALID", named(json!(5))),
        ("condition of another kind", "CONDITION_INVALID", with("condition", json!("all"))),
        ("condition without criteria", "CONDITION_INVALID", with("condition", json!({"conditionType": "RESPONSE"}))),
        (
            "condition of an unknown type",
            "CONDITION_INVALID",
            with("condition", json!({"conditionType": "NOPE", "criteria": {"a": 1}})),
        ),
        ("criteria of another kind", "CONDITION_INVALID", criteria(json!([1]))),
        ("unknown operator at the top", "CONDITION_INVALID", criteria(json!({"$where": "true"}))),
        ("unknown operator below", "CONDITION_INVALID", criteria(json!({"a": {"$near": 1}}))),
        (
            "unknown operator deep",
            "CONDITION_INVALID",
            criteria(json!({"$or": [{"a": {"$not": {"$elemMatch": {"$nope": 1}}}}]})),
        ),
        ("backreference", "CONDITION_INVALID", criteria(json!({"a": {"$regex": r"(a)\1"}}))),
        ("look-around", "CONDITION_INVALID", criteria(json!({"a": {"$regex": "(?=a)"}}))),
        ("unknown option of a pattern", "CONDITION_INVALID", criteria(json!({"a": {"$regex": "a", "$options": "g"}}))),
        ("$in without a list", "CONDITION_INVALID", criteria(json!({"a": {"$in": 5}}))),
        ("too many levels", "CONDITION_TOO_LARGE", criteria(levels(40))),
        ("65 operators", "CONDITION_TOO_LARGE", criteria(json!({"$and": operators}))),
        ("more than 4 KiB", "CONDITION_TOO_LARGE", criteria(json!({"a": "x".repeat(4_200)}))),
        ("101 values in $in", "CONDITION_TOO_LARGE", criteria(json!({"a": {"$in": values}}))),
        ("select mixes", "SELECT_INVALID", with("select", json!({"a": 1, "b": 0}))),
        ("select of another kind", "SELECT_INVALID", with("select", json!("a"))),
        ("select with a text", "SELECT_INVALID", with("select", json!({"a": "yes"}))),
        ("recover of another kind", "RECOVER_INVALID", with("recover", json!("k3x"))),
        ("recover without an offset", "RECOVER_INVALID", with("recover", json!({"epoch": "k3x"}))),
        ("recover with a negative offset", "RECOVER_INVALID", with("recover", json!({"epoch": "k3x", "offset": -1}))),
    ];
    for reserved in ["INSTANCES", "SYSTEM_APIS", "CUSTOM_APIS", "THIRD_PARTY_APIS"] {
        rows.push(("reserved type", unsupported, typed(json!(reserved))));
    }
    rows
}

#[tokio::test]
async fn every_kind_of_invalid_entry_has_its_code_and_affects_no_other_entry() {
    let node = Node::start(&[("LIMITS__MESSAGES_PER_SECOND", "1000")]);
    let mut client = Client::of(&node).await;
    for (what, code, bad) in invalid_entries() {
        let before = entry("good-before");
        let (valid, invalid) = client.register(json!([before, bad, entry("good-after")])).await;
        assert_eq!(invalid.len(), 1, "{what}");
        assert_eq!(invalid[0]["error"]["code"], code, "{what}: {}", invalid[0]["error"]);
        let message = invalid[0]["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "{what}: an error says what to do");
        let mut echoed = invalid[0].clone();
        echoed.as_object_mut().expect("an entry").remove("error");
        assert_eq!(echoed, bad, "{what}");
        let names: Vec<&Value> = valid.iter().map(|entry| &entry["apiName"]).collect();
        assert_eq!(names, ["good-before", "good-after"], "{what}");
        let gone: Vec<Value> = valid.iter().map(|entry| json!({"eventId": entry["eventId"]})).collect();
        client.ask(json!({"objType": "UNREGISTER", "onEvents": gone})).await;
    }
}

#[tokio::test]
async fn an_entry_that_is_not_an_object_is_invalid() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let (valid, invalid) = client.register(json!([5, "orders", null, [], entry("orders")])).await;
    assert_eq!(valid.len(), 1);
    assert_eq!(invalid.len(), 4);
    assert!(invalid.iter().all(|entry| entry["error"]["code"].is_string()), "{invalid:?}");
}

#[tokio::test]
async fn an_unknown_operator_is_named() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let bad = conditional("orders", json!({"a": {"$near": 1}}));
    let (_, invalid) = client.register(json!([bad])).await;
    let message = invalid[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("$near"), "{message}");
}
