//! A plain socket, for bytes that no well-behaved client sends.

use super::http::{Answer, head};
use super::tokens::Tokens;
use super::{DEADLINE, Node};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

/// The example key of RFC 6455 §1.3, which also has its answer.
pub const SAMPLE_KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// First bytes of whole, unfragmented frames (RFC 6455 §5.2).
pub const TEXT: u8 = 0x81;
pub const BINARY: u8 = 0x82;
pub const CLOSE: u8 = 0x88;
pub const PING: u8 = 0x89;
pub const PONG: u8 = 0x8a;

/// The header lines of an upgrade, besides `Host`.
const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", SAMPLE_KEY),
];

/// A frame that the server sent (RFC 6455 §5.2): its first byte and its payload.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub first_byte: u8,
    pub payload: Vec<u8>,
}

/// A TCP connection. Reads fail at the deadline.
pub struct RawSocket {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl RawSocket {
    /// Connects.
    pub fn connect(address: SocketAddr) -> RawSocket {
        let stream = TcpStream::connect_timeout(&address, DEADLINE).expect("the node listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        stream.set_write_timeout(Some(DEADLINE)).expect("a deadline");
        stream.set_nodelay(true).expect("small writes at once");
        RawSocket { stream, unread: Vec::new() }
    }

    /// Connects, shakes hands and reads the `CONNECTED` message.
    pub fn upgrade(node: &Node, tokens: &Tokens) -> RawSocket {
        let mut socket = RawSocket::connect(node.address());
        socket.write(&upgrade_request("/ws", &tokens.headers()));
        assert_eq!(socket.read_answer().status, 101);
        let text = String::from_utf8(socket.read_frame().payload).expect("a text");
        assert!(text.contains("CONNECTED"), "{text}");
        socket
    }

    /// The address of the client's end.
    pub fn local_address(&self) -> SocketAddr {
        self.stream.local_addr().expect("a connected socket")
    }

    /// Shuts down the writing side. Reads still work.
    pub fn end_writing(&self) {
        self.stream.shutdown(Shutdown::Write).expect("a connected socket");
    }

    /// Writes all of `bytes`. Does not fail if the peer has closed: the test sees that in the answer.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Err(error) = self.stream.write_all(bytes) {
            let gone = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
            assert!(gone.contains(&error.kind()), "could not write: {error}");
        }
    }

    /// Sends a masked frame.
    pub fn write_frame(&mut self, first_byte: u8, payload: &[u8]) {
        self.write(&masked_frame(first_byte, payload));
    }

    /// Sends a message as one text frame.
    pub fn write_json(&mut self, message: &Value) {
        self.write_frame(TEXT, message.to_string().as_bytes());
    }

    /// Registers entries, all of which must be valid.
    pub fn register(&mut self, entries: &[Value]) {
        self.write_json(&json!({"objType": "REGISTER", "onEvents": entries}));
        let answer: Value = serde_json::from_slice(&self.read_frame().payload).expect("an answer in JSON");
        let valid = answer["response"]["validOnEvents"].as_array().map(Vec::len);
        assert_eq!(valid, Some(entries.len()), "{answer}");
    }

