//! Memory of a Redis, by its own word.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// `used_memory` of `INFO memory`, in bytes.
///
/// # Errors
/// It can't be reached, or does not say.
pub fn used_bytes(address: SocketAddrV4) -> io::Result<u64> {
    let mut stream = TcpStream::connect_timeout(&address.into(), PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"INFO memory\r\n")?;
    for line in BufReader::new(stream).lines().take(200) {
        if let Some(bytes) = line?.strip_prefix("used_memory:") {
            return bytes.trim().parse().map_err(io::Error::other);
        }
    }
    Err(io::Error::other("INFO memory does not name used_memory"))
}
