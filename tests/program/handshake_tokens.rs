//! The tokens of an upgrade: the three places for them, and every kind of refused token.

use crate::support::client::Client;
use crate::support::raw::{answer_to, upgrade_request};
use crate::support::{Claims, Node, Tokens, error_code, tokens::seconds_since_epoch};
use serde_json::json;

/// Opens a session with tokens that must be refused. Returns the error code.
async fn refusal_of_tokens(node: &Node, path: &str, headers: &[(&str, &str)]) -> String {
    let mut client = Client::open(node, path, headers).await;
    let message = client.next_json().await;
    assert_eq!(message["type"], "TOKEN_VALIDATION", "{message}");
    let text = message["errors"][0]["message"].as_str().unwrap_or_default();
    assert!(!text.is_empty(), "an error says what to do: {message}");
    client.expect_close(4401).await;
    error_code(&message).to_owned()
}

#[tokio::test]
async fn tokens_are_taken_from_headers_query_or_subprotocol() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let query = tokens.in_query("/ws");
    let subprotocol = tokens.in_subprotocol();
    let offered = [("Sec-WebSocket-Protocol", subprotocol.as_str())];
    let ways: [(&str, &[(&str, &str)]); 3] = [("/ws", &tokens.headers()), (&query, &[]), ("/ws", &offered)];
    for (path, headers) in ways {
        let mut client = Client::open(&node, path, headers).await;
        assert_eq!(client.next_json().await["type"], "CONNECTED");
    }
}

#[tokio::test]
async fn an_api_token_may_come_as_a_bearer_token_and_any_other_way_wins() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let user = ("x-am-user-authorization", tokens.user.as_str());
    let (good, bad) = (format!("Bearer {}", tokens.api), "bearer no.such.token");
    let in_query = format!("/ws?x-am-authorization={}", tokens.api);
    let offer = format!("carillon.v1, api.{}", tokens.api);
    let ways: [(&str, &[(&str, &str)]); 4] = [
        ("/ws", &[("Authorization", &good), user]),
        ("/ws", &[("Authorization", bad), ("x-am-authorization", &tokens.api), user]),
        (&in_query, &[("Authorization", bad), user]),
        ("/ws", &[("Authorization", bad), ("Sec-WebSocket-Protocol", &offer), user]),
    ];
    for (path, headers) in ways {
        let mut client = Client::open(&node, path, headers).await;
        assert_eq!(client.next_json().await["type"], "CONNECTED", "{headers:?}");
    }
    assert_eq!(refusal_of_tokens(&node, "/ws", &[("Authorization", bad), user]).await, "TOKEN_INVALID");
    assert_eq!(refusal_of_tokens(&node, "/ws", &[("Authorization", "Basic dTpw"), user]).await, "TOKEN_MISSING");
}

#[tokio::test]
async fn a_token_with_bearer_in_front_is_refused_with_a_message_that_names_the_header() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let (api, user) = (format!("Bearer {}", tokens.api), format!("Bearer {}", tokens.user));
    let cases = [
        ("x-am-authorization", [("x-am-authorization", api.as_str()), ("x-am-user-authorization", &tokens.user)]),
        ("x-am-user-authorization", [("x-am-authorization", &tokens.api), ("x-am-user-authorization", &user)]),
    ];
    for (name, headers) in cases {
        let mut client = Client::open(&node, "/ws", &headers).await;
        let message = client.next_json().await;
        assert_eq!(error_code(&message), "TOKEN_INVALID", "{message}");
        let expected = format!("remove `Bearer ` from the header {name}:");
        assert!(message["errors"][0]["message"].as_str().is_some_and(|text| text.contains(&expected)), "{message}");
        client.expect_close(4401).await;
    }
}

#[test]
fn one_subprotocol_is_echoed_and_never_one_with_a_token() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let offers = [
        (tokens.in_subprotocol(), Some("carillon.v1")),
        (format!("user.{}, carillon.v1, api.{}", tokens.user, tokens.api), Some("carillon.v1")),
    ];
    for (offer, echoed) in offers {
        let headers = [("Sec-WebSocket-Protocol", offer.as_str())];
        let answer = answer_to(&node, &upgrade_request("/ws", &headers));
        assert_eq!(answer.status, 101);
        let lines = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
        assert_eq!(lines.count(), usize::from(echoed.is_some()));
        assert_eq!(answer.header("sec-websocket-protocol"), echoed);
    }
    let mut headers = tokens.headers().to_vec();
    headers.push(("Sec-WebSocket-Protocol", "chat, superchat"));
    let answer = answer_to(&node, &upgrade_request("/ws", &headers));
    assert_eq!(answer.header("sec-websocket-protocol"), None);
}

