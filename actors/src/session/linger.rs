//! How a session lets go of its socket. What a closed socket has not delivered stays in the kernel, up to megabytes for
//! each, and as long as the peer's machine answers that it has no room: minutes. A peer that reads nothing and comes
//! back would fill the machine with sockets that no process has. So the afterlife is bounded.

use super::Session;
use std::time::Duration;

impl Session {
    /// Gives up on a peer that had its time to take our goodbye: the connection is reset as the socket is dropped, and
    /// the kernel keeps nothing of it.
    pub(crate) fn reset_on_drop(&mut self) {
        // What a stranger is told may still be on its way: its time is shorter than a bad line's.
        if !self.is_unauthenticated {
            // Fails on a socket that is broken already, which is what is wanted.
            let _ = rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
        }
    }

    /// Gives what is on its way as long to arrive as the peer has for its goodbye, once the socket is dropped.
    pub(super) fn limit_linger(&mut self, close_seconds: u32) {
        // As above. Other systems have no such option, and their own bounds.
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&self.socket, close_seconds.saturating_mul(1_000));
        #[cfg(not(target_os = "linux"))]
        let _ = close_seconds;
    }
}
