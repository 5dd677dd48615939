//! A process's clients: which are connected when, which come again, and what happens on their sockets.

use crate::counts::{Counter, Timing};
use crate::dialects::Dialect;
use crate::orders::WorkerSpec;
use crate::worker::client::{Client, Ending, Scene, State};
use crate::worker::random::Random;
use crate::worker::socket;
use crate::worker::tally::Tally;
use rustix::fd::BorrowedFd;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

/// How long a client that lost its node waits before it comes again, as docs/protocol.md asks, in nanoseconds.
const RETURN_AFTER: std::ops::Range<u64> = 1_000_000_000..5_000_000_000;
/// How long a place of a churn stays empty after a connection could not be made.
const CHURN_AGAIN_AFTER: u64 = 100_000_000;

/// The clients of one process.
pub struct Clients {
    dialect: Box<dyn Dialect>,
    targets: Vec<SocketAddrV4>,
    sources: Vec<Ipv4Addr>,
    audience_size: u32,
    clients: Vec<Client>,
    /// The number of the next new client.
    next_number: u32,
    /// Places whose client is to be connected.
    waiting: VecDeque<usize>,
    /// The same, each not before its moment.
    later: BinaryHeap<Reverse<(u64, usize)>>,
    connecting: u32,
    at_once: u32,
    returns: bool,
    is_churn: bool,
    is_paused: bool,
    dialled: usize,
    out: Vec<u8>,
    random: Random,
}

impl Clients {
    pub fn new(spec: &WorkerSpec) -> Clients {
        Clients {
            dialect: spec.dialect.dialect(),
            targets: spec.targets.clone(),
            sources: spec.sources.clone(),
            audience_size: spec.audience_size,
            clients: Vec::new(),
            next_number: spec.first,
            waiting: VecDeque::new(),
            later: BinaryHeap::new(),
            connecting: 0,
            at_once: 0,
            returns: false,
            is_churn: false,
            is_paused: false,
            dialled: 0,
            out: Vec::new(),
            random: Random::new(spec.first),
        }
    }

    pub fn dialect(&self) -> &dyn Dialect {
        &*self.dialect
    }

    /// Connects clients until there are so many.
    pub fn hold(&mut self, count: u32, at_once: u32, returns: bool) {
        (self.at_once, self.returns) = (at_once, returns);
        while self.clients.len() < count as usize {
            self.waiting.push_back(self.clients.len());
            self.clients.push(Client::new(self.next_number));
            self.next_number += 1;
        }
    }

    /// Lets so many clients come and go.
    pub fn churn(&mut self, at_once: u32) {
        self.is_churn = true;
        self.hold(at_once, at_once, false);
    }

    /// Begins no new connection in a place that becomes free.
    pub fn pause(&mut self) {
        self.is_paused = true;
        if self.is_churn {
            self.waiting.clear();
            self.later.clear();
        }
    }

    /// Lets every client say goodbye; none comes again.
    pub fn leave(&mut self) {
        self.returns = false;
        self.waiting.clear();
        self.later.clear();
        for place in 0..self.clients.len() {
            self.clients[place].leave(&mut self.out, socket::now());
            self.flush(place);
        }
    }

    /// Dials whose turn it is; when the next one's will be.
    pub fn dial_due(&mut self, epoll: BorrowedFd<'_>, tally: &mut Tally) -> Option<u64> {
        let now = socket::now();
        while self.later.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            self.waiting.extend(self.later.pop().map(|Reverse((_, place))| place));
        }
        while self.connecting < self.at_once {
            let Some(place) = self.waiting.pop_front() else { break };
            let target = self.targets[self.dialled % self.targets.len()];
            let source = (!self.sources.is_empty()).then(|| self.sources[self.dialled % self.sources.len()]);
            self.dialled += 1;
            self.connecting += 1;
            tally.count(Counter::Dialled);
            match socket::dial(epoll, place as u64, target, source) {
                Ok(socket) => self.clients[place].dial(socket, socket::now()),
                Err(_) => self.failed(place, tally),
            }
        }
        self.later.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes a socket's readiness.
    pub fn on_ready(&mut self, place: usize, is_writable: bool, tally: &mut Tally, scratch: &mut [u8]) {
        let client = &mut self.clients[place];
        let Some(socket) = &client.socket else { return };
        if client.state == State::Dialing {
            if !is_writable {
                return;
            }
            if socket::connected(socket).is_err() {
                return self.failed(place, tally);
            }
            let (client, mut scene) = self.scene(place, tally);
            client.on_connected(&mut scene);
            self.flush(place);
        }
        if let Some(ending) = self.read(place, tally, scratch) {
            self.end(place, ending, tally);
        }
    }

