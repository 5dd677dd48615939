//! The clients of a process: connects and reconnects them, and handles their sockets.

use crate::counts::{Counter, Timing};
use crate::instructions::WorkerSpec;
use crate::protocols::ServerProtocol;
use crate::worker::client::{Client, Context, Ending, State};
use crate::worker::random::Random;
use crate::worker::socket;
use crate::worker::stats::Stats;
use rustix::fd::BorrowedFd;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

/// How long a client that lost its connection waits before it reconnects (docs/protocol.md), in nanoseconds.
const RECONNECT_DELAY: std::ops::Range<u64> = 1_000_000_000..5_000_000_000;
/// How long a churn waits after a failed connection before it starts the next one, in nanoseconds.
const CHURN_RETRY_DELAY: u64 = 100_000_000;

/// The clients of one process.
pub struct Clients {
    protocol: Box<dyn ServerProtocol>,
    targets: Vec<SocketAddrV4>,
    sources: Vec<Ipv4Addr>,
    audience_size: u32,
    clients: Vec<Client>,
    /// The number of the next new client.
    next_number: u32,
    /// Indexes of clients to connect.
    waiting: VecDeque<usize>,
    /// Indexes of clients to connect later, with their times.
    later: BinaryHeap<Reverse<(u64, usize)>>,
    connecting: u32,
    at_once: u32,
    returns: bool,
    is_churn: bool,
    is_paused: bool,
    dialed: usize,
    out: Vec<u8>,
    random: Random,
}

impl Clients {
    pub fn new(spec: &WorkerSpec) -> Clients {
        Clients {
            protocol: spec.protocol.build(),
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
            dialed: 0,
            out: Vec::new(),
            random: Random::new(spec.first),
        }
    }

    pub fn protocol(&self) -> &dyn ServerProtocol {
        &*self.protocol
    }

    /// Connects clients until there are `count`.
    pub fn hold(&mut self, count: u32, at_once: u32, returns: bool) {
        (self.at_once, self.returns) = (at_once, returns);
        while self.clients.len() < count as usize {
            self.waiting.push_back(self.clients.len());
            self.clients.push(Client::new(self.next_number));
            self.next_number += 1;
        }
    }

    /// Connects and disconnects clients over and over, `at_once` at the same time.
    pub fn churn(&mut self, at_once: u32) {
        self.is_churn = true;
        self.hold(at_once, at_once, false);
    }

    /// Starts no new connection of a churn.
    pub fn pause(&mut self) {
        self.is_paused = true;
        if self.is_churn {
            self.waiting.clear();
            self.later.clear();
        }
    }

    /// Closes all clients. None reconnects.
    pub fn leave(&mut self) {
        self.returns = false;
        self.waiting.clear();
        self.later.clear();
        for index in 0..self.clients.len() {
            self.clients[index].leave(&mut self.out, socket::now());
            self.flush(index);
        }
    }

