//! Plain HTTP/1.1 over a blocking socket.

use super::node::Node;
use super::raw::RawSocket;
use super::tokens::Claims;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// An HTTP answer: its status, its header lines and its body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The first value of a header. Names are case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("a body of UTF-8")
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in the answer {self:?}"))
    }

    /// Asserts that the answer is an error in the common shape. Returns its code.
    pub fn refusal(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        let body = self.json();
        assert_eq!(body["success"], false, "{body}");
        assert_eq!(body["statusCode"], status, "{body}");
        let message = body["errors"][0]["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "an error without a message: {body}");
        super::error_code(&body).to_owned()
    }
}

/// Sends one request on a new connection, and reads the answer.
pub fn request(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut socket = RawSocket::connect(address);
    socket.write(&head(method, path, headers, Some(body.len())));
    socket.write(body);
    socket.read_answer()
}

/// The head of a request, including its empty line.
pub fn head(method: &str, path: &str, headers: &[(&str, &str)], length: Option<usize>) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
    if let Some(length) = length.filter(|_| method != "GET") {
        text.push_str(&format!("Content-Length: {length}\r\n"));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// The path that backends of the project `demo` emit to.
pub const EMIT: &str = "/api/system-api/demo/emit-event-ws";

/// The header lines of a call with a JSON body and an API token.
pub fn json_headers(api_token: &str) -> [(&str, &str); 2] {
    [("Content-Type", "application/json"), ("x-am-authorization", api_token)]
}

/// Emits `body` with an API token, as a backend does.
pub fn emit(node: &Node, api_token: &str, body: &str) -> Answer {
    emit_at(node.address(), "demo", api_token, body)
}

/// Emits to a project at an address.
pub fn emit_at(address: SocketAddr, project: &str, api_token: &str, body: &str) -> Answer {
    let path = format!("/api/system-api/{project}/emit-event-ws");
    request(address, "POST", &path, &json_headers(api_token), body.as_bytes())
}

/// The bytes of an emit.
pub fn emit_request(api_token: &str, body: &str) -> Vec<u8> {
    [head("POST", EMIT, &json_headers(api_token), Some(body.len())), body.as_bytes().to_vec()].concat()
}

/// The path of a call of the system API for the project `demo`.
pub fn system_path(call: &str) -> String {
    format!("/api/system-api/demo/{call}")
}

/// Calls the system API of the project `demo` with an API token, as an administrator's application does.
pub fn system_call(node: &Node, method: &str, call: &str, api_token: &str, body: &Value) -> Answer {
    request(node.address(), method, &system_path(call), &json_headers(api_token), body.to_string().as_bytes())
}

/// Ends all sessions of a user, with a token that has the scope `admin`.
pub fn disconnect_user(node: &Node, user: &str) -> Answer {
    system_call(node, "POST", "disconnect-user-ws", &node.token(Claims::api("admin")), &json!({"user": user}))
}
