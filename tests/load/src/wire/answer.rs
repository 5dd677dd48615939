//! Reads HTTP/1.1 answers: the part of RFC 9112 that the servers under test use.

use memchr::memmem;
use thiserror::Error;

/// The maximum length of a head.
const MAX_HEAD: usize = 64 << 10;

/// A complete answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a [u8],
    /// Bytes of the answer, including its head.
    pub length: usize,
    /// Whether the server closes the connection after this answer.
    pub is_last: bool,
}

/// Why an answer can't be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AnswerError {
    #[error("it is not an HTTP/1.1 answer")]
    Malformed,
    #[error("its head is longer than 64 KiB")]
    TooLong,
    #[error("its body has an encoding that this tool does not support")]
    Encoding,
}

/// The first answer in `bytes`, or `None` while it is incomplete. An upgrade (101) has no body (RFC 9110 §15.2.2).
///
/// # Errors
/// [`AnswerError`]: the connection can't be used any more.
pub fn read(bytes: &[u8]) -> Result<Option<Answer<'_>>, AnswerError> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return if bytes.len() > MAX_HEAD { Err(AnswerError::TooLong) } else { Ok(None) };
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| AnswerError::Malformed)?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 "))
        .and_then(|rest| rest.get(..3)?.parse().ok())
        .ok_or(AnswerError::Malformed)?;
    let (mut length, mut is_last) = (0, false);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse().map_err(|_| AnswerError::Malformed)?;
        } else if name.eq_ignore_ascii_case("connection") {
            is_last = value.eq_ignore_ascii_case("close");
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(AnswerError::Encoding);
        }
    }
    let body = end + 4;
    let length = if status == 101 { body } else { body.checked_add(length).ok_or(AnswerError::Malformed)? };
    Ok(bytes.get(body..length).map(|body| Answer { status, body, length, is_last }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_once_it_is_complete() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabcHTTP";
        assert_eq!(read(&bytes[..20]), Ok(None));
        assert_eq!(read(&bytes[..bytes.len() - 5]), Ok(None));
        let answer = read(bytes).unwrap().unwrap();
        assert_eq!((answer.status, answer.body, answer.is_last), (200, b"abc".as_slice(), true));
        assert_eq!(&bytes[answer.length..], b"HTTP");
    }

    #[test]
    fn frames_after_an_upgrade_are_not_its_body() {
        let bytes = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x00";
        let answer = read(bytes).unwrap().unwrap();
        assert_eq!((answer.status, answer.body, bytes.len() - answer.length), (101, b"".as_slice(), 2));
    }

    #[test]
    fn a_malformed_chunked_or_too_long_answer_is_an_error() {
        assert_eq!(read(b"nonsense\r\n\r\n"), Err(AnswerError::Malformed));
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), Err(AnswerError::Encoding));
        assert_eq!(read(&vec![b'x'; MAX_HEAD + 1]), Err(AnswerError::TooLong));
    }
}
