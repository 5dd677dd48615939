//! The I/O of each HTTP connection, in front of the HTTP library's dispatcher.
//!
//! The dispatcher (actix-http 3.20) reads all input that the socket has, decodes every request in it, and wakes itself
//! without end while 128 KiB of input wait behind an answer that the peer does not take. [`PacedStream`] bounds this from
//! outside: it hands on one request at a time, none while an answer is unwritten, and it closes a connection whose peer
//! takes no answer for `http.write_timeout_seconds`.
//!
//! | file | job |
//! | --- | --- |
//! | `paced_stream.rs` | the wrapper: when to hand on input, when to give up |
//! | `library_answers.rs` | what the HTTP library answers by itself, in our shape |
//! | `continuation.rs` | holds `100 Continue` back until a handler reads the body |
//! | `flow.rs` | what the routes tell the wrapper: a request began, its body's length, it ended |
//! | `segments.rs` | finds the end of a request head, and line feeds without a carriage return |
//! | `write_stall.rs` | how long the peer has taken nothing |

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
