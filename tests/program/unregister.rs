//! UNREGISTER: the end of a subscription.

use crate::support::client::{Client, entry, lists};
use crate::support::{Node, emit};
use serde_json::json;

#[tokio::test]
async fn no_notification_follows_the_answer_to_unregister() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    let gone = client.subscribe(entry("orders")).await;
    let kept = client.subscribe(entry("orders")).await;
    let answer = client.ask(json!({"objType": "UNREGISTER", "guid": "u", "onEvents": [{"eventId": gone}]})).await;
    assert_eq!(
        answer,
        json!({"type": "UNREGISTER", "guid": "u", "response":
            {"validOnEvents": [{"eventId": gone}], "invalidOnEvents": []}})
    );
    for data in [1, 2] {
        emit(&node, &tokens.api, &json!({"name": "orders", "eventData": data}).to_string());
        assert_eq!(client.next_notification().await, (kept.clone(), json!(data)));
    }
}

#[tokio::test]
async fn an_unknown_id_is_reported_and_affects_no_other_id() {
    let node = Node::start(&[]);
    let mut client = Client::of(&node).await;
    let id = client.subscribe(entry("orders")).await;
    let wished = json!([{"eventId": "no-such-id"}, {"eventId": id}, {"eventId": id}, {"eventId": 5}, {}]);
    let answer = client.ask(json!({"objType": "UNREGISTER", "onEvents": wished})).await;
    let (valid, invalid) = lists(&answer);
    assert_eq!(valid, [json!({"eventId": id})]);
    assert_eq!(invalid.len(), 4);
    for entry in invalid {
        assert_eq!(entry["error"]["code"], "NOT_REGISTERED", "{entry}");
    }
}
