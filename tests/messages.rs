//! What a client says and is answered: unknown messages, REGISTER and UNREGISTER, on the real program.

mod support;

use serde_json::{Value, json};
use std::collections::HashSet;
use support::client::{Client, conditional, entry, lists};
use support::{Node, emit, error_code};

async fn client_of(node: &Node) -> Client {
    Client::connect(node, &node.tokens()).await
}

/// Sees that the session still answers.
async fn still_answers(client: &mut Client) {
    client.subscribe(entry("still-answers")).await;
}

#[tokio::test]
async fn malformed_json_is_told_and_the_session_goes_on() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    for text in [
        "",
        "{",
        "nope",
        "{\"objType\":\"REGISTER\",}",
        "{} {}",
        "\u{feff}{}",
    ] {
        client.say(text).await;
        let answer = client.next_json().await;
        assert_eq!(answer["type"], "UNKNOWN", "{text}: {answer}");
        assert_eq!(error_code(&answer), "INVALID_JSON", "{text}: {answer}");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn an_unknown_message_is_told_and_the_session_goes_on() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    for text in [
        r#"{"objType":"NOPE"}"#,
        r#"{"objType":"register","onEvents":[]}"#,
        r#"{"objType":7}"#,
        r#"{"objType":null}"#,
        r#"{}"#,
        r#"[]"#,
        r#""REGISTER""#,
        "5",
        "null",
    ] {
        client.say(text).await;
        let answer = client.next_json().await;
        assert_eq!(answer["type"], "UNKNOWN", "{text}: {answer}");
        assert_eq!(error_code(&answer), "UNKNOWN_MESSAGE", "{text}: {answer}");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn json_nested_without_end_is_told_and_the_session_goes_on() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    for text in ["[".repeat(60_000), "{\"a\":".repeat(12_000)] {
        client.say(text).await;
        assert_eq!(client.next_json().await["type"], "UNKNOWN");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn a_guid_of_at_most_64_bytes_comes_back_in_every_answer() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    for guid in ["", "a1", "ü\"\\\n", &"g".repeat(64)] {
        for message in [
            json!({"objType": "REGISTER", "guid": guid, "onEvents": []}),
            json!({"objType": "UNREGISTER", "guid": guid, "onEvents": []}),
            json!({"objType": "REFRESH", "guid": guid, "tokens": {"x-am-authorization": tokens.api}}),
            json!({"objType": "REFRESH", "guid": guid, "tokens": {"x-am-authorization": "bad"}}),
            json!({"objType": "NOPE", "guid": guid}),
        ] {
            let answer = client.ask(message.clone()).await;
            assert_eq!(answer["guid"], guid, "{message} was answered {answer}");
        }
    }
}

#[tokio::test]
async fn without_a_guid_none_comes_back() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    let answer = client
        .ask(json!({"objType": "REGISTER", "onEvents": []}))
        .await;
    assert_eq!(answer.get("guid"), None, "{answer}");
}

#[tokio::test]
async fn a_guid_that_is_too_long_or_no_text_is_an_unknown_message() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    for guid in [
        json!("g".repeat(65)),
        json!("ü".repeat(33)),
        json!(5),
        json!({"a": 1}),
        json!([]),
    ] {
        let message = json!({"objType": "REGISTER", "guid": guid, "onEvents": [entry("a")]});
        let answer = client.ask(message).await;
        assert_eq!(answer["type"], "UNKNOWN", "{answer}");
        assert_eq!(error_code(&answer), "UNKNOWN_MESSAGE", "{answer}");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn a_valid_entry_comes_back_with_its_event_id() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    let mut full = conditional(
        "orders",
        json!({"recipientId": "u42", "total": {"$gte": 100}}),
    );
    full["select"] = json!({"order_no": 1, "status": 1});
    full["getEventData"] = json!(true);
    full["ofTheClient"] = json!({"kept": [1, 2]});
    let (valid, invalid) = client.register(json!([full])).await;
    assert!(invalid.is_empty(), "{invalid:?}");
    assert!(valid[0]["eventId"].is_string(), "{valid:?}");
    let mut echoed = valid[0].clone();
    echoed.as_object_mut().expect("an entry").remove("eventId");
    assert_eq!(echoed, full);
}

#[tokio::test]
async fn both_lists_are_always_there_and_empty_for_no_entries() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    for message in ["REGISTER", "UNREGISTER"] {
        let answer = client
            .ask(json!({"objType": message, "onEvents": []}))
            .await;
        assert_eq!(answer["type"], message);
        assert_eq!(lists(&answer), (vec![], vec![]));
    }
}