    /// Starts the connections that are due. Returns when the next one is due.
    pub fn dial_due(&mut self, epoll: BorrowedFd<'_>, stats: &mut Stats) -> Option<u64> {
        let now = socket::now();
        while self.later.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            self.waiting.extend(self.later.pop().map(|Reverse((_, index))| index));
        }
        while self.connecting < self.at_once {
            let Some(index) = self.waiting.pop_front() else { break };
            let target = self.targets[self.dialed % self.targets.len()];
            let source = (!self.sources.is_empty()).then(|| self.sources[self.dialed % self.sources.len()]);
            self.dialed += 1;
            self.connecting += 1;
            stats.count(Counter::Dialed);
            match socket::dial(epoll, index as u64, target, source) {
                Ok(socket) => self.clients[index].dial(socket, socket::now()),
                Err(_) => self.failed(index, stats),
            }
        }
        self.later.peek().map(|Reverse((at, _))| *at)
    }

    /// Handles the readiness of a socket.
    pub fn on_ready(&mut self, index: usize, is_writable: bool, stats: &mut Stats, scratch: &mut [u8]) {
        let client = &mut self.clients[index];
        let Some(socket) = &client.socket else { return };
        if client.state == State::Dialing {
            if !is_writable {
                return;
            }
            if socket::connected(socket).is_err() {
                return self.failed(index, stats);
            }
            let (client, mut context) = self.context(index, stats);
            client.on_connected(&mut context);
            self.flush(index);
        }
        if let Some(ending) = self.read(index, stats, scratch) {
            self.end(index, ending, stats);
        }
    }

    /// Reads until the socket is empty, since the epoll is edge-triggered.
    fn read(&mut self, index: usize, stats: &mut Stats, scratch: &mut [u8]) -> Option<Ending> {
        loop {
            let was_live = self.clients[index].is_live();
            let (client, mut context) = self.context(index, stats);
            let kept = client.partial.len();
            // No server under test sends a message that is longer than the scratch buffer.
            let Some(room) = scratch.get_mut(kept..).filter(|room| !room.is_empty()) else { return Some(Ending::Lost) };
            let read = match socket::receive(client.socket.as_ref()?, room) {
                Ok(None) => return None,
                Ok(Some(0)) | Err(_) => return Some(client.on_end()),
                Ok(Some(read)) => read,
            };
            let is_drained = read < room.len();
            scratch[..kept].copy_from_slice(&client.partial);
            let bytes = &scratch[..kept + read];
            context.now = socket::now();
            let result = client.on_bytes(bytes, &mut context);
            match result {
                Ok(used) if used < bytes.len() => client.partial = bytes[used..].into(),
                Ok(_) if kept > 0 => client.partial = Box::default(),
                _ => {}
            }
            self.connecting -= u32::from(!was_live && self.clients[index].is_live());
            let is_written = self.flush(index);
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

    fn context<'a>(&'a mut self, index: usize, stats: &'a mut Stats) -> (&'a mut Client, Context<'a>) {
        let context = Context {
            protocol: &*self.protocol,
            stats,
            out: &mut self.out,
            audience_size: self.audience_size,
            is_churn: self.is_churn,
            now: socket::now(),
        };
        (&mut self.clients[index], context)
    }

    /// Writes the output of a client. Returns false if the system does not accept all of it: that little always fits,
    /// unless the connection is broken.
    fn flush(&mut self, index: usize) -> bool {
        if self.out.is_empty() {
            return true;
        }
        let client = &self.clients[index];
        let sent = client.socket.as_ref().and_then(|socket| socket::send(socket, &self.out).ok());
        let is_whole = sent == Some(self.out.len());
        self.out.clear();
        is_whole
    }

    fn failed(&mut self, index: usize, stats: &mut Stats) {
        stats.count(Counter::Failed);
        self.close(index, stats, CHURN_RETRY_DELAY);
    }

    fn end(&mut self, index: usize, ending: Ending, stats: &mut Stats) {
        let now = socket::now();
        let client = &mut self.clients[index];
        match ending {
            Ending::Left => {
                stats.count(Counter::Left);
                stats.time(Timing::Cycle, now - client.begun);
            }
            Ending::Refused => stats.count(Counter::Refused),
            Ending::Lost => {
                stats.count(Counter::Lost);
                (client.is_away, client.begun) = (true, now);
            }
        }
        self.close(index, stats, if ending == Ending::Left { 0 } else { CHURN_RETRY_DELAY });
    }

    /// Closes a client, and decides when it or its successor connects.
    fn close(&mut self, index: usize, stats: &mut Stats, churn_retry_delay: u64) {
        let client = &mut self.clients[index];
        if client.is_live() {
            stats.live -= 1;
        } else {
            self.connecting -= 1;
        }
        client.socket = None;
        client.state = State::Idle;
        client.partial = Box::default();
        if self.is_churn && !self.is_paused {
            *client = Client::new(self.next_number);
            self.next_number += 1;
            match churn_retry_delay {
                0 => self.waiting.push_back(index),
                after => self.later.push(Reverse((socket::now() + after, index))),
            }
        } else if self.returns && client.is_away {
            let wait = RECONNECT_DELAY.start + self.random.below(RECONNECT_DELAY.end - RECONNECT_DELAY.start);
            let at = socket::now() + wait;
            self.later.push(Reverse((at, index)));
        }
    }
}