#[tokio::test]
async fn tokens_are_taken_from_the_first_place_that_has_them() {
    let node = Node::start(&[]);
    let good = node.tokens();
    let bad = Tokens { api: Claims::api("connect").sign_wrongly(), user: Claims::user("u1").sign_wrongly() };
    let mut client = Client::open(&node, &bad.in_query("/ws"), &good.headers()).await;
    assert_eq!(client.next_json().await["type"], "CONNECTED");
    let code = refusal_of_tokens(&node, &good.in_query("/ws"), &bad.headers()).await;
    assert_eq!(code, "TOKEN_INVALID");
}

#[tokio::test]
async fn refused_tokens_are_answered_with_the_reason_and_closed_with_4401() {
    let node = Node::start(&[]);
    let good = node.tokens();
    let api = |claims: Claims| (node.token(claims), good.user.clone());
    let user = |claims: Claims| (good.api.clone(), node.token(claims));
    let malformed = || "not.a.token".to_owned();
    let rows = [
        ("malformed API token", "TOKEN_INVALID", (malformed(), good.user.clone())),
        ("malformed user token", "TOKEN_INVALID", (good.api.clone(), malformed())),
        ("expired API token", "TOKEN_EXPIRED", api(Claims::api("connect").expiring_in(-60))),
        ("expired user token", "TOKEN_EXPIRED", user(Claims::user("u1").expiring_in(-60))),
        ("user token without an expiry", "TOKEN_INVALID", user(Claims::user("u1").without("exp"))),
        ("expiry of text", "TOKEN_INVALID", user(Claims::user("u1").with("exp", json!("soon")))),
        ("expiry of null", "TOKEN_INVALID", user(Claims::user("u1").with("exp", json!(null)))),
        ("absurd expiry", "TOKEN_INVALID", user(Claims::user("u1").with("exp", json!(1e300)))),
        ("not yet valid", "TOKEN_INVALID", user(Claims::user("u1").with("nbf", json!(4e9)))),
        ("no subject", "TOKEN_INVALID", user(Claims::user("u1").without("sub"))),
        ("no scope to connect", "TOKEN_SCOPE", api(Claims::api("emit"))),
        ("no scope at all", "TOKEN_SCOPE", api(Claims::api("").without("scope"))),
        ("two projects", "PROJECT_MISMATCH", user(Claims::user("u1").with("project", json!("other")))),
        ("unknown project", "TOKEN_INVALID", api(Claims::api("connect").with("project", json!("missing")))),
        (
            "API token signed with an unknown key",
            "TOKEN_INVALID",
            (Claims::api("connect").sign_wrongly(), good.user.clone()),
        ),
        (
            "user token signed with an unknown key",
            "TOKEN_INVALID",
            (good.api.clone(), Claims::user("u1").sign_wrongly()),
        ),
        ("the two tokens swapped", "TOKEN_INVALID", (good.user.clone(), good.api.clone())),
    ];
    for (what, code, (api, user)) in rows {
        let tokens = Tokens { api, user };
        let refusal = refusal_of_tokens(&node, "/ws", &tokens.headers()).await;
        assert_eq!(refusal, code, "{what}");
    }
}

#[tokio::test]
async fn a_missing_token_has_its_own_error_code() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    let both = tokens.headers();
    for headers in [&both[..0], &both[..1], &both[1..]] {
        let code = refusal_of_tokens(&node, "/ws", headers).await;
        assert_eq!(code, "TOKEN_MISSING", "{} of two tokens", headers.len());
    }
}

#[tokio::test]
async fn unsigned_tokens_are_refused() {
    let node = Node::start(&[]);
    let tokens = node.tokens();
    // {"alg":"none"} with the body of the valid token and no signature.
    let body = tokens.user.split('.').nth(1).expect("three parts");
    let unsigned = format!("eyJhbGciOiJub25lIn0.{body}.");
    let headers = [("x-am-authorization", tokens.api.as_str()), ("x-am-user-authorization", unsigned.as_str())];
    assert_eq!(refusal_of_tokens(&node, "/ws", &headers).await, "TOKEN_INVALID");
}

#[tokio::test]
async fn fractional_dates_and_the_leeway_are_honored() {
    let node = Node::start(&[("AUTH__LEEWAY_SECONDS", "30")]);
    let mut tokens = node.tokens();
    let now = seconds_since_epoch();
    for claims in [
        Claims::user("u1").with("exp", json!(now as f64 + 100.25)),
        Claims::user("u1").expiring_in(-5),
        Claims::user("u1").with("nbf", json!(now as f64 + 5.5)),
    ] {
        tokens.user = node.token(claims);
        Client::connect(&node, &tokens).await;
    }
}
