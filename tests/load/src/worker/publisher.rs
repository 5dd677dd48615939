//! A connection that publishes events: one request at a time. It reconnects when the server closes it. A request that
//! crossed the close of an idle connection (status 408) is sent again on the next connection (RFC 9110 §15.5.9).

use crate::counts::{Counter, Timing};
use crate::protocols::{ClientIdentity, ServerProtocol, Stage, Transport};
use crate::wire::answer;
use crate::wire::frame::{self, Opcode};
use crate::worker::socket;
use crate::worker::stats::Stats;
use rustix::fd::OwnedFd;

/// The identity of a publisher over WebSocket: a number that no client has.
const PUBLISHER: ClientIdentity = ClientIdentity { number: u32::MAX, audience: u32::MAX };

/// The status of a server that has waited too long for a request.
const REQUEST_TIMEOUT: u16 = 408;

/// The state of a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Dialing,
    Upgrading,
    Open(Stage),
    /// Ready for a request.
    Idle,
    /// Waits for the answer to its request.
    Busy,
    /// The connection has ended.
    Closed,
}

/// A connection that publishes events.
#[derive(Debug)]
pub struct Publisher {
    socket: OwnedFd,
    state: State,
    /// The bytes to send. The first `sent` of them are sent.
    pending: Vec<u8>,
    sent: usize,
    /// The received part of an incomplete answer.
    partial: Vec<u8>,
    /// The scheduled time of the first event of the request.
    intended: u64,
    /// The number of events in the unanswered request. 0 if there is none.
    events: usize,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub accepted: u64,
    pub rejected: u64,
}

impl Publisher {
    pub fn new(socket: OwnedFd) -> Publisher {
        let (pending, partial) = (Vec::new(), Vec::new());
        Publisher { socket, state: State::Dialing, pending, sent: 0, partial, intended: 0, events: 0 }
    }

    /// Continues on a new connection, and repeats the request that the server of the last connection did not process.
    pub fn redialed(&mut self, socket: OwnedFd) {
        if self.events == 0 {
            self.pending.clear();
        }
        self.partial.clear();
        (self.socket, self.state, self.sent) = (socket, State::Dialing, 0);
    }

    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Sends the request that [`ServerProtocol::publish`] wrote into [`Publisher::request`].
    pub fn publish(&mut self, events: usize, intended: u64) {
        (self.events, self.intended, self.state) = (events, intended, State::Busy);
        self.flush();
    }

    /// The buffer for the next request.
    pub fn request(&mut self) -> &mut Vec<u8> {
        if self.sent == self.pending.len() {
            self.pending.clear();
            self.sent = 0;
        }
        &mut self.pending
    }

    /// Handles readiness of the socket. Returns the outcome of the request once it is answered.
    pub fn on_ready(
        &mut self,
        is_writable: bool,
        protocol: &dyn ServerProtocol,
        stats: &mut Stats,
        scratch: &mut [u8],
    ) -> Option<Outcome> {
        if self.state == State::Dialing && is_writable {
            self.on_connected(protocol, stats);
        }
        self.flush();
        while self.state != State::Closed {
            match socket::receive(&self.socket, scratch) {
                Ok(None) => break,
                Ok(Some(0)) | Err(_) => self.state = self.lost(stats),
                Ok(Some(read)) => self.partial.extend_from_slice(&scratch[..read]),
            }
            if let Some(outcome) = self.on_bytes(protocol, stats) {
                return Some(outcome);
            }
        }
        None
    }

    /// Handles the end of the connection. An unanswered request counts as unanswered.
    fn lost(&mut self, stats: &mut Stats) -> State {
        if self.state == State::Busy {
            stats.count_many(Counter::Unanswered, self.events as u64);
            self.events = 0;
        }
        State::Closed
    }