    /// Reads until nothing is left, since the poll tells only what is new.
    fn read(&mut self, place: usize, tally: &mut Tally, scratch: &mut [u8]) -> Option<Ending> {
        loop {
            let was_live = self.clients[place].is_live();
            let (client, mut scene) = self.scene(place, tally);
            let kept = client.partial.len();
            // A message longer than the scratch is none that any server here sends.
            let Some(room) = scratch.get_mut(kept..).filter(|room| !room.is_empty()) else { return Some(Ending::Lost) };
            let read = match socket::receive(client.socket.as_ref()?, room) {
                Ok(None) => return None,
                Ok(Some(0)) | Err(_) => return Some(client.on_end()),
                Ok(Some(read)) => read,
            };
            let is_drained = read < room.len();
            scratch[..kept].copy_from_slice(&client.partial);
            let bytes = &scratch[..kept + read];
            scene.now = socket::now();
            let result = client.on_bytes(bytes, &mut scene);
            match result {
                Ok(used) if used < bytes.len() => client.partial = bytes[used..].into(),
                Ok(_) if kept > 0 => client.partial = Box::default(),
                _ => {}
            }
            self.connecting -= u32::from(!was_live && self.clients[place].is_live());
            let is_written = self.flush(place);
            if let Err(ending) = result {
                return Some(ending);
            }
            if !is_written {
                return Some(Ending::Lost);
            }
            if is_drained {
                return None;
            }
        }
    }

    fn scene<'a>(&'a mut self, place: usize, tally: &'a mut Tally) -> (&'a mut Client, Scene<'a>) {
        let scene = Scene {
            dialect: &*self.dialect,
            tally,
            out: &mut self.out,
            audience_size: self.audience_size,
            is_churn: self.is_churn,
            now: socket::now(),
        };
        (&mut self.clients[place], scene)
    }

    /// Writes what the client has to say; a client says so little that a system which does not take it has lost it.
    fn flush(&mut self, place: usize) -> bool {
        if self.out.is_empty() {
            return true;
        }
        let client = &self.clients[place];
        let sent = client.socket.as_ref().and_then(|socket| socket::send(socket, &self.out).ok());
        let is_whole = sent == Some(self.out.len());
        self.out.clear();
        is_whole
    }

    fn failed(&mut self, place: usize, tally: &mut Tally) {
        tally.count(Counter::Failed);
        self.close(place, tally, CHURN_AGAIN_AFTER);
    }

    fn end(&mut self, place: usize, ending: Ending, tally: &mut Tally) {
        let now = socket::now();
        let client = &mut self.clients[place];
        match ending {
            Ending::Left => {
                tally.count(Counter::Left);
                tally.time(Timing::Cycle, now - client.begun);
            }
            Ending::Refused => tally.count(Counter::Refused),
            Ending::Lost => {
                tally.count(Counter::Lost);
                (client.is_away, client.begun) = (true, now);
            }
        }
        self.close(place, tally, if ending == Ending::Left { 0 } else { CHURN_AGAIN_AFTER });
    }

    /// Frees a place, and decides when it is filled again.
    fn close(&mut self, place: usize, tally: &mut Tally, churn_again_after: u64) {
        let client = &mut self.clients[place];
        if client.is_live() {
            tally.live -= 1;
        } else {
            self.connecting -= 1;
        }
        client.socket = None;
        client.state = State::Idle;
        client.partial = Box::default();
        if self.is_churn && !self.is_paused {
            *client = Client::new(self.next_number);
            self.next_number += 1;
            match churn_again_after {
                0 => self.waiting.push_back(place),
                after => self.later.push(Reverse((socket::now() + after, place))),
            }
        } else if self.returns && client.is_away {
            let wait = RETURN_AFTER.start + self.random.below(RETURN_AFTER.end - RETURN_AFTER.start);
            let at = socket::now() + wait;
            self.later.push(Reverse((at, place)));
        }
    }
}
