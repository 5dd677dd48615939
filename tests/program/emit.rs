//! The answers to emits: one event, a batch, and the same event again.

use crate::support::client::{Client, entry};
use crate::support::http::{EMIT, emit_at, emit_request};
use crate::support::tokens::add_project;
use crate::support::{Answer, Claims, Node, emit, eventually, request};
use serde_json::{Value, json};
use std::collections::HashSet;

fn emit_one(node: &Node, token: &str, body: Value) -> Answer {
    emit(node, token, &body.to_string())
}

/// Asserts that the emit was accepted, and returns its id.
fn accepted(answer: &Value) -> String {
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(answer["statusCode"], 200, "{answer}");
    let id = answer["data"]["id"].as_str().expect("an emit's id");
    assert!(!id.is_empty());
    id.to_owned()
}

/// A body of exactly this length.
fn body_of(bytes: usize) -> String {
    let frame = r#"{"name":"orders","eventData":""}"#.len();
    format!(r#"{{"name":"orders","eventData":"{}"}}"#, "x".repeat(bytes - frame))
}

/// Event data with exactly this number of levels.
fn nested(levels: usize) -> String {
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    format!(r#"{{"name":"orders","eventData":{open}{close}}}"#)
}

#[test]
fn an_accepted_emit_is_answered_200_with_an_id_of_its_own() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut ids = HashSet::new();
    for _ in 0..3 {
        let answer = emit_one(&node, &tokens.api, json!({"name": "orders", "eventData": {"a": 1}}));
        assert_eq!(answer.status, 200);
        let kind = answer.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/json"), "{kind}");
        assert!(ids.insert(accepted(&answer.json())));
    }
}

#[test]
fn an_emit_may_carry_a_user_token_too() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut headers = tokens.headers().to_vec();
    headers.push(("Content-Type", "application/json; charset=utf-8"));
    let body = br#"{"name":"orders","eventData":1}"#;
    let answer = request(node.address(), "POST", EMIT, &headers, body);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn each_item_of_a_batch_is_answered_in_order_and_a_bad_item_affects_no_other() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    client.subscribe(entry("orders")).await;
    let batch = json!([
        {"name": "orders", "eventData": 0},
        {"name": "", "eventData": 1},
        {"eventData": 2},
        {"name": "orders"},
        5,
        {"name": "orders", "eventData": 5},
    ]);
    let answer = emit_one(&node, &tokens.api, batch);
    assert_eq!(answer.status, 200);
    let answers = answer.json();
    let answers = answers.as_array().expect("one answer each");
    assert_eq!(answers.len(), 6);
    for bad in &answers[1..5] {
        assert_eq!(bad["success"], false, "{bad}");
        assert_eq!(bad["statusCode"], 400, "{bad}");
        assert!(bad["errors"][0]["code"].is_string(), "{bad}");
    }
    assert_eq!(answers[1]["errors"][0]["code"], "EVENT_NAME_INVALID");
    assert_ne!(accepted(&answers[0]), accepted(&answers[5]));
    assert_eq!(client.next_notification().await.1, 0);
    assert_eq!(client.next_notification().await.1, 5);
}

#[test]
fn a_batch_holds_1_to_1000_emits() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    for (count, status) in [(0, 400), (1, 200), (1000, 200), (1001, 400)] {
        let item = json!({"name": "orders", "eventData": 1});
        let answer = emit_one(&node, &tokens.api, json!(vec![item; count]));
        assert_eq!(answer.status, status, "{count} emits");
        if status == 200 {
            let answers = answer.json();
            assert_eq!(answers.as_array().map(Vec::len), Some(count));
            answers.as_array().into_iter().flatten().for_each(|answer| {
                accepted(answer);
            });
        } else {
            assert!(!answer.refusal(400).is_empty());
        }
    }
}

#[tokio::test]
async fn the_same_idempotency_key_gets_the_first_answer_and_is_delivered_once() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    client.subscribe(entry("orders")).await;
    let keyed = |data: u32, key: &str| json!({"name": "orders", "eventData": data, "idempotencyKey": key});
    let first = emit_one(&node, &tokens.api, keyed(1, "k1")).json();
    assert_eq!(first.get("duplicate"), None, "{first}");
    let id = accepted(&first);
    let again = emit_one(&node, &tokens.api, keyed(2, "k1"));
    assert_eq!(again.status, 200);
    let again = again.json();
    assert_eq!(again["duplicate"], true, "{again}");
    assert_eq!(accepted(&again), id);
    let batch = emit_one(&node, &tokens.api, json!([keyed(3, "k1"), keyed(4, "k2"), keyed(5, "k2")])).json();
    let duplicates: Vec<bool> = (0..3).map(|i| batch[i]["duplicate"] == true).collect();
    assert_eq!(duplicates, [true, false, true], "{batch}");
    assert_eq!(accepted(&batch[0]), id);
    assert_eq!(accepted(&batch[1]), accepted(&batch[2]));
    emit_one(&node, &tokens.api, json!({"name": "orders", "eventData": 6}));
    for data in [1, 4, 6] {
        assert_eq!(client.next_notification().await.1, data);
    }
}

#[test]
fn another_project_may_use_the_same_idempotency_key() {
    let node = Node::start(&[]);
    add_project(node.directory(), "other");
    for project in ["demo", "other"] {
        let token = node.token(Claims::api("emit").of_project(project));
        let body = r#"{"name":"orders","eventData":1,"idempotencyKey":"k"}"#;
        let answer = emit_at(node.address(), project, &token, body).json();
        accepted(&answer);
        assert_eq!(answer.get("duplicate"), None, "{project}: {answer}");
    }
}