    /// Reads an HTTP answer with its body.
    pub fn read_answer(&mut self) -> Answer {
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            assert!(self.fill(), "the connection ended before an answer");
        };
        let head = String::from_utf8_lossy(&self.unread[..end]).into_owned();
        self.unread.drain(..end + 4);
        let mut answer = parse_head(&head);
        answer.body = self.read_body(&answer);
        answer
    }

    /// Reads one frame.
    pub fn read_frame(&mut self) -> Frame {
        let start = self.take(2);
        assert_eq!(start[1] & 0x80, 0, "a server never masks (§5.1)");
        let length = match start[1] {
            126 => usize::from(u16::from_be_bytes(self.take(2).try_into().expect("two"))),
            127 => usize::try_from(u64::from_be_bytes(self.take(8).try_into().expect("eight"))).expect("a length"),
            short => usize::from(short),
        };
        Frame { first_byte: start[0], payload: self.take(length) }
    }

    /// Skips frames up to a close frame, which must have this code, and waits for the end of the connection.
    pub fn expect_close(&mut self, code: u16) {
        let payload = loop {
            let frame = self.read_frame();
            if frame.first_byte == CLOSE {
                break frame.payload;
            }
        };
        assert!(payload.len() >= 2, "a close without a code");
        let received = u16::from_be_bytes([payload[0], payload[1]]);
        let reason = String::from_utf8_lossy(&payload[2..]).into_owned();
        assert_eq!(received, code, "closed with {received}: {reason}");
        self.write_frame(CLOSE, &code.to_be_bytes());
        self.expect_end();
    }

    /// Reads all that comes before the connection ends.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        while self.fill() {}
        std::mem::take(&mut self.unread)
    }

    /// Waits for the end of the connection, and ignores bytes before it.
    pub fn expect_end(&mut self) {
        while self.fill() {
            self.unread.clear();
        }
    }

    fn read_body(&mut self, answer: &Answer) -> Vec<u8> {
        if matches!(answer.status, 100 | 101 | 204) {
            return Vec::new();
        }
        if let Some(length) = answer.header("content-length") {
            return self.take(length.parse().expect("a length"));
        }
        if answer.header("transfer-encoding").is_some() {
            return self.read_chunks();
        }
        self.read_to_end()
    }

    fn read_chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let mut line = Vec::new();
            while !line.ends_with(b"\r\n") {
                line.extend(self.take(1));
            }
            let size = String::from_utf8_lossy(&line[..line.len() - 2]).into_owned();
            let size = usize::from_str_radix(&size, 16).expect("a chunk's size");
            body.extend(self.take(size));
            self.take(2);
            if size == 0 {
                return body;
            }
        }
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(self.fill(), "the connection ended too early");
        }
        self.unread.drain(..count).collect()
    }

    /// Reads the available bytes. Returns false at the end of the connection. Fails at the deadline.
    fn fill(&mut self) -> bool {
        let mut chunk = [0; 65_536];
        match self.stream.read(&mut chunk) {
            Ok(0) => false,
            Ok(count) => {
                self.unread.extend_from_slice(&chunk[..count]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing received within {DEADLINE:?}: {error}"),
        }
    }
}

/// A valid upgrade request with additional header lines.
pub fn upgrade_request(path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut all = UPGRADE.to_vec();
    all.extend_from_slice(headers);
    head("GET", path, &all, None)
}

/// A valid upgrade request for `/ws` in which the header lines named `name` are replaced.
pub fn upgrade_with(name: &str, replacement: &[(&str, &str)], tokens: &Tokens) -> Vec<u8> {
    let mut headers: Vec<(&str, &str)> = UPGRADE.into_iter().filter(|(key, _)| *key != name).collect();
    headers.extend_from_slice(replacement);
    headers.extend(tokens.headers());
    head("GET", "/ws", &headers, None)
}

/// Sends bytes on a new connection, and reads the answer.
pub fn answer_to(node: &Node, bytes: &[u8]) -> Answer {
    let mut socket = RawSocket::connect(node.address());
    socket.write(bytes);
    socket.read_answer()
}

/// A client frame with its mask (RFC 6455 §5.3).
pub fn masked_frame(first_byte: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
    let mut frame = vec![first_byte];
    match payload.len() {
        short @ 0..126 => frame.push(0x80 | short as u8),
        middle @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend((middle as u16).to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    frame.extend(MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(a, b)| a ^ b));
    frame
}

fn parse_head(head: &str) -> Answer {
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .filter(|line| line.starts_with("HTTP/1."))
        .and_then(|line| line.get(9..12))
        .and_then(|status| status.parse().ok())
        .unwrap_or_else(|| panic!("not an HTTP answer: {head}"));
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    Answer { status, headers, body: Vec::new() }
}