#[tokio::test]
async fn a_list_of_entries_that_is_none_is_told_as_an_error() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    for message in ["REGISTER", "UNREGISTER"] {
        for entries in [json!(null), json!("orders"), json!({"a": 1}), json!(5)] {
            let answer = client
                .ask(json!({"objType": message, "onEvents": entries}))
                .await;
            assert!(!error_code(&answer).is_empty(), "{entries}: {answer}");
        }
        let answer = client.ask(json!({"objType": message})).await;
        assert!(!error_code(&answer).is_empty(), "{answer}");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn event_ids_are_unique_within_the_session() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    let mut ids = HashSet::new();
    for round in 0..3 {
        let entries: Vec<Value> = (0..20)
            .map(|i| entry(&format!("event-{}", i % 7)))
            .collect();
        let (valid, _) = client.register(json!(entries)).await;
        for entry in &valid {
            let id = entry["eventId"].as_str().expect("a string").to_owned();
            assert!(ids.insert(id), "an id came twice: {entry}");
        }
        let gone: Vec<Value> = valid[..5]
            .iter()
            .map(|entry| json!({"eventId": entry["eventId"]}))
            .collect();
        client
            .ask(json!({"objType": "UNREGISTER", "onEvents": gone}))
            .await;
        assert_eq!(ids.len(), (round + 1) * 20);
    }
}