    fn on_connected(&mut self, protocol: &dyn ServerProtocol, stats: &mut Stats) {
        if socket::connected(&self.socket).is_err() {
            stats.count(Counter::Failed);
            self.state = State::Closed;
            return;
        }
        self.state = if self.events > 0 { State::Busy } else { State::Idle };
        if protocol.publish_transport() == Transport::WebSocket {
            self.state = State::Upgrading;
            let (mut path, mut headers) = (String::new(), String::new());
            protocol.upgrade(PUBLISHER, &mut path, &mut headers);
            self.pending = format!(
                "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
            )
            .into_bytes();
        }
    }

    fn on_bytes(&mut self, protocol: &dyn ServerProtocol, stats: &mut Stats) -> Option<Outcome> {
        match (protocol.publish_transport(), self.state) {
            (_, State::Closed) => None,
            (Transport::WebSocket, State::Open(_) | State::Idle | State::Busy) => self.on_frames(protocol, stats),
            (Transport::WebSocket, _) => {
                let length = answer::read(&self.partial).ok().flatten()?.length;
                self.partial.drain(..length);
                self.state = State::Open(protocol.on_open(PUBLISHER, &mut self.pending));
                self.on_frames(protocol, stats)
            }
            (Transport::Http, _) => self.on_answer(protocol, stats),
        }
    }

    fn on_answer(&mut self, protocol: &dyn ServerProtocol, stats: &mut Stats) -> Option<Outcome> {
        let answer = match answer::read(&self.partial) {
            Ok(answer) => answer?,
            Err(_) => {
                self.state = self.lost(stats);
                return None;
            }
        };
        if self.state != State::Busy || answer.status == REQUEST_TIMEOUT {
            // The server closes an idle connection with this answer. A request that crossed it is still complete in
            // `pending`.
            self.state = State::Closed;
            return None;
        }
        stats.count_status(answer.status);
        let accepted = protocol.accepted(answer.status, answer.body, self.events).min(self.events);
        let (length, is_last) = (answer.length, answer.is_last);
        self.partial.drain(..length);
        self.state = if is_last { State::Closed } else { State::Idle };
        Some(self.answered(accepted, stats))
    }

    fn on_frames(&mut self, protocol: &dyn ServerProtocol, stats: &mut Stats) -> Option<Outcome> {
        let mut outcome = None;
        while let Ok(Some(frame)) = frame::read(&self.partial) {
            let length = frame.length;
            match (self.state, frame.opcode) {
                (State::Open(stage), Opcode::Text | Opcode::Binary) => {
                    let stage = match protocol.on_message(stage, frame.payload, PUBLISHER, &mut self.pending) {
                        crate::protocols::MessageKind::Greeting => Stage::Registering,
                        crate::protocols::MessageKind::Registered => Stage::Live,
                        _ => stage,
                    };
                    self.state = if stage == Stage::Live { State::Idle } else { State::Open(stage) };
                }
                (State::Busy, Opcode::Text | Opcode::Binary) if frame.payload.starts_with(b"PONG") => {
                    self.state = State::Idle;
                    outcome = Some(self.answered(self.events, stats));
                }
                (_, Opcode::Ping) => {
                    let payload = frame.payload.to_vec();
                    frame::write(Opcode::Pong, &payload, &mut self.pending);
                }
                _ => {}
            }
            self.partial.drain(..length);
        }
        self.flush();
        outcome
    }

    fn answered(&mut self, accepted: usize, stats: &mut Stats) -> Outcome {
        stats.time(Timing::Answer, socket::now().saturating_sub(self.intended));
        let events = std::mem::take(&mut self.events);
        let outcome = Outcome { accepted: accepted as u64, rejected: (events - accepted) as u64 };
        stats.count_many(Counter::Accepted, outcome.accepted);
        stats.count_many(Counter::Rejected, outcome.rejected);
        outcome
    }

    fn flush(&mut self) {
        if self.sent == self.pending.len() || self.state == State::Dialing {
            return;
        }
        match socket::send(&self.socket, &self.pending[self.sent..]) {
            Ok(sent) => self.sent += sent,
            // The next read detects the end of the connection.
            Err(_) => self.sent = self.pending.len(),
        }
    }
}
