//! `100 Continue`, sent when a handler begins to read the body, so that a refused client sends none.
//!
//! The HTTP library writes it before the handler is asked. It is held back here. If the handler answers without reading
//! the body, it is never sent.

use super::flow::ConnectionFlow;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;

/// As the HTTP library writes it.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What is held back, and what of it is being sent.
#[derive(Default)]
pub(super) struct Continuation {
    is_held: bool,
    unsent: &'static [u8],
}

impl Continuation {
    /// Takes the line from the front of what the library writes; its length, or 0 if it is not there.
    pub(super) fn take_from(&mut self, bytes: &[u8]) -> usize {
        if !bytes.starts_with(CONTINUE) {
            self.is_held = false;
            return 0;
        }
        // An answer right behind it makes it pointless.
        self.is_held = bytes.len() == CONTINUE.len();
        CONTINUE.len()
    }

    /// Whether the handler has not said yet whether it reads the body.
    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Sends what was held back, once the handler reads the body.
    pub(super) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        socket: &mut TcpStream,
        flow: &ConnectionFlow,
    ) -> Poll<io::Result<()>> {
        if self.is_held && flow.reads_body() {
            self.is_held = false;
            self.unsent = CONTINUE;
        }
        while !self.unsent.is_empty() {
            let sent = ready!(Pin::new(&mut *socket).poll_write(cx, self.unsent))?;
            self.unsent = &self.unsent[sent..];
        }
        Poll::Ready(Ok(()))
    }
}
