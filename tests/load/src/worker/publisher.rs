//! One connection over which events are published: one request at a time, dialled again when the server ends it. A
//! request that met its end (408: the server was tired of waiting for one) is repeated on the next one, as RFC 9110,
//! section 15.5.9 has it.

use crate::counts::{Counter, Timing};
use crate::dialects::{Dialect, Door, Person, Stage};
use crate::wire::answer;
use crate::wire::frame::{self, Opcode};
use crate::worker::socket;
use crate::worker::tally::Tally;
use rustix::fd::OwnedFd;

/// The person that publishes over a WebSocket: nobody's number.
const NOBODY: Person = Person { number: u32::MAX, audience: u32::MAX };

/// What a server says that has waited too long for a request.
const REQUEST_TIMEOUT: u16 = 408;

/// How far a publisher has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Dialing,
    Upgrading,
    Talking(Stage),
    /// It can take a request.
    Idle,
    /// Its request waits for the answer.
    Busy,
    /// Its connection is at its end.
    Over,
}

/// A connection to publish over.
#[derive(Debug)]
pub struct Publisher {
    socket: OwnedFd,
    state: State,
    /// What is to be sent, from what the system has not taken yet on.
    pending: Vec<u8>,
    sent: usize,
    /// What came of an answer that is not whole.
    partial: Vec<u8>,
    /// When the first event of the request was to be emitted.
    intended: u64,
    /// Those of the request that waits for its answer; none without one.
    events: usize,
}

/// What became of a request.
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

    /// Goes on over a new connection: with the request that the last one's server has not looked at, if there is one.
    pub fn dialled_again(&mut self, socket: OwnedFd) {
        if self.events == 0 {
            self.pending.clear();
        }
        self.partial.clear();
        (self.socket, self.state, self.sent) = (socket, State::Dialing, 0);
    }

    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// Publishes a request that [`Dialect::publish`] wrote into [`Publisher::request`].
    pub fn publish(&mut self, events: usize, intended: u64) {
        (self.events, self.intended, self.state) = (events, intended, State::Busy);
        self.flush();
    }

    /// Where a request is written.
    pub fn request(&mut self) -> &mut Vec<u8> {
        if self.sent == self.pending.len() {
            self.pending.clear();
            self.sent = 0;
        }
        &mut self.pending
    }

    /// Takes readiness; what became of the request, once it is answered or can't be any more.
    pub fn on_ready(
        &mut self,
        is_writable: bool,
        dialect: &dyn Dialect,
        tally: &mut Tally,
        scratch: &mut [u8],
    ) -> Option<Outcome> {
        if self.state == State::Dialing && is_writable {
            self.on_connected(dialect, tally);
        }
        self.flush();
        while self.state != State::Over {
            match socket::receive(&self.socket, scratch) {
                Ok(None) => break,
                Ok(Some(0)) | Err(_) => self.state = self.lost(tally),
                Ok(Some(read)) => self.partial.extend_from_slice(&scratch[..read]),
            }
            if let Some(outcome) = self.on_bytes(dialect, tally) {
                return Some(outcome);
            }
        }
        None
    }

    /// The end of the connection; an unanswered request stays so.
    fn lost(&mut self, tally: &mut Tally) -> State {
        if self.state == State::Busy {
            tally.count_many(Counter::Unanswered, self.events as u64);
            self.events = 0;
        }
        State::Over
    }

    fn on_connected(&mut self, dialect: &dyn Dialect, tally: &mut Tally) {
        if socket::connected(&self.socket).is_err() {
            tally.count(Counter::Failed);
            self.state = State::Over;
            return;
        }
        self.state = if self.events > 0 { State::Busy } else { State::Idle };
        if dialect.door() == Door::WebSocket {
            self.state = State::Upgrading;
            let (mut path, mut headers) = (String::new(), String::new());
            dialect.upgrade(NOBODY, &mut path, &mut headers);
            self.pending = format!(
                "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
            )
            .into_bytes();
        }
    }

    fn on_bytes(&mut self, dialect: &dyn Dialect, tally: &mut Tally) -> Option<Outcome> {
        match (dialect.door(), self.state) {
            (_, State::Over) => None,
            (Door::WebSocket, State::Talking(_) | State::Idle | State::Busy) => self.on_frames(dialect, tally),
            (Door::WebSocket, _) => {
                let length = answer::read(&self.partial).ok().flatten()?.length;
                self.partial.drain(..length);
                self.state = State::Talking(dialect.on_open(NOBODY, &mut self.pending));
                self.on_frames(dialect, tally)
            }
            (Door::Http, _) => self.on_answer(dialect, tally),
        }
    }

    fn on_answer(&mut self, dialect: &dyn Dialect, tally: &mut Tally) -> Option<Outcome> {
        let answer = match answer::read(&self.partial) {
            Ok(answer) => answer?,
            Err(_) => {
                self.state = self.lost(tally);
                return None;
            }
        };
        if self.state != State::Busy || answer.status == REQUEST_TIMEOUT {
            // Not asked for: a server tells an idle connection so that it ends it. A request that crossed that word is
            // still whole in `pending`.
            self.state = State::Over;
            return None;
        }
        tally.count_status(answer.status);
        let accepted = dialect.accepted(answer.status, answer.body, self.events).min(self.events);
        let (length, is_last) = (answer.length, answer.is_last);
        self.partial.drain(..length);
        self.state = if is_last { State::Over } else { State::Idle };
        Some(self.answered(accepted, tally))
    }

    fn on_frames(&mut self, dialect: &dyn Dialect, tally: &mut Tally) -> Option<Outcome> {
        let mut outcome = None;
        while let Ok(Some(frame)) = frame::read(&self.partial) {
            let length = frame.length;
            match (self.state, frame.opcode) {
                (State::Talking(stage), Opcode::Text | Opcode::Binary) => {
                    let stage = match dialect.on_message(stage, frame.payload, NOBODY, &mut self.pending) {
                        crate::dialects::Heard::Greeted => Stage::Registering,
                        crate::dialects::Heard::Registered => Stage::Live,
                        _ => stage,
                    };
                    self.state = if stage == Stage::Live { State::Idle } else { State::Talking(stage) };
                }
                (State::Busy, Opcode::Text | Opcode::Binary) if frame.payload.starts_with(b"PONG") => {
                    self.state = State::Idle;
                    outcome = Some(self.answered(self.events, tally));
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

    fn answered(&mut self, accepted: usize, tally: &mut Tally) -> Outcome {
        tally.time(Timing::Answer, socket::now().saturating_sub(self.intended));
        let events = std::mem::take(&mut self.events);
        let outcome = Outcome { accepted: accepted as u64, rejected: (events - accepted) as u64 };
        tally.count_many(Counter::Accepted, outcome.accepted);
        tally.count_many(Counter::Rejected, outcome.rejected);
        outcome
    }

    fn flush(&mut self) {
        if self.sent == self.pending.len() || self.state == State::Dialing {
            return;
        }
        match socket::send(&self.socket, &self.pending[self.sent..]) {
            Ok(sent) => self.sent += sent,
            // Reading finds the end.
            Err(_) => self.sent = self.pending.len(),
        }
    }
}
