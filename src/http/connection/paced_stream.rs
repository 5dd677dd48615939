//! The I/O wrapper of each HTTP connection.

use super::continuation::Continuation;
use super::flow::ConnectionFlow;
use super::library_answers::replacement;
use super::segments::LineScanner;
use super::write_stall::WriteStall;
use actors::counters::{Counters, Limit};
use bytes::{Buf as _, Bytes, BytesMut};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The kernel's send buffer of an HTTP connection, in bytes. By default the kernel lets it grow to megabytes for a peer
/// that does not read.
const KERNEL_SEND_BUFFER_BYTES: usize = 64 * 1024;

/// A socket that gives the dispatcher one request at a time, and none while an answer is unwritten.
pub struct PacedStream {
    socket: TcpStream,
    flow: Rc<ConnectionFlow>,
    counters: Arc<Counters>,
    lines: LineScanner,
    /// Input after the current request.
    ahead: BytesMut,
    /// A head has ended. The dispatcher must handle it before it gets more.
    is_paused: bool,
    stall: WriteStall,
    continuation: Continuation,
    /// The unsent rest of an answer that replaces the library's own.
    replacement: Option<Bytes>,
    has_written: bool,
    has_timed_out: bool,
}

impl PacedStream {
    /// Wraps a socket. The connection is closed if its peer takes nothing of an answer for `write_timeout`.
    pub fn new(socket: TcpStream, write_timeout: Duration, counters: Arc<Counters>) -> PacedStream {
        PacedStream {
            socket,
            flow: Rc::default(),
            counters,
            lines: LineScanner::default(),
            ahead: BytesMut::new(),
            is_paused: false,
            stall: WriteStall::new(write_timeout),
            continuation: Continuation::default(),
            replacement: None,
            has_written: false,
            has_timed_out: false,
        }
    }

    /// The state that the connection's requests share with it.
    pub fn flow(&self) -> &Rc<ConnectionFlow> {
        &self.flow
    }

    /// The socket, and the input that the dispatcher has not received.
    pub fn into_parts(self) -> (TcpStream, BytesMut) {
        (self.socket, self.ahead)
    }

    fn check_stall(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if !self.has_timed_out && self.stall.poll_timeout(cx) {
            self.has_timed_out = true;
            self.counters.count_limit(Limit::HttpWriteTimeoutSeconds);
            // Without a reset the kernel would keep the unread answer for minutes.
            let _ = self.socket.set_zero_linger();
        }
        if self.has_timed_out { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    /// How many bytes of `input` the dispatcher may get now: up to the end of the body, or up to and with the next
    /// blank line.
    fn next_piece(&mut self, input: &[u8]) -> usize {
        let body_left = self.flow.body_left();
        if body_left > 0 {
            let length = usize::try_from(body_left).unwrap_or(usize::MAX).min(input.len());
            self.flow.note_body(length as u64);
            self.is_paused = body_left == length as u64;
            return length;
        }
        self.flow.note_head();
        let end = self.lines.scan(input);
        if end.is_some() {
            self.flow.set_bare_line_feed(self.lines.take_bare_line_feed());
            self.is_paused = true;
        }
        end.unwrap_or(input.len())
    }

    /// Writes the answer of the dispatcher, or its replacement.
    fn poll_answer(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.continuation.poll_send(cx, &mut self.socket, &self.flow))?;
        let skipped = self.continuation.take_from(bytes);
        if skipped == bytes.len() {
            // The rest is sent with the next read or write.
            if let Poll::Ready(sent) = self.continuation.poll_send(cx, &mut self.socket, &self.flow) {
                sent?;
            }
            return Poll::Ready(Ok(skipped));
        }
        if self.replacement.is_none() && self.flow.is_without_request() {
            self.replacement = replacement(bytes);
        }
        let Some(answer) = &mut self.replacement else {
            let written = ready!(Pin::new(&mut self.socket).poll_write(cx, &bytes[skipped..]))?;
            return Poll::Ready(Ok(skipped + written));
        };
        while !answer.is_empty() {
            let written = ready!(Pin::new(&mut self.socket).poll_write(cx, answer))?;
            answer.advance(written);
        }
        Poll::Ready(Ok(bytes.len()))
    }

    /// Returns to the dispatcher once, so that it handles its input before it gets more.
    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.is_paused = false;
        if self.ahead.is_empty() {
            ready!(self.socket.poll_read_ready(cx))?;
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncRead for PacedStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check_stall(cx)?;
        if this.stall.is_stalled() || !this.flow.wants_input() {
            this.flow.wait(cx.waker());
            return Poll::Pending;
        }
        if this.continuation.is_held() {
            this.flow.wait(cx.waker());
        }
        ready!(this.continuation.poll_send(cx, &mut this.socket, &this.flow))?;
        if this.is_paused {
            return this.poll_pause(cx);
        }
        if !this.ahead.is_empty() {
            let mut ahead = std::mem::take(&mut this.ahead);
            let most = buf.remaining().min(ahead.len());
            let length = this.next_piece(&ahead[..most]);
            buf.put_slice(&ahead[..length]);
            ahead.advance(length);
            if !ahead.is_empty() {
                this.ahead = ahead;
            }
            return Poll::Ready(Ok(()));
        }
        let start = buf.filled().len();
        ready!(Pin::new(&mut this.socket).poll_read(cx, buf))?;
        let length = this.next_piece(&buf.filled()[start..]);
        this.ahead.extend_from_slice(&buf.filled()[start + length..]);
        buf.set_filled(start + length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PacedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check_stall(cx)?;
        if !this.has_written {
            this.has_written = true;
            // An upgraded socket leaves the wrapper before this.
            let _ = rustix::net::sockopt::set_socket_send_buffer_size(&this.socket, KERNEL_SEND_BUFFER_BYTES);
        }
        let written = this.poll_answer(cx, bytes);
        if written.is_pending() {
            this.stall.begin(cx);
        } else if this.stall.is_stalled() {
            this.stall.end();
            // The dispatcher reads before it writes, so it has to run again.
            this.flow.wake();
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
