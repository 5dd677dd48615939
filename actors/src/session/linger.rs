//! Bounds how long a closed socket stays in the kernel. Its unsent bytes, up to megabytes, stay there as long as the
//! peer answers that it has no room, which can be minutes. A peer that reads nothing and reconnects again and again
//! would fill the machine with sockets that belong to no process.

use super::Session;
use std::time::Duration;

impl Session {
    /// The peer did not answer our close frame in time: the drop of the socket resets the connection, and the kernel
    /// keeps nothing of it.
    pub(crate) fn reset_on_drop(&mut self) {
        // A client without valid tokens has less time, so the reason of its refusal may still be on the way.
        if !self.is_unauthenticated {
            // This fails if the connection is broken already. Then there is nothing to reset.
            let _ = rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
        }
    }

    /// After the drop of the socket, unsent bytes get as much time as the peer has to answer a close frame.
    pub(super) fn limit_linger(&mut self, close_seconds: u32) {
        // The error is ignored as above. Other systems have no such option, but bounds of their own.
        #[cfg(target_os = "linux")]
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&self.socket, close_seconds.saturating_mul(1_000));
        #[cfg(not(target_os = "linux"))]
        let _ = close_seconds;
    }
}