#[test]
fn a_refused_emit_does_not_use_up_its_idempotency_key() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let bad = json!({"name": "", "eventData": 1, "idempotencyKey": "k"});
    assert_eq!(emit_one(&node, &tokens.api, bad).status, 400);
    let good = json!({"name": "orders", "eventData": 1, "idempotencyKey": "k"});
    let answer = emit_one(&node, &tokens.api, good).json();
    assert_eq!(answer.get("duplicate"), None, "{answer}");
}

#[test]
fn a_node_with_all_idempotency_keys_in_use_refuses_new_ones_until_old_ones_expire() {
    let node = Node::start(&[("LIMITS__IDEMPOTENCY_KEYS", "2"), ("LIMITS__IDEMPOTENCY_SECONDS", "2")]);
    let tokens = node.tokens();
    let keyed = |key: &str| {
        let body = json!({"name": "orders", "eventData": 1, "idempotencyKey": key});
        emit_one(&node, &tokens.api, body)
    };
    let first = accepted(&keyed("k1").json());
    accepted(&keyed("k2").json());
    let refused = keyed("k3");
    assert_eq!(refused.refusal(429), "RATE_LIMITED");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(accepted(&keyed("k1").json()), first);
    eventually("room for a key", || keyed("k3").status == 200);
    eventually("the first key to be forgotten", || {
        let answer = keyed("k1");
        answer.status == 200 && accepted(&answer.json()) != first
    });
}

#[test]
fn a_project_that_has_used_up_its_share_of_idempotency_keys_leaves_other_projects_theirs() {
    let node = Node::start(&[("LIMITS__IDEMPOTENCY_KEYS_PER_PROJECT", "2"), ("LIMITS__IDEMPOTENCY_SECONDS", "2")]);
    add_project(node.directory(), "other");
    let keyed = |project: &str, key: &str| {
        let token = node.token(Claims::api("emit").of_project(project));
        let body = json!({"name": "orders", "eventData": 1, "idempotencyKey": key}).to_string();
        emit_at(node.address(), project, &token, &body)
    };
    assert_eq!(["a", "b"].map(|key| keyed("demo", key).status), [200; 2]);
    let refused = keyed("demo", "c");
    assert_eq!((refused.refusal(429).as_str(), refused.header("retry-after")), ("RATE_LIMITED", Some("1")));
    assert_eq!(["a", "b"].map(|key| keyed("other", key).status), [200; 2]);
    assert_eq!(keyed("demo", "a").json()["duplicate"], true, "a known key needs no room");
    assert!(node.limit_count("idempotency_keys_per_project") >= 1.0);
    eventually("room for a key", || keyed("demo", "c").status == 200);
}

#[test]
fn a_body_at_the_limit_is_accepted_and_one_byte_more_is_answered_413() {
    for (settings, limit) in [(vec![], 262_144), (vec![("LIMITS__EMIT_BYTES", "2000")], 2000)] {
        let node = Node::start(&settings);
        let tokens = node.tokens();
        for bytes in [limit - 1, limit] {
            assert_eq!(emit(&node, &tokens.api, &body_of(bytes)).status, 200, "{bytes}");
        }
        let refusal = emit(&node, &tokens.api, &body_of(limit + 1)).refusal(413);
        assert_eq!(refusal, "PAYLOAD_TOO_LARGE");
    }
}

#[test]
fn event_data_of_128_levels_is_accepted_and_one_more_is_answered_400() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    for (levels, status) in [(128, 200), (129, 400), (20_000, 400)] {
        let answer = emit(&node, &tokens.api, &nested(levels));
        assert_eq!(answer.status, status, "{levels} levels");
    }
    let batch = format!("[{}]", nested(128));
    assert_eq!(emit(&node, &tokens.api, &batch).json()[0]["statusCode"], 200);
    let batch = format!("[{}]", nested(129));
    let answer = emit(&node, &tokens.api, &batch);
    let status = answer.json()[0]["statusCode"].as_u64();
    assert_eq!(status.unwrap_or(u64::from(answer.status)), 400);
}

#[test]
fn emits_over_the_rate_of_the_project_are_answered_429_with_retry_after() {
    let node = Node::start(&[("LIMITS__EMITS_PER_SECOND", "5")]);
    let tokens = node.tokens();
    let mut socket = crate::support::RawSocket::connect(node.address());
    let bytes = emit_request(&tokens.api, r#"{"name":"orders","eventData":1}"#);
    let answers: Vec<Answer> = (0..200)
        .map(|_| {
            socket.write(&bytes);
            socket.read_answer()
        })
        .collect();
    assert_eq!(answers[0].status, 200);
    let refused = answers.iter().find(|answer| answer.status != 200);
    let refused = refused.expect("200 emits in a second are more than 5");
    assert_eq!(refused.refusal(429), "RATE_LIMITED");
    let seconds = refused.header("retry-after").expect("when to come back");
    assert!(seconds.parse::<u64>().is_ok_and(|seconds| seconds >= 1), "{seconds}");
}

#[test]
fn an_emit_without_subscribers_is_accepted() {
    let node = Node::start(&[]);
    let token = node.token(Claims::api("emit"));
    let body = json!({"name": "nobody-listens", "eventData": {}});
    accepted(&emit_one(&node, &token, body).json());
}
