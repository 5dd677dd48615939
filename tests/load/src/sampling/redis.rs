//! The memory of a Redis, as its INFO reports it.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

/// Timeout of an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// `used_memory` of `INFO memory`, in bytes.
///
/// # Errors
/// If Redis can't be reached, or its answer lacks the value.
pub fn used_bytes(address: SocketAddrV4) -> io::Result<u64> {
    let mut stream = TcpStream::connect_timeout(&address.into(), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(b"INFO memory\r\n")?;
    for line in BufReader::new(stream).lines().take(200) {
        if let Some(bytes) = line?.strip_prefix("used_memory:") {
            return bytes.trim().parse().map_err(io::Error::other);
        }
    }
    Err(io::Error::other("INFO memory has no used_memory"))
}
