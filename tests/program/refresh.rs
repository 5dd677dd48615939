//! REFRESH: new tokens for an open session.

use crate::support::client::{Client, entry};
use crate::support::tokens::add_project;
use crate::support::{Claims, Node, Tokens, emit, error_code};
use serde_json::{Value, json};

/// A REFRESH with the given tokens.
fn refresh(api: Option<&str>, user: Option<&str>) -> Value {
    let mut tokens = json!({});
    if let Some(api) = api {
        tokens["x-am-authorization"] = json!(api);
    }
    if let Some(user) = user {
        tokens["x-am-user-authorization"] = json!(user);
    }
    json!({"objType": "REFRESH", "tokens": tokens})
}

#[tokio::test]
async fn a_refresh_may_replace_one_or_both_tokens_and_returns_the_earlier_expiry() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    let long = Claims::api("connect").expiring_in(9_000);
    let short = Claims::user("u1").expiring_in(500);
    let shorter = Claims::api("connect").expiring_in(300);
    let rows = [
        (Some(&long), Some(&short), short.expiry()),
        (Some(&shorter), None, shorter.expiry()),
        (Some(&long), None, short.expiry()),
    ];
    for (api, user, expiry) in rows {
        let api = api.map(|claims| node.token(claims.clone()));
        let user = user.map(|claims| node.token(claims.clone()));
        let answer = client.ask(refresh(api.as_deref(), user.as_deref())).await;
        assert_eq!(answer["type"], "REFRESH", "{answer}");
        assert_eq!(answer["response"]["expiresAt"], expiry, "{answer}");
    }
}

#[tokio::test]
async fn a_refresh_is_answered_immediately_and_not_at_the_next_tick() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    let start = std::time::Instant::now();
    for _ in 0..20 {
        client.ask(refresh(Some(&tokens.api), Some(&tokens.user))).await;
    }
    // The hub ticks once per second. If answers waited for ticks, twenty would take twenty seconds.
    assert!(start.elapsed() < std::time::Duration::from_secs(8), "{:?}", start.elapsed());
}

#[tokio::test]
async fn subscriptions_survive_a_refresh() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut client = Client::connect(&node, &tokens).await;
    let id = client.subscribe(entry("orders")).await;
    let answer = client.ask(refresh(Some(&tokens.api), Some(&tokens.user))).await;
    assert!(answer["response"]["expiresAt"].is_number(), "{answer}");
    emit(&node, &tokens.api, r#"{"name":"orders","eventData":1}"#);
    assert_eq!(client.next_notification().await, (id, json!(1)));
}

#[tokio::test]
async fn a_refresh_with_bad_tokens_is_answered_with_the_reason_and_the_old_tokens_stay() {
    let node = Node::start(&[]);
    let old_user = Claims::user("u1").expiring_in(500);
    let tokens = Tokens { api: node.token(Claims::api("connect emit")), user: node.token(old_user.clone()) };
    let mut client = Client::connect(&node, &tokens).await;
    let user = |claims: Claims| (None, Some(node.token(claims)));
    let api = |claims: Claims| (Some(node.token(claims)), None);
    add_project(node.directory(), "other");
    let rows = [
        ("another person", None, user(Claims::user("u2"))),
        ("another project", Some("PROJECT_MISMATCH"), user(Claims::user("u1").of_project("other"))),
        ("another project's API token", Some("PROJECT_MISMATCH"), api(Claims::api("connect").of_project("other"))),
        ("an expired user token", Some("TOKEN_EXPIRED"), user(Claims::user("u1").expiring_in(-60))),
        ("an expired API token", Some("TOKEN_EXPIRED"), api(Claims::api("connect").expiring_in(-60))),
        ("no scope to connect", Some("TOKEN_SCOPE"), api(Claims::api("emit"))),
        ("an unknown key", Some("TOKEN_INVALID"), (None, Some(Claims::user("u1").sign_wrongly()))),
        ("no token at all", Some("TOKEN_INVALID"), (Some("nope".to_owned()), None)),
        (
            "a good one beside a bad one",
            Some("TOKEN_INVALID"),
            (Some("nope".to_owned()), Some(node.token(Claims::user("u1")))),
        ),
        ("nothing", Some("TOKEN_MISSING"), (None, None)),
    ];
    for (what, code, (api, user)) in rows {
        let answer = client.ask(refresh(api.as_deref(), user.as_deref())).await;
        assert_eq!(answer["type"], "REFRESH", "{what}: {answer}");
        assert_eq!(answer.get("response"), None, "{what}: {answer}");
        let answered = error_code(&answer);
        assert_eq!(answered, code.unwrap_or(answered), "{what}: {answer}");
        assert!(!answered.is_empty(), "{what}: {answer}");
    }
    // The old user token expires first, and still determines the expiry.
    let answer = client.ask(refresh(Some(&tokens.api), None)).await;
    assert_eq!(answer["response"]["expiresAt"], old_user.expiry(), "{answer}");
}

#[tokio::test]
async fn a_refresh_with_tokens_that_are_not_strings_is_an_error_and_the_session_stays_open() {
    let node = Node::start(&[]);
    let mut client = Client::connect(&node, &node.tokens()).await;
    for tokens in [json!(null), json!("a"), json!([]), json!({"x-am-authorization": 5})] {
        let answer = client.ask(json!({"objType": "REFRESH", "tokens": tokens})).await;
        assert!(!error_code(&answer).is_empty(), "{tokens}: {answer}");
    }
    client.subscribe(entry("orders")).await;
}
