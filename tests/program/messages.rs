//! The envelope of client messages: unknown messages, and the guid of answers.

use crate::support::client::{Client, entry, lists};
use crate::support::{Node, error_code};
use serde_json::json;

/// Asserts that the session still answers.
async fn still_answers(client: &mut Client) {
    client.subscribe(entry("still-answers")).await;
}

#[tokio::test]
async fn a_message_that_is_not_a_json_object_is_answered_with_an_error_and_the_session_stays_open() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let broken = ["", "{", "nope", r#"{"objType":"REGISTER",}"#, "{} {}", "\u{feff}{}"];
    let no_object = ["[]", r#""REGISTER""#, "5", "null", r#"["REGISTER","g",[],null]"#];
    for text in broken.into_iter().chain(no_object) {
        client.send(text).await;
        let answer = client.next_json().await;
        assert_eq!(answer["type"], "UNKNOWN", "{text}: {answer}");
        assert_eq!(error_code(&answer), "INVALID_JSON", "{text}: {answer}");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn an_unknown_message_is_answered_with_an_error_and_the_session_stays_open() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    for text in [
        r#"{"objType":"NOPE"}"#,
        r#"{"objType":"register","onEvents":[]}"#,
        r#"{"objType":7}"#,
        r#"{"objType":null}"#,
        r#"{}"#,
    ] {
        client.send(text).await;
        let answer = client.next_json().await;
        assert_eq!(answer["type"], "UNKNOWN", "{text}: {answer}");
        assert_eq!(error_code(&answer), "UNKNOWN_MESSAGE", "{text}: {answer}");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn deeply_nested_json_is_answered_with_an_error_and_the_session_stays_open() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    for text in ["[".repeat(60_000), "{\"a\":".repeat(12_000)] {
        client.send(text).await;
        assert_eq!(client.next_json().await["type"], "UNKNOWN");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn every_answer_repeats_a_guid_of_up_to_64_bytes() {
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
async fn an_answer_without_a_guid_in_the_message_has_none() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let answer = client.ask(json!({"objType": "REGISTER", "onEvents": []})).await;
    assert_eq!(answer.get("guid"), None, "{answer}");
}

#[tokio::test]
async fn a_guid_that_is_too_long_or_not_a_string_is_an_unknown_message() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    for guid in [json!("g".repeat(65)), json!("ü".repeat(33)), json!(5), json!({"a": 1}), json!([])] {
        let message = json!({"objType": "REGISTER", "guid": guid, "onEvents": [entry("a")]});
        let answer = client.ask(message).await;
        assert_eq!(answer["type"], "UNKNOWN", "{answer}");
        assert_eq!(error_code(&answer), "UNKNOWN_MESSAGE", "{answer}");
    }
    still_answers(&mut client).await;
}

#[tokio::test]
async fn both_lists_are_always_present_and_empty_without_entries() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    for message in ["REGISTER", "UNREGISTER"] {
        let answer = client.ask(json!({"objType": message, "onEvents": []})).await;
        assert_eq!(answer["type"], message);
        assert_eq!(lists(&answer), (vec![], vec![]));
    }
}

#[tokio::test]
async fn entries_that_are_not_a_list_are_answered_with_an_error() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    for message in ["REGISTER", "UNREGISTER"] {
        for entries in [json!(null), json!("orders"), json!({"a": 1}), json!(5)] {
            let answer = client.ask(json!({"objType": message, "onEvents": entries})).await;
            assert!(!error_code(&answer).is_empty(), "{entries}: {answer}");
        }
        let answer = client.ask(json!({"objType": message})).await;
        assert!(!error_code(&answer).is_empty(), "{answer}");
    }
    still_answers(&mut client).await;
}
