//! The state that routes share with the I/O of their connection.

use actix_web::http::header::{self, HeaderMap};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

/// The state that a connection's I/O and its requests share. A connection lives on one thread.
#[derive(Default)]
pub struct ConnectionFlow {
    requests_under_way: Cell<u32>,
    /// Bytes of the current request's body that the dispatcher has not received yet.
    body_left: Cell<u64>,
    /// The current request has a chunked body, whose length is unknown.
    is_chunked: Cell<bool>,
    has_bare_line_feed: Cell<bool>,
    /// A request has begun since the dispatcher last received a part of a head.
    has_begun: Cell<bool>,
    reads_body: Cell<bool>,
    /// The task of the I/O, if it waits until input is needed.
    waiting: RefCell<Option<Waker>>,
}

impl ConnectionFlow {
    /// Counts a request as under way until the returned guard is dropped.
    pub(in crate::http) fn begin(self: &Rc<Self>, headers: &HeaderMap) -> UnderWay {
        self.requests_under_way.set(self.requests_under_way.get() + 1);
        self.has_begun.set(true);
        self.is_chunked.set(headers.contains_key(header::TRANSFER_ENCODING));
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        self.body_left.set(if self.is_chunked.get() { 0 } else { length.unwrap_or(0) });
        UnderWay(self.clone())
    }

    /// Marks the body of the current request as being read until the returned guard is dropped.
    pub(in crate::http) fn read_body(self: &Rc<Self>) -> ReadsBody {
        self.reads_body.set(true);
        self.wake();
        ReadsBody(self.clone())
    }

    /// Whether a line of the last request head ended with a line feed alone.
    pub(in crate::http) fn has_bare_line_feed(&self) -> bool {
        self.has_bare_line_feed.get()
    }

    pub(super) fn set_bare_line_feed(&self, is_there: bool) {
        self.has_bare_line_feed.set(is_there);
    }

    /// Whether the dispatcher needs input: no request is under way, or the body of the current one is not complete.
    pub(super) fn wants_input(&self) -> bool {
        self.requests_under_way.get() == 0 || self.body_left.get() > 0 || (self.reads_body() && self.is_chunked.get())
    }

    /// Whether the handler of the current request reads its body now.
    pub(super) fn reads_body(&self) -> bool {
        self.reads_body.get()
    }

    /// Whether the last head did not become a request. Then an answer comes from the HTTP library itself.
    pub(super) fn is_without_request(&self) -> bool {
        !self.has_begun.get()
    }

    /// Notes that the dispatcher receives a part of a head.
    pub(super) fn note_head(&self) {
        self.has_begun.set(false);
    }

    pub(super) fn body_left(&self) -> u64 {
        self.body_left.get()
    }

    pub(super) fn note_body(&self, bytes: u64) {
        self.body_left.set(self.body_left.get().saturating_sub(bytes));
    }

    /// Remembers the task to wake when input is needed again.
    pub(super) fn wait(&self, waker: &Waker) {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *waiting = Some(waker.clone());
        }
    }

    /// Wakes the waiting task.
    pub(super) fn wake(&self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

/// The guard of one request under way.
pub(in crate::http) struct UnderWay(Rc<ConnectionFlow>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.requests_under_way.set(self.0.requests_under_way.get() - 1);
        self.0.wake();
    }
}

/// The guard of a body that is being read.
pub(in crate::http) struct ReadsBody(Rc<ConnectionFlow>);

impl Drop for ReadsBody {
    fn drop(&mut self) {
        self.0.reads_body.set(false);
    }
}