/// Entries that must be refused: what is wrong with each, its code, the entry.
fn invalid_entries() -> Vec<(&'static str, &'static str, Value)> {
    let typed = |event_type: Value| json!({"eventType": event_type, "apiName": "orders"});
    let named = |name: Value| json!({"eventType": "CUSTOM_WS_EVENTS", "apiName": name});
    let criteria = |criteria: Value| conditional("orders", criteria);
    let with = |name: &str, value: Value| {
        let mut changed = entry("orders");
        changed[name] = value;
        changed
    };
    let levels =
        |count: usize| (1..count).fold(json!({"a": 1}), |inner, _| json!({"$and": [inner]}));
    let operators: Vec<Value> = (0..65).map(|i| json!({"a": {"$gt": i}})).collect();
    let values: Vec<u32> = (0..101).collect();
    let unsupported = "EVENT_TYPE_UNSUPPORTED";
    let mut rows = vec![
        ("unknown type", unsupported, typed(json!("NOPE"))),
        (
            "type in lower case",
            unsupported,
            typed(json!("custom_ws_events")),
        ),
        ("type of another kind", unsupported, typed(json!(5))),
        ("no type", unsupported, json!({"apiName": "orders"})),
        (
            "no name",
            "EVENT_NAME_INVALID",
            json!({"eventType": "CUSTOM_WS_EVENTS"}),
        ),
        ("empty name", "EVENT_NAME_INVALID", named(json!(""))),
        (
            "name of 201 bytes",
            "EVENT_NAME_INVALID",
            named(json!("n".repeat(201))),
        ),
        (
            "name of 202 bytes in 101 letters",
            "EVENT_NAME_INVALID",
            named(json!("ü".repeat(101))),
        ),
        (
            "name with a line break",
            "EVENT_NAME_INVALID",
            named(json!("a\nb")),
        ),
        (
            "name with a zero",
            "EVENT_NAME_INVALID",
            named(json!("a\u{0}b")),
        ),
        (
            "name of another kind",
            "EVENT_NAME_INVALID",
            named(json!(5)),
        ),
        (
            "condition of another kind",
            "CONDITION_INVALID",
            with("condition", json!("all")),
        ),
        (
            "condition without criteria",
            "CONDITION_INVALID",
            with("condition", json!({"conditionType": "RESPONSE"})),
        ),
        (
            "condition of an unknown type",
            "CONDITION_INVALID",
            with(
                "condition",
                json!({"conditionType": "NOPE", "criteria": {"a": 1}}),
            ),
        ),
        (
            "criteria of another kind",
            "CONDITION_INVALID",
            criteria(json!([1])),
        ),
        (
            "unknown operator at the top",
            "CONDITION_INVALID",
            criteria(json!({"$where": "true"})),
        ),
        (
            "unknown operator below",
            "CONDITION_INVALID",
            criteria(json!({"a": {"$near": 1}})),
        ),
        (
            "unknown operator deep",
            "CONDITION_INVALID",
            criteria(json!({"$or": [{"a": {"$not": {"$elemMatch": {"$nope": 1}}}}]})),
        ),
        (
            "backreference",
            "CONDITION_INVALID",
            criteria(json!({"a": {"$regex": r"(a)\1"}})),
        ),
        (
            "look-around",
            "CONDITION_INVALID",
            criteria(json!({"a": {"$regex": "(?=a)"}})),
        ),
        (
            "unknown option of a pattern",
            "CONDITION_INVALID",
            criteria(json!({"a": {"$regex": "a", "$options": "g"}})),
        ),
        (
            "$in without a list",
            "CONDITION_INVALID",
            criteria(json!({"a": {"$in": 5}})),
        ),
        (
            "too many levels",
            "CONDITION_TOO_LARGE",
            criteria(levels(40)),
        ),
        (
            "65 operators",
            "CONDITION_TOO_LARGE",
            criteria(json!({"$and": operators})),
        ),
        (
            "more than 4 KiB",
            "CONDITION_TOO_LARGE",
            criteria(json!({"a": "x".repeat(4_200)})),
        ),
        (
            "101 values in $in",
            "CONDITION_TOO_LARGE",
            criteria(json!({"a": {"$in": values}})),
        ),
        (
            "select mixes",
            "SELECT_INVALID",
            with("select", json!({"a": 1, "b": 0})),
        ),
        (
            "select of another kind",
            "SELECT_INVALID",
            with("select", json!("a")),
        ),
        (
            "select with a text",
            "SELECT_INVALID",
            with("select", json!({"a": "yes"})),
        ),
        (
            "recover of another kind",
            "RECOVER_INVALID",
            with("recover", json!("k3x")),
        ),
        (
            "recover without an offset",
            "RECOVER_INVALID",
            with("recover", json!({"epoch": "k3x"})),
        ),
        (
            "recover with a negative offset",
            "RECOVER_INVALID",
            with("recover", json!({"epoch": "k3x", "offset": -1})),
        ),
    ];
    for reserved in [
        "INSTANCES",
        "SYSTEM_APIS",
        "CUSTOM_APIS",
        "THIRD_PARTY_APIS",
    ] {
        rows.push(("reserved type", unsupported, typed(json!(reserved))));
    }
    rows
}

#[tokio::test]
async fn every_kind_of_invalid_entry_is_told_its_code_and_spoils_no_other() {
    let node = Node::start(&[("LIMITS__MESSAGES_PER_SECOND", "1000")]);
    let mut client = client_of(&node).await;
    for (what, code, bad) in invalid_entries() {
        let before = entry("good-before");
        let (valid, invalid) = client
            .register(json!([before, bad, entry("good-after")]))
            .await;
        assert_eq!(invalid.len(), 1, "{what}");
        assert_eq!(
            invalid[0]["error"]["code"], code,
            "{what}: {}",
            invalid[0]["error"]
        );
        let message = invalid[0]["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "{what}: an error says what to do");
        let mut echoed = invalid[0].clone();
        echoed.as_object_mut().expect("an entry").remove("error");
        assert_eq!(echoed, bad, "{what}");
        let names: Vec<&Value> = valid.iter().map(|entry| &entry["apiName"]).collect();
        assert_eq!(names, ["good-before", "good-after"], "{what}");
        let gone: Vec<Value> = valid
            .iter()
            .map(|entry| json!({"eventId": entry["eventId"]}))
            .collect();
        client
            .ask(json!({"objType": "UNREGISTER", "onEvents": gone}))
            .await;
    }
}

#[tokio::test]
async fn an_entry_that_is_no_object_is_invalid() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    let (valid, invalid) = client
        .register(json!([5, "orders", null, [], entry("orders")]))
        .await;
    assert_eq!(valid.len(), 1);
    assert_eq!(invalid.len(), 4);
    assert!(
        invalid
            .iter()
            .all(|entry| entry["error"]["code"].is_string()),
        "{invalid:?}"
    );
}

