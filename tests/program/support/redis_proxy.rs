//! A TCP proxy between a node and Redis that breaks one connection at a chosen step of a publish.
//!
//! A fault waits for the first command that contains [`MARK`], so that pings and control messages pass. It happens
//! once. Later connections work.

use super::DEADLINE;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

/// The text in the data of an emit that triggers the fault.
pub const MARK: &str = "cut-here";

/// The step at which a connection breaks or hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before any byte of the command is forwarded.
    BeforeBytes,
    /// It ends after the bytes up to the mark were forwarded, so that the command stays incomplete.
    WithinBytes,
    /// It ends after the whole command was forwarded. Redis replies, but the node never receives the reply.
    BeforeReply,
    /// It ends after the first byte of the reply.
    WithinReply,
    /// The bytes of the command are held until [`RedisProxy::release`], and then forwarded.
    HeldBytes,
    /// The reply is held until [`RedisProxy::release`].
    HeldReply,
}

/// The proxy. See the module documentation.
pub struct RedisProxy {
    address: SocketAddr,
    url: String,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    released: Condvar,
    /// New connections are closed at once.
    refuses: AtomicBool,
    is_ended: AtomicBool,
}

#[derive(Default)]
struct State {
    fault: Option<Fault>,
    is_released: bool,
    /// Both sides of every connection.
    open: Vec<TcpStream>,
}

impl RedisProxy {
    /// A proxy in front of the Redis at `url`.
    pub fn start(url: &str) -> RedisProxy {
        let target = super::redis_url::RedisUrl::read(url).host.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let shared = Arc::new(Shared::default());
        let (url, accepted) = (url.replace(&target, &address.to_string()), shared.clone());
        let accepting = thread::spawn(move || accept(&listener, &target, &accepted));
        RedisProxy { address, url, shared, accepting: Some(accepting) }
    }

    /// The address of Redis behind the proxy, with user, password and database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Breaks the connection at the next command that contains the mark.
    pub fn arm(&self, fault: Fault) {
        let mut state = self.shared.state();
        (state.fault, state.is_released) = (Some(fault), false);
    }

    /// Forwards the held bytes.
    pub fn release(&self) {
        self.shared.state().is_released = true;
        self.shared.released.notify_all();
    }

    /// Ends every connection and refuses new ones.
    pub fn close(&self) {
        self.shared.refuses.store(true, SeqCst);
        self.shared.end_all();
    }

    /// Accepts connections again.
    pub fn open(&self) {
        self.shared.refuses.store(false, SeqCst);
    }
}

impl Drop for RedisProxy {
    fn drop(&mut self) {
        self.shared.is_ended.store(true, SeqCst);
        self.release();
        self.close();
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn end_all(&self) {
        for stream in self.state().open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Takes the fault if these bytes contain the mark. Returns the start of the mark.
    fn strike(&self, bytes: &[u8]) -> Option<(Fault, usize)> {
        let position = bytes.windows(MARK.len()).position(|window| window == MARK.as_bytes())?;
        self.state().fault.take().map(|fault| (fault, position))
    }

    fn await_release(&self) {
        let wait = self.released.wait_timeout_while(self.state(), DEADLINE, |state| !state.is_released);
        drop(wait);
    }
}

fn accept(listener: &TcpListener, target: &str, shared: &Arc<Shared>) {
    for node in listener.incoming() {
        let Ok(node) = node else { continue };
        if shared.is_ended.load(SeqCst) {
            return;
        }
        if shared.refuses.load(SeqCst) {
            continue;
        }
        let Ok(redis) = TcpStream::connect(target) else { continue };
        let clone = |stream: &TcpStream| stream.try_clone().expect("a second handle of a socket");
        shared.state().open.extend([clone(&node), clone(&redis)]);
        let link = Arc::new(Link { shared: shared.clone(), reply: Mutex::new(None) });
        let (forth, back) = ((clone(&node), clone(&redis)), (redis, node));
        let answering = link.clone();
        thread::spawn(move || link.forward_commands(forth.0, forth.1));
        thread::spawn(move || answering.forward_replies(back.0, back.1));
    }
}

/// One connection of the node.
struct Link {
    shared: Arc<Shared>,
    /// The fault of the next reply.
    reply: Mutex<Option<Fault>>,
}

impl Link {
    fn forward_commands(&self, mut node: TcpStream, mut redis: TcpStream) {
        let mut buffer = vec![0; 1 << 20];
        while let Ok(length @ 1..) = node.read(&mut buffer) {
            let bytes = &buffer[..length];
            let is_whole = match self.shared.strike(bytes) {
                None => redis.write_all(bytes).is_ok(),
                Some((Fault::BeforeBytes, _)) => false,
                Some((Fault::WithinBytes, position)) => {
                    let _ = redis.write_all(&bytes[..position]);
                    // Redis runs the complete commands before it sees the end of the connection.
                    false
                }
                Some((Fault::HeldBytes, _)) => {
                    self.shared.await_release();
                    redis.write_all(bytes).is_ok()
                }
                Some((fault, _)) => {
                    *self.reply.lock().expect("no thread fails") = Some(fault);
                    redis.write_all(bytes).is_ok()
                }
            };
            if !is_whole {
                break;
            }
        }
        // Redis still reads the forwarded bytes. The thread of the replies closes the other half.
        let _ = redis.shutdown(Shutdown::Write);
        let _ = node.shutdown(Shutdown::Both);
    }

    fn forward_replies(&self, mut redis: TcpStream, mut node: TcpStream) {
        let mut buffer = vec![0; 1 << 20];
        while let Ok(length @ 1..) = redis.read(&mut buffer) {
            let fault = self.reply.lock().expect("no thread fails").take();
            let is_whole = match fault {
                Some(Fault::BeforeReply) => false,
                Some(Fault::WithinReply) => {
                    let _ = node.write_all(&buffer[..1]);
                    false
                }
                Some(Fault::HeldReply) => {
                    self.shared.await_release();
                    node.write_all(&buffer[..length]).is_ok()
                }
                _ => node.write_all(&buffer[..length]).is_ok() || self.drain(&mut redis),
            };
            if !is_whole {
                break;
            }
        }
        let _ = node.shutdown(Shutdown::Both);
        let _ = redis.shutdown(Shutdown::Both);
    }

    /// Reads on after the node has disconnected, so that Redis is not reset while it still reads commands.
    fn drain(&self, redis: &mut TcpStream) -> bool {
        let mut rest = vec![0; 4096];
        while let Ok(1..) = redis.read(&mut rest) {}
        false
    }
}
