//! The I/O of each HTTP connection, in front of the HTTP library's dispatcher.
//!
//! The dispatcher (actix-http 3.20) reads all input that the socket has, decodes every request in it, and wakes itself
//! without end while 128 KiB of input wait behind an answer that the peer does not take. [`PacedStream`] prevents this:
//! it gives the dispatcher one request at a time, and none while an answer is unwritten. It closes a connection whose
//! peer takes nothing of an answer for `http.write_timeout_seconds`.
//!
//! | file | job |
//! | --- | --- |
//! | `paced_stream.rs` | the wrapper: when the dispatcher gets input, when a connection is closed |
//! | `library_answers.rs` | replaces the HTTP library's own error answers by ours |
//! | `continuation.rs` | holds `100 Continue` back until a handler reads the body |
//! | `flow.rs` | the state that routes share with the wrapper: a request began, the length of its body, it ended |
//! | `segments.rs` | finds the end of a request head, and line feeds without a carriage return |
//! | `write_stall.rs` | measures how long the peer has taken nothing |

mod continuation;
mod flow;
mod library_answers;
mod paced_stream;
mod segments;
mod write_stall;

pub use flow::ConnectionFlow;
pub use paced_stream::PacedStream;

use actix_http::Protocol;
use actix_http::error::DispatchError;
use actix_service::{ServiceFactory, fn_service};
use actors::counters::Counters;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// Wraps each accepted socket, in front of the HTTP service.
pub fn accept(
    write_timeout: Duration,
    counters: Arc<Counters>,
) -> impl ServiceFactory<
    TcpStream,
    Config = (),
    Response = (PacedStream, Protocol, Option<SocketAddr>),
    Error = DispatchError,
    InitError = (),
> {
    fn_service(move |socket: TcpStream| {
        let counters = counters.clone();
        async move {
            let address = socket.peer_addr().ok();
            socket.set_nodelay(true)?;
            Ok((PacedStream::new(socket, write_timeout, counters), Protocol::Http1, address))
        }
    })
}
