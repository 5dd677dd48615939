//! A key revoked or a project disabled or removed on the embedded catalogue takes effect on the running node within a
//! second.

use crate::support::client::{Client, entry};
use crate::support::http::system_call;
use crate::support::process::output_text;
use crate::support::revocation::{BODY, assert_soon, expect_revoked, key_id, refuses};
use crate::support::{Claims, DEADLINE, Node, Tokens, emit, eventually};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_running_node_sees_changes_of_the_command_line_in_the_embedded_catalogue() {
    let node = Node::start(&[]);
    let (mut client, tokens) = (Client::of(&node).await, node.tokens());
    client.subscribe(entry("orders")).await;
    let run = |words: &[&str]| node.run(&[], words);
    assert_eq!(output_text(&run(&["project", "list"])), "demo active open\n");
    let key = key_id(&run(&["key", "list", "--project", "demo"]), "user");
    let added = output_text(&run(&["key", "add", "--project", "demo", "--use", "user"])).trim().to_owned();
    let revoked = run(&["key", "revoke", "--project", "demo", &key]);
    let expected = format!("revoked the key {key} of project demo: a node that runs on it sees it within a second\n");
    assert_eq!(output_text(&revoked), expected);
    assert_soon("the session's end", || node.metric("carillon_subscriptions", "") == 0.0);
    expect_revoked(&mut client).await;

    let listed = output_text(&run(&["key", "list", "--project", "demo"]));
    assert!(listed.contains(&format!("{key} user HS256 revoked\n{added} user HS256 active\n")), "{listed}");
    let new_user = output_text(&run(&["token", "user", "--project", "demo", "--sub", "u1"])).trim().to_owned();
    let new = Tokens { api: tokens.api.clone(), user: new_user };
    let mut client = Client::connect(&node, &new).await;

    assert_eq!(run(&["project", "disable", "demo"]).status.code(), Some(0));
    assert_soon("a refused emit", || refuses(&node, &tokens.api));
    expect_revoked(&mut client).await;
    assert_eq!(run(&["project", "enable", "demo"]).status.code(), Some(0));
    eventually("an accepted emit", || emit(&node, &tokens.api, BODY).status == 200);
}

