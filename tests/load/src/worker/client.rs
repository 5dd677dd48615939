//! One client, from the connection to the close frame. It reads and writes bytes. `clients.rs` uses the socket.

use crate::counts::{Counter, Timing};
use crate::protocols::{ClientIdentity, MessageKind, ServerProtocol, Stage};
use crate::wire::frame::{self, Frame, Opcode};
use crate::wire::{answer, mark};
use crate::worker::sequence::SequenceTracker;
use crate::worker::stats::Stats;
use rustix::fd::OwnedFd;

/// Close code 1000 (RFC 6455 §7.4.1).
const NORMAL_CLOSURE: [u8; 2] = 1000_u16.to_be_bytes();

/// The state of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Idle,
    Dialing,
    Upgrading,
    Open(Stage),
    /// Has sent a close frame and waits for the answer.
    Leaving,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Left,
    Refused,
    Lost,
}

/// A client: 128 bytes. It uses the heap only while a message is incomplete.
#[derive(Debug)]
pub struct Client {
    pub socket: Option<OwnedFd>,
    pub state: State,
    pub number: u32,
    /// Whether it lost its connection and has not reconnected. `begun` is then the time of the loss.
    pub is_away: bool,
    /// The start of its cycle.
    pub begun: u64,
    /// The start of its current step.
    since: u64,
    /// The received part of an incomplete message.
    pub partial: Box<[u8]>,
    sequence: SequenceTracker,
}

/// The surroundings of a client while it handles an event.
#[derive(Debug)]
pub struct Context<'a> {
    pub protocol: &'a dyn ServerProtocol,
    pub stats: &'a mut Stats,
    /// The bytes to write to the socket of the client.
    pub out: &'a mut Vec<u8>,
    pub audience_size: u32,
    /// Whether a client disconnects as soon as it is registered.
    pub is_churn: bool,
    pub now: u64,
}

impl Client {
    pub fn new(number: u32) -> Client {
        let (partial, sequence) = (Box::default(), SequenceTracker::default());
        Client { socket: None, state: State::Idle, number, is_away: false, begun: 0, since: 0, partial, sequence }
    }

    /// Starts a connection.
    pub fn dial(&mut self, socket: OwnedFd, now: u64) {
        self.socket = Some(socket);
        self.state = State::Dialing;
        self.since = now;
        if !self.is_away {
            self.begun = now;
        }
    }

    /// Whether it has a confirmed subscription.
    pub fn is_live(&self) -> bool {
        matches!(self.state, State::Open(Stage::Live) | State::Leaving)
    }

    /// Sends the upgrade request.
    pub fn on_connected(&mut self, context: &mut Context<'_>) {
        context.stats.count(Counter::Connected);
        self.step(Timing::Tcp, context);
        self.state = State::Upgrading;
        let (mut path, mut headers) = (String::new(), String::new());
        context.protocol.upgrade(self.identity(context.audience_size), &mut path, &mut headers);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        context.out.extend_from_slice(request.as_bytes());
    }

    /// Reads the received bytes. Returns how many were used.
    ///
    /// # Errors
    /// How the connection ended.
    pub fn on_bytes(&mut self, bytes: &[u8], context: &mut Context<'_>) -> Result<usize, Ending> {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            used += if self.state == State::Upgrading {
                let Some(answer) = answer::read(rest).map_err(|_| Ending::Refused)? else { break };
                if answer.status != 101 {
                    context.stats.count_status(answer.status);
                    return Err(Ending::Refused);
                }
                self.on_upgraded(context);
                answer.length
            } else {
                let Some(frame) = frame::read(rest).map_err(|_| Ending::Lost)? else { break };
                let length = frame.length;
                self.on_frame(&frame, context)?;
                length
            };
        }
        Ok(used)
    }

    /// How a connection ended that the server closed without a close frame.
    pub fn on_end(&self) -> Ending {
        match self.state {
            State::Leaving => Ending::Left,
            State::Open(Stage::Live) => Ending::Lost,
            _ => Ending::Refused,
        }
    }

    /// Sends a close frame if the client is registered.
    pub fn leave(&mut self, out: &mut Vec<u8>, now: u64) {
        if self.state == State::Open(Stage::Live) {
            frame::write(Opcode::Close, &NORMAL_CLOSURE, out);
            self.state = State::Leaving;
            self.since = now;
        }
    }

    fn identity(&self, audience_size: u32) -> ClientIdentity {
        ClientIdentity { number: self.number, audience: self.number / audience_size }
    }

    fn on_upgraded(&mut self, context: &mut Context<'_>) {
        context.stats.count(Counter::Upgraded);
        let stage = context.protocol.on_open(self.identity(context.audience_size), context.out);
        self.state = State::Open(stage);
        if stage != Stage::Greeting {
            self.step(Timing::Connected, context);
        }
        if stage == Stage::Live {
            self.on_registered(context);
        }
    }

    fn on_frame(&mut self, frame: &Frame<'_>, context: &mut Context<'_>) -> Result<(), Ending> {
        match frame.opcode {
            Opcode::Ping => frame::write(Opcode::Pong, frame.payload, context.out),
            Opcode::Pong => {}
            Opcode::Close if self.state == State::Leaving => {
                self.step(Timing::Left, context);
                return Err(Ending::Left);
            }
            Opcode::Close => {
                context.stats.count_close(frame::close_code(frame.payload));
                return Err(self.on_end());
            }
            Opcode::Text | Opcode::Binary => return self.on_message(frame.payload, context),
        }
        Ok(())
    }

    fn on_message(&mut self, message: &[u8], context: &mut Context<'_>) -> Result<(), Ending> {
        let State::Open(stage) = self.state else { return Ok(()) };
        match context.protocol.on_message(stage, message, self.identity(context.audience_size), context.out) {
            MessageKind::Other => {}
            MessageKind::Notification => self.on_notified(message, context),
            MessageKind::Gap => context.stats.count(Counter::Gaps),
            MessageKind::Refused => return Err(Ending::Refused),
            MessageKind::Greeting => {
                self.step(Timing::Connected, context);
                self.state = State::Open(Stage::Registering);
            }
            MessageKind::Registered => self.on_registered(context),
        }
        Ok(())
    }

    fn on_notified(&mut self, mut message: &[u8], context: &mut Context<'_>) {
        while let Some((mark, rest)) = mark::find(message) {
            context.stats.record_notification(mark, &mut self.sequence, context.now);
            message = rest;
        }
    }

    fn on_registered(&mut self, context: &mut Context<'_>) {
        context.stats.count(Counter::Registered);
        context.stats.live += 1;
        self.step(Timing::Registered, context);
        self.state = State::Open(Stage::Live);
        if self.is_away {
            self.is_away = false;
            context.stats.count(Counter::Returned);
            context.stats.time(Timing::Away, context.now - self.begun);
        }
        if context.is_churn {
            self.leave(context.out, context.now);
        }
    }

    /// Records the time of a step, and starts the next one.
    fn step(&mut self, timing: Timing, context: &mut Context<'_>) {
        context.stats.time(timing, context.now.saturating_sub(self.since));
        self.since = context.now;
    }
}
