//! The call that ends all sessions of a user on all nodes. It needs the scope `admin`.

use crate::support::client::{Client, entry};
use crate::support::cluster::nodes;
use crate::support::http::{disconnect_user, system_call, system_path};
use crate::support::{Claims, Node, RedisServer, Tokens, emit, eventually, request};
use rustix::process::Signal;
use serde_json::{Value, json};

fn admin_token(node: &Node) -> String {
    node.token(Claims::api("admin"))
}

async fn client_of(node: &Node, user: &str) -> Client {
    let tokens = Tokens { api: node.token(Claims::api("connect")), user: node.token(Claims::user(user)) };
    let mut client = Client::connect(node, &tokens).await;
    client.subscribe(entry("orders")).await;
    client
}

#[tokio::test]
async fn all_sessions_of_a_user_on_all_nodes_are_closed_with_4403_and_no_others() {
    let redis = RedisServer::start();
    let nodes = nodes(&redis, 2, &[]);
    let (mut theirs, mut others) = (Vec::new(), Vec::new());
    for node in &nodes {
        for _ in 0..3 {
            theirs.push(client_of(node, "u777").await);
        }
        others.push(client_of(node, "u4").await);
        others.push(client_of(node, "u777 ").await);
    }
    let answer = disconnect_user(&nodes[0], "u777");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let data = json!({"user": "u777", "disconnected": 6, "nodes": 2, "nodesReplied": 2});
    assert_eq!(answer.json(), json!({"success": true, "statusCode": 200, "data": data}));
    for client in &mut theirs {
        client.expect_close(4403).await;
    }
    drop(theirs);
    // The user may connect again, since the tokens are still valid.
    others.push(client_of(&nodes[0], "u777").await);
    let body = json!({"name": "orders", "eventData": 1}).to_string();
    assert_eq!(emit(&nodes[0], &nodes[0].tokens().api, &body).status, 200);
    for client in &mut others {
        assert_eq!(client.next_notification().await.1, json!(1));
    }
    for (node, left) in nodes.iter().zip([3.0, 2.0]) {
        eventually("the subscriptions of the others alone", || node.metric("carillon_subscriptions", "") == left);
        eventually("the ends counted", || node.metric("carillon_closes_total", "4403") == 3.0);
    }
}

#[tokio::test]
async fn disconnecting_a_user_without_sessions_succeeds_and_affects_no_other_project() {
    let node = Node::start(&[]);
    crate::support::tokens::add_project(node.directory(), "shop");
    let shop = Tokens {
        api: node.token(Claims::api("connect").of_project("shop")),
        user: node.token(Claims::user("u777").of_project("shop")),
    };
    let mut other = Client::connect(&node, &shop).await;
    for user in ["u777", &"x".repeat(256)] {
        let answer = disconnect_user(&node, user);
        assert_eq!((answer.status, &answer.json()["data"]["disconnected"]), (200, &json!(0)), "{}", answer.text());
    }
    other.subscribe(entry("orders")).await;
}

#[tokio::test]
async fn the_answer_and_the_log_count_the_sessions_that_were_disconnected() {
    let node = Node::start(&[("LOG__FORMAT", "json"), ("LOG__LEVEL", "debug")]);
    let mut clients = [client_of(&node, "u777").await, client_of(&node, "u777").await];
    let counts = [2, 0].map(|count| json!({"user": "u777", "disconnected": count, "nodes": 1, "nodesReplied": 1}));
    for expected in counts {
        assert_eq!(disconnect_user(&node, "u777").json()["data"], expected);
    }
    for client in &mut clients {
        client.expect_close(4403).await;
    }
    let log = node.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    let lines_of = |message: &str| lines.iter().filter(|line| line["message"] == message).collect::<Vec<_>>();
    let disconnected = lines_of("disconnected all sessions of a user on this node");
    let counts: Vec<_> = disconnected.iter().map(|line| (&line["user"], &line["by"], &line["sessions"])).collect();
    let (user, by) = (json!("u777"), json!("tests"));
    assert_eq!(counts, [(&user, &by, &json!(2)), (&user, &by, &json!(0))]);
    let closed = lines_of("a session is closed");
    assert!(closed.len() == 2 && closed.iter().all(|line| line["by"] == "application" && line["detail"] == "tests"));
}

