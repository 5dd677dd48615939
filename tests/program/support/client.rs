//! A well-behaved WebSocket client, on an independent library (tokio-tungstenite).

use super::tokens::Tokens;
use super::{DEADLINE, Node};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::{Request, Response};
use tokio_tungstenite::tungstenite::{Error, Message};

/// An open WebSocket. Reads fail at the deadline.
pub struct Client {
    socket: WebSocketStream<TcpStream>,
}

impl Client {
    /// Connects with valid tokens.
    pub async fn of(node: &Node) -> Client {
        Client::connect(node, &node.tokens()).await
    }

    /// Connects with the tokens in headers and reads `CONNECTED`.
    pub async fn connect(node: &Node, tokens: &Tokens) -> Client {
        let mut client = Client::open(node, "/ws", &tokens.headers()).await;
        let connected = client.next_json().await;
        assert_eq!(connected["type"], "CONNECTED", "{connected}");
        client
    }

    /// Upgrades `path` with these header lines. Reads no message.
    pub async fn open(node: &Node, path: &str, headers: &[(&str, &str)]) -> Client {
        match Client::try_open(node, path, headers).await {
            Ok((client, _)) => client,
            Err(error) => panic!("the upgrade was refused: {error}"),
        }
    }

    /// Upgrades `path`. An error contains the answer that refused the upgrade.
    pub async fn try_open(node: &Node, path: &str, headers: &[(&str, &str)]) -> Result<(Client, Response), Error> {
        let stream = TcpStream::connect(node.address()).await.expect("the node listens");
        let upgrade = tokio_tungstenite::client_async(upgrade(node, path, headers), stream);
        let (socket, response) = timeout(DEADLINE, upgrade).await.expect("an answer")?;
        Ok((Client { socket }, response))
    }

    /// Sends a text message.
    pub async fn send(&mut self, text: impl Into<String>) {
        self.write(Message::text(text.into())).await;
    }

    /// Sends a message and reads the next one, which must be its answer.
    pub async fn ask(&mut self, message: Value) -> Value {
        self.send(message.to_string()).await;
        self.next_json().await
    }

    /// Sends any kind of message.
    pub async fn write(&mut self, message: Message) {
        self.socket.send(message).await.expect("an open session");
    }

    /// The next text message.
    pub async fn next_text(&mut self) -> String {
        loop {
            match self.next().await {
                Message::Text(text) => return text.as_str().to_owned(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("expected a text, received: {other:?}"),
            }
        }
    }

    /// The next text message, as JSON.
    pub async fn next_json(&mut self) -> Value {
        let text = self.next_text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// The next text message, as JSON, with a longer deadline.
    pub async fn next_json_within(&mut self, time: Duration) -> Value {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = timeout(left, self.socket.next()).await.expect("a message in time");
            if let Message::Text(text) = message.expect("an open session").expect("a valid frame") {
                return serde_json::from_str(text.as_str()).unwrap_or_else(|error| panic!("{error} in {text}"));
            }
        }
    }

    /// Registers entries. Returns the valid and the invalid ones.
    pub async fn register(&mut self, entries: Value) -> (Vec<Value>, Vec<Value>) {
        let answer = self.ask(json!({"objType": "REGISTER", "onEvents": entries})).await;
        assert_eq!(answer["type"], "REGISTER", "{answer}");
        lists(&answer)
    }

    /// Registers one entry, which must be valid. Returns its `eventId`.
    pub async fn subscribe(&mut self, entry: Value) -> String {
        let (valid, invalid) = self.register(json!([entry])).await;
        assert!(invalid.is_empty(), "{invalid:?}");
        valid[0]["eventId"].as_str().expect("an eventId is a string").to_owned()
    }

    /// The next notification's event id and data.
    pub async fn next_notification(&mut self) -> (String, Value) {
        let mut message = self.next_json().await;
        assert_eq!(message["type"], "NOTIFICATION", "{message}");
        let id = message["response"]["eventId"].as_str().unwrap_or_default();
        (id.to_owned(), message["response"]["eventData"].take())
    }

    /// Skips messages up to the close frame, which must have this code.
    pub async fn expect_close(&mut self, code: u16) {
        loop {
            if let Message::Close(frame) = self.next().await {
                let received = frame.as_ref().map(|frame| u16::from(frame.code));
                assert_eq!(received, Some(code), "{frame:?}");
                return;
            }
        }
    }

    /// Reads up to the end of the connection, which must come without a close frame.
    pub async fn expect_end(&mut self) {
        while let Some(Ok(message)) = timeout(DEADLINE, self.socket.next()).await.expect("an end before the deadline") {
            assert!(!message.is_close(), "{message:?}");
        }
    }

    async fn next(&mut self) -> Message {
        timeout(DEADLINE, self.socket.next())
            .await
            .expect("a message before the deadline")
            .expect("an open session")
            .expect("a valid frame")
    }
}

/// An entry of `onEvents` for an event, without a condition.
pub fn entry(event: &str) -> Value {
    json!({"eventType": "CUSTOM_WS_EVENTS", "apiName": event})
}

/// An entry of `onEvents` with a condition.
pub fn conditional(event: &str, criteria: Value) -> Value {
    let mut entry = entry(event);
    entry["condition"] = json!({"conditionType": "RESPONSE", "criteria": criteria});
    entry
}

/// The two lists of an answer to REGISTER or UNREGISTER. Both are always present.
pub fn lists(answer: &Value) -> (Vec<Value>, Vec<Value>) {
    let list = |name: &str| {
        answer["response"][name].as_array().unwrap_or_else(|| panic!("{name} is missing in {answer}")).clone()
    };
    (list("validOnEvents"), list("invalidOnEvents"))
}

fn upgrade(node: &Node, path: &str, headers: &[(&str, &str)]) -> Request {
    let mut request = format!("ws://{}{path}", node.address()).into_client_request().expect("a valid address");
    for (name, value) in headers {
        request.headers_mut().append(
            name.parse::<tokio_tungstenite::tungstenite::http::HeaderName>().expect("a header's name"),
            value.parse().expect("a header's value"),
        );
    }
    request
}