#[tokio::test]
async fn an_unknown_operator_is_named() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    let bad = conditional("orders", json!({"a": {"$near": 1}}));
    let (_, invalid) = client.register(json!([bad])).await;
    let message = invalid[0]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("$near"), "{message}");
}

#[tokio::test]
async fn names_at_their_bounds_are_good() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    for name in [
        "n",
        &"n".repeat(200),
        &"ü".repeat(100),
        "Größe / 大 \"quoted\" \\",
    ] {
        client.subscribe(entry(name)).await;
    }
}

#[tokio::test]
async fn a_recover_is_answered_not_recovered_while_events_keep_no_history() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    let mut wished = entry("orders");
    wished["recover"] = json!({"epoch": "k3x", "offset": 1041});
    let (valid, invalid) = client.register(json!([wished])).await;
    assert!(invalid.is_empty(), "{invalid:?}");
    assert_eq!(valid[0]["recovered"], false);
}

#[tokio::test]
async fn the_hundred_and_first_subscription_is_refused_and_room_comes_back() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    let entries: Vec<Value> = (0..101).map(|i| entry(&format!("event-{i}"))).collect();
    let (valid, invalid) = client.register(json!(entries)).await;
    assert_eq!((valid.len(), invalid.len()), (100, 1));
    assert_eq!(invalid[0]["apiName"], "event-100");
    assert_eq!(invalid[0]["error"]["code"], "TOO_MANY_SUBSCRIPTIONS");
    let gone = json!([{"eventId": valid[7]["eventId"]}]);
    client
        .ask(json!({"objType": "UNREGISTER", "onEvents": gone}))
        .await;
    let (valid, invalid) = client.register(json!([entry("a"), entry("b")])).await;
    assert_eq!((valid.len(), invalid.len()), (1, 1));
}

#[tokio::test]
async fn after_unregister_nothing_more_comes_for_that_id() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    let gone = client.subscribe(entry("orders")).await;
    let kept = client.subscribe(entry("orders")).await;
    let answer = client
        .ask(json!({"objType": "UNREGISTER", "guid": "u", "onEvents": [{"eventId": gone}]}))
        .await;
    assert_eq!(
        answer,
        json!({"type": "UNREGISTER", "guid": "u", "response":
            {"validOnEvents": [{"eventId": gone}], "invalidOnEvents": []}})
    );
    for data in [1, 2] {
        emit(
            &node,
            &tokens.api,
            &json!({"name": "orders", "eventData": data}).to_string(),
        );
        assert_eq!(
            client.next_notification().await,
            (kept.clone(), json!(data))
        );
    }
}

#[tokio::test]
async fn an_id_that_is_not_registered_is_told_and_spoils_no_other() {
    let node = Node::start(&[]);
    let mut client = client_of(&node).await;
    let id = client.subscribe(entry("orders")).await;
    let wished =
        json!([{"eventId": "no-such-id"}, {"eventId": id}, {"eventId": id}, {"eventId": 5}, {}]);
    let answer = client
        .ask(json!({"objType": "UNREGISTER", "onEvents": wished}))
        .await;
    let (valid, invalid) = lists(&answer);
    assert_eq!(valid, [json!({"eventId": id})]);
    assert_eq!(invalid.len(), 4);
    for entry in invalid {
        assert_eq!(entry["error"]["code"], "NOT_REGISTERED", "{entry}");
    }
}
