//! One client: from the dial to the goodbye. It reads and writes bytes; the socket is the worker's.

use crate::counts::{Counter, Timing};
use crate::dialects::{Dialect, Heard, Person, Stage};
use crate::wire::frame::{self, Frame, Opcode};
use crate::wire::{answer, mark};
use crate::worker::account::Account;
use crate::worker::tally::Tally;
use rustix::fd::OwnedFd;

/// "I am done" (RFC 6455 §7.4.1): 1000.
const GOODBYE: [u8; 2] = 1000_u16.to_be_bytes();

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has no connection.
    Idle,
    Dialing,
    Upgrading,
    Talking(Stage),
    /// It said goodbye and waits for the answer.
    Leaving,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Left,
    Refused,
    Lost,
}

/// A client; 128 bytes, and nothing on the heap but while a message is half here.
#[derive(Debug)]
pub struct Client {
    pub socket: Option<OwnedFd>,
    pub state: State,
    pub number: u32,
    /// Whether it lost its connection and has none again yet: `begun` is when it lost it, then.
    pub is_away: bool,
    /// When its cycle began.
    pub begun: u64,
    /// When its present step began.
    since: u64,
    /// What came of a message that is not whole.
    pub partial: Box<[u8]>,
    account: Account,
}

/// What a client needs from around it.
#[derive(Debug)]
pub struct Scene<'a> {
    pub dialect: &'a dyn Dialect,
    pub tally: &'a mut Tally,
    /// What is to be written to the client's socket.
    pub out: &'a mut Vec<u8>,
    pub audience_size: u32,
    /// Whether a client leaves as soon as it is registered.
    pub is_churn: bool,
    pub now: u64,
}

impl Client {
    pub fn new(number: u32) -> Client {
        let (partial, account) = (Box::default(), Account::default());
        Client { socket: None, state: State::Idle, number, is_away: false, begun: 0, since: 0, partial, account }
    }

    /// Begins a connection.
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
        matches!(self.state, State::Talking(Stage::Live) | State::Leaving)
    }

    /// Asks for the WebSocket.
    pub fn on_connected(&mut self, scene: &mut Scene<'_>) {
        scene.tally.count(Counter::Connected);
        self.step(Timing::Tcp, scene);
        self.state = State::Upgrading;
        let (mut path, mut headers) = (String::new(), String::new());
        scene.dialect.upgrade(self.person(scene.audience_size), &mut path, &mut headers);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        scene.out.extend_from_slice(request.as_bytes());
    }

    /// Takes what has come, and says how much of it is of no more use.
    ///
    /// # Errors
    /// How the connection ended.
    pub fn on_bytes(&mut self, bytes: &[u8], scene: &mut Scene<'_>) -> Result<usize, Ending> {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            used += if self.state == State::Upgrading {
                let Some(answer) = answer::read(rest).map_err(|_| Ending::Refused)? else { break };
                if answer.status != 101 {
                    scene.tally.count_status(answer.status);
                    return Err(Ending::Refused);
                }
                self.on_upgraded(scene);
                answer.length
            } else {
                let Some(frame) = frame::read(rest).map_err(|_| Ending::Lost)? else { break };
                let length = frame.length;
                self.on_frame(&frame, scene)?;
                length
            };
        }
        Ok(used)
    }

    /// The server has ended the connection without a word.
    pub fn on_end(&self) -> Ending {
        match self.state {
            State::Leaving => Ending::Left,
            State::Talking(Stage::Live) => Ending::Lost,
            _ => Ending::Refused,
        }
    }

    /// Says goodbye, if there is somebody to say it to.
    pub fn leave(&mut self, out: &mut Vec<u8>, now: u64) {
        if self.state == State::Talking(Stage::Live) {
            frame::write(Opcode::Close, &GOODBYE, out);
            self.state = State::Leaving;
            self.since = now;
        }
    }

    fn person(&self, audience_size: u32) -> Person {
        Person { number: self.number, audience: self.number / audience_size }
    }

    fn on_upgraded(&mut self, scene: &mut Scene<'_>) {
        scene.tally.count(Counter::Upgraded);
        let stage = scene.dialect.on_open(self.person(scene.audience_size), scene.out);
        self.state = State::Talking(stage);
        if stage != Stage::Greeting {
            self.step(Timing::Connected, scene);
        }
        if stage == Stage::Live {
            self.on_registered(scene);
        }
    }

    fn on_frame(&mut self, frame: &Frame<'_>, scene: &mut Scene<'_>) -> Result<(), Ending> {
        match frame.opcode {
            Opcode::Ping => frame::write(Opcode::Pong, frame.payload, scene.out),
            Opcode::Pong => {}
            Opcode::Close if self.state == State::Leaving => {
                self.step(Timing::Left, scene);
                return Err(Ending::Left);
            }
            Opcode::Close => {
                scene.tally.count_close(frame::close_code(frame.payload));
                return Err(self.on_end());
            }
            Opcode::Text | Opcode::Binary => return self.on_message(frame.payload, scene),
        }
        Ok(())
    }

    fn on_message(&mut self, message: &[u8], scene: &mut Scene<'_>) -> Result<(), Ending> {
        let State::Talking(stage) = self.state else { return Ok(()) };
        match scene.dialect.on_message(stage, message, self.person(scene.audience_size), scene.out) {
            Heard::Nothing => {}
            Heard::Notified => self.on_notified(message, scene),
            Heard::Gap => scene.tally.count(Counter::Gaps),
            Heard::Refused => return Err(Ending::Refused),
            Heard::Greeted => {
                self.step(Timing::Connected, scene);
                self.state = State::Talking(Stage::Registering);
            }
            Heard::Registered => self.on_registered(scene),
        }
        Ok(())
    }

    fn on_notified(&mut self, mut message: &[u8], scene: &mut Scene<'_>) {
        while let Some((mark, rest)) = mark::find(message) {
            scene.tally.told(mark, &mut self.account, scene.now);
            message = rest;
        }
    }

    fn on_registered(&mut self, scene: &mut Scene<'_>) {
        scene.tally.count(Counter::Registered);
        scene.tally.live += 1;
        self.step(Timing::Registered, scene);
        self.state = State::Talking(Stage::Live);
        if self.is_away {
            self.is_away = false;
            scene.tally.count(Counter::Returned);
            scene.tally.time(Timing::Away, scene.now - self.begun);
        }
        if scene.is_churn {
            self.leave(scene.out, scene.now);
        }
    }

    /// Times a step, and begins the next.
    fn step(&mut self, timing: Timing, scene: &mut Scene<'_>) {
        scene.tally.time(timing, scene.now.saturating_sub(self.since));
        self.since = scene.now;
    }
}
