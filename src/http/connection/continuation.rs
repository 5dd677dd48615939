//! `100 Continue`, sent when a handler begins to read the body, so that a refused client sends none.
//!
//! The HTTP library writes it before the handler runs. This module holds it back. If the handler answers without
//! reading the body, it is never sent.

use super::flow::ConnectionFlow;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;

/// The line as the HTTP library writes it.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A line that is held back or partly sent.
#[derive(Default)]
pub(super) struct Continuation {
    is_held: bool,
    unsent: &'static [u8],
}

impl Continuation {
    /// Holds the line back if `bytes`, which the library writes, begins with it. Returns the number of bytes held back.
    pub(super) fn take_from(&mut self, bytes: &[u8]) -> usize {
        if !bytes.starts_with(CONTINUE) {
            self.is_held = false;
            return 0;
        }
        // If the answer follows directly, the line is not needed.
        self.is_held = bytes.len() == CONTINUE.len();
        CONTINUE.len()
    }

    /// Whether the line is held back because the handler has not begun to read the body.
    pub(super) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Sends the line once the handler reads the body.
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