#[tokio::test]
async fn a_session_refreshed_with_tokens_of_a_new_key_survives_the_revocation_of_the_old_key() {
    let node = Node::start(&[]);
    let mut refreshed = Client::of(&node).await;
    let mut old = Client::of(&node).await;
    refreshed.subscribe(entry("orders")).await;
    let run = |words: &[&str]| node.run(&[], words);
    let keys = run(&["key", "list", "--project", "demo"]);
    let (api, user) = (key_id(&keys, "api"), key_id(&keys, "user"));
    for key_use in ["api", "user"] {
        run(&["key", "add", "--project", "demo", "--use", key_use, "--id", &format!("new-{key_use}")]);
    }
    let tokens = crate::support::tokens::signed_with(node.directory(), "new-api", "new-user");
    let message = json!({"objType": "REFRESH", "tokens": {
        "x-am-authorization": tokens.api, "x-am-user-authorization": tokens.user,
    }});
    // The node sees the new keys within a second.
    let end = Instant::now() + DEADLINE;
    while refreshed.ask(message.clone()).await["errors"] != Value::Null {
        assert!(Instant::now() < end, "never refreshed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for key in [&api, &user] {
        assert_eq!(run(&["key", "revoke", "--project", "demo", key]).status.code(), Some(0));
    }
    expect_revoked(&mut old).await;
    assert_eq!(emit(&node, &tokens.api, BODY).status, 200);
    assert_eq!(refreshed.next_notification().await.1, json!(1));
}

#[test]
fn key_calls_need_the_admin_scope_and_an_existing_key() {
    let node = Node::start(&[]);
    let admin = node.token(Claims::api("admin"));
    let emitter = node.token(Claims::api("connect emit"));
    assert_eq!(system_call(&node, "GET", "list-keys-ws", &emitter, &json!({})).refusal(403), "TOKEN_SCOPE");
    assert_eq!(system_call(&node, "POST", "revoke-key-ws", &emitter, &json!({"id": "x"})).refusal(403), "TOKEN_SCOPE");
    assert_eq!(system_call(&node, "POST", "revoke-key-ws", &admin, &json!({"id": 1})).refusal(400), "INVALID_JSON");
    assert_eq!(
        system_call(&node, "POST", "revoke-key-ws", &admin, &json!({"id": "x"})).refusal(404),
        "UNKNOWN_MESSAGE"
    );
    let listed = system_call(&node, "GET", "list-keys-ws", &admin, &json!({}));
    let keys = listed.json()["data"]["keys"].clone();
    assert_eq!(keys.as_array().map(Vec::len), Some(2), "{keys}");
    let members: Vec<&String> = keys[0].as_object().expect("a key").keys().collect();
    assert_eq!(members, ["active", "algorithm", "id", "use"], "no secret");
    // The key that signed the token of this call.
    assert_eq!(system_call(&node, "POST", "revoke-key-ws", &admin, &json!({"id": keys[0]["id"]})).status, 200);
    assert_soon("refused", || refuses(&node, &emitter));
}

#[tokio::test]
async fn a_removed_project_loses_its_sessions_and_its_tokens_on_a_running_node() {
    let node = Node::start(&[]);
    let (mut client, tokens) = (Client::of(&node).await, node.tokens());
    client.subscribe(entry("orders")).await;
    let run = |words: &[&str]| node.run(&[], words);
    assert_eq!(output_text(&run(&["project", "add", "other"])), "added the project other\n");
    let removed = run(&["project", "remove", "demo", "--yes"]);
    assert_eq!(output_text(&removed), "removed the project demo: a node that runs on it sees it within a second\n");
    assert_soon("the session's end", || node.metric("carillon_subscriptions", "") == 0.0);
    expect_revoked(&mut client).await;
    assert!(refuses(&node, &tokens.api));
    assert_eq!(output_text(&run(&["project", "list"])), "other active open\n");

    // A new project with the same name has new keys, so tokens of the old one stay refused.
    assert_eq!(run(&["project", "add", "demo"]).status.code(), Some(0));
    let new = output_text(&run(&["token", "api", "--project", "demo", "--name", "shop", "--scope", "emit"]));
    eventually("an accepted emit", || emit(&node, new.trim(), BODY).status == 200);
    assert!(refuses(&node, &tokens.api));
}

#[test]
fn a_key_whose_id_begins_like_an_option_can_be_added_and_revoked() {
    let node = Node::start(&[]);
    let added = node.run(&[], &["key", "add", "--project", "demo", "--use", "api", "--id", "-Old_1-x"]);
    assert_eq!(output_text(&added), "-Old_1-x\n");
    let revoked = node.run(&[], &["key", "revoke", "--project", "demo", "-Old_1-x"]);
    assert!(
        output_text(&revoked).starts_with("revoked the key -Old_1-x of project demo: "),
        "{}",
        output_text(&revoked)
    );
    let unknown = node.run(&[], &["key", "revoke", "--projekt", "demo", "x"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", output_text(&unknown));
}

#[test]
fn command_line_errors_are_one_line() {
    let node = Node::start(&[]);
    let rows: [(&[&str], &str); 5] = [
        (&["key", "list", "--project", "nobody"], "carillon: there is no project nobody in "),
        (&["key", "revoke", "--project", "demo", "x"], "carillon: the project demo has no key x: "),
        (&["project", "disable", "nobody"], "carillon: there is no project nobody in "),
        (&["project", "add", "demo"], "carillon: the project demo already exists"),
        (
            &["key", "add", "--project", "demo", "--use", "user", "--public", "/dev/null", "--algorithm", "EdDSA"],
            "carillon: the key cannot be used: ",
        ),
    ];
    for (words, expected) in rows {
        let output = node.run(&[], words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(
            output_text(&output).starts_with(expected) && output_text(&output).lines().count() == 1,
            "{}",
            output_text(&output)
        );
    }
}
