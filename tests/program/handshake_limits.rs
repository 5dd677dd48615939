//! Valid upgrades that are refused: too many sessions, or a forbidden origin.

use crate::support::client::Client;
use crate::support::{Answer, Claims, Node, Tokens, eventually};
use tokio_tungstenite::tungstenite::Error;

/// The status of a refused upgrade.
async fn refused(node: &Node, tokens: &Tokens, headers: &[(&str, &str)]) -> Answer {
    let mut all = tokens.headers().to_vec();
    all.extend_from_slice(headers);
    match Client::try_open(node, "/ws", &all).await {
        Err(Error::Http(response)) => Answer {
            status: response.status().as_u16(),
            headers: response
                .headers()
                .iter()
                .map(|(key, value)| (key.to_string(), value.to_str().unwrap_or("").to_owned()))
                .collect(),
            body: response.into_body().unwrap_or_default(),
        },
        Err(error) => panic!("not an HTTP answer: {error}"),
        Ok(_) => panic!("the upgrade was granted"),
    }
}

#[tokio::test]
async fn a_full_node_answers_503_until_a_session_ends() {
    let node = Node::start(&[("LIMITS__SESSIONS", "1")]);
    let tokens = node.tokens();
    let first = Client::connect(&node, &tokens).await;
    let answer = refused(&node, &tokens, &[]).await;
    assert_eq!(answer.status, 503);
    let seconds = answer.header("retry-after").expect("when to come back");
    assert!(seconds.parse::<u64>().is_ok(), "{seconds}");
    drop(first);
    eventually("room for a session", || node.metric("carillon_sessions", "") == 0.0);
    Client::connect(&node, &tokens).await;
}

#[tokio::test]
async fn too_many_sessions_of_one_user_are_answered_429() {
    let node = Node::start(&[("LIMITS__SESSIONS_PER_USER", "2")]);
    let tokens = node.tokens();
    let _first = Client::connect(&node, &tokens).await;
    let second = Client::connect(&node, &tokens).await;
    assert_eq!(refused(&node, &tokens, &[]).await.status, 429);
    let mut other = tokens.clone();
    other.user = node.token(Claims::user("u2"));
    Client::connect(&node, &other).await;
    drop(second);
    eventually("one session less", || node.metric("carillon_sessions", "") == 1.0);
    Client::connect(&node, &tokens).await;
}

#[tokio::test]
async fn too_many_sessions_of_one_address_are_answered_429() {
    let node = Node::start(&[("LIMITS__SESSIONS_PER_ADDRESS", "1")]);
    let tokens = node.tokens();
    let first = Client::connect(&node, &tokens).await;
    let mut other = tokens.clone();
    other.user = node.token(Claims::user("u2"));
    assert_eq!(refused(&node, &other, &[]).await.status, 429);
    drop(first);
    eventually("room for a session", || node.metric("carillon_sessions", "") == 0.0);
    Client::connect(&node, &other).await;
}

#[tokio::test]
async fn an_origin_that_is_not_allowed_is_answered_403() {
    let node = Node::start(&[("HTTP__ALLOWED_ORIGINS", "https://shop.example,https://desk.example")]);
    let tokens = node.tokens();
    for origin in ["https://evil.example", "null", "https://shop.example.evil.example"] {
        let answer = refused(&node, &tokens, &[("Origin", origin)]).await;
        assert_eq!(answer.status, 403, "{origin}");
    }
    let mut headers = tokens.headers().to_vec();
    headers.push(("Origin", "https://desk.example"));
    Client::open(&node, "/ws", &headers).await;
    Client::connect(&node, &tokens).await;
}

#[tokio::test]
async fn by_default_any_origin_may_connect() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let mut headers = tokens.headers().to_vec();
    headers.push(("Origin", "https://anywhere.example"));
    Client::open(&node, "/ws", &headers).await;
}