#[test]
fn a_node_that_does_not_reply_shows_in_the_answer() {
    let redis = RedisServer::start();
    let nodes = nodes(&redis, 2, &[]);
    nodes[1].signal(Signal::STOP);
    let answer = disconnect_user(&nodes[0], "u777");
    nodes[1].signal(Signal::CONT);
    let data = json!({"user": "u777", "disconnected": 0, "nodes": 2, "nodesReplied": 1});
    assert_eq!((answer.status, &answer.json()["data"]), (200, &data));
}

#[tokio::test]
async fn a_user_disconnected_during_a_register_leaves_nothing_behind() {
    let redis = RedisServer::start();
    let node = nodes(&redis, 1, &[]).remove(0);
    let mut client = Client::of(&node).await;
    // While Redis hangs, no channel can be joined. The disconnect waits in Redis before the joins.
    std::thread::scope(|scope| {
        redis.signal(Signal::STOP);
        let disconnect = scope.spawn(|| disconnect_user(&node, "u1"));
        let entries: Value = (0..100).map(|number| entry(&format!("event-{number}"))).collect();
        let register = json!({"objType": "REGISTER", "onEvents": entries}).to_string();
        futures::executor::block_on(client.send(register));
        eventually("channels under way", || node.metric("carillon_channels", "") == 100.0);
        redis.signal(Signal::CONT);
        assert_eq!(disconnect.join().expect("an answer").status, 200);
    });
    client.expect_close(4403).await;
    drop(client);
    eventually("no session", || node.metric("carillon_sessions", "") == 0.0);
    eventually("no subscription", || node.metric("carillon_subscriptions", "") == 0.0);
    eventually("no channel", || node.metric("carillon_channels", "") == 0.0);
}

#[test]
fn a_disconnect_call_needs_the_admin_scope_its_own_project_and_a_valid_body() {
    let node = Node::start(&[]);
    crate::support::tokens::add_project(node.directory(), "shop");
    let admin = admin_token(&node);
    let user = json!({"user": "u1"});
    let refused = |token: &str, status| system_call(&node, "POST", "disconnect-user-ws", token, &user).refusal(status);
    assert_eq!(refused("", 401), "TOKEN_MISSING");
    assert_eq!(refused("nonsense", 401), "TOKEN_INVALID");
    assert_eq!(refused(&Claims::api("admin").sign_wrongly(), 401), "TOKEN_INVALID");
    assert_eq!(refused(&node.token(Claims::api("admin").expiring_in(-60)), 401), "TOKEN_EXPIRED");
    assert_eq!(refused(&node.token(Claims::api("connect emit")), 403), "TOKEN_SCOPE");
    assert_eq!(refused(&node.token(Claims::api("admin").of_project("shop")), 403), "PROJECT_MISMATCH");
    for body in [json!({}), json!({"user": ""}), json!({"user": 1}), json!({"user": "x".repeat(257)}), json!(["u1"])] {
        assert_eq!(
            system_call(&node, "POST", "disconnect-user-ws", &admin, &body).refusal(400),
            "INVALID_JSON",
            "{body}"
        );
    }
    let send = |content_type, body: &[u8]| {
        let headers = [("Content-Type", content_type), ("x-am-authorization", admin.as_str())];
        request(node.address(), "POST", &system_path("disconnect-user-ws"), &headers, body)
    };
    assert_eq!(send("application/json", b"{").refusal(400), "INVALID_JSON");
    assert_eq!(send("text/plain", b"{\"user\":\"u1\"}").refusal(415), "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(send("application/json", &vec![b' '; 300_000]).refusal(413), "PAYLOAD_TOO_LARGE");
    let got = request(node.address(), "GET", &system_path("disconnect-user-ws"), &[], b"");
    assert_eq!((got.status, got.header("Allow")), (405, Some("POST")));
}

#[test]
fn a_disconnect_call_without_the_bus_is_answered_503() {
    let mut redis = RedisServer::start();
    let node = nodes(&redis, 1, &[]).remove(0);
    redis.kill();
    eventually("a bus that is away", || node.metric("carillon_bus_ready", "") == 0.0);
    let answer = disconnect_user(&node, "u1");
    assert_eq!(answer.refusal(503), "BUS_UNAVAILABLE");
    assert!(answer.header("Retry-After").is_some());
}
