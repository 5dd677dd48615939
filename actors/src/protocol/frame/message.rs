//! An incomplete message: the payload received so far. Text is checked as it arrives.

use super::FrameError;
use super::header::Opcode;

/// A message of which the last bytes are missing.
#[derive(Debug)]
pub(super) struct Message {
    /// Text or binary.
    pub(super) opcode: Opcode,
    payload: Vec<u8>,
    /// Length of the part that is checked UTF-8, in bytes. At most three bytes of a character follow it. Unused for
    /// binary.
    checked_length: usize,
    /// Empty fragments so far.
    empty_fragments: u16,
}

/// Maximum empty fragments of one message, far more than a client has a reason to send.
const MAX_EMPTY_FRAGMENTS: u16 = 1_000;

impl Message {
    pub(super) const fn new(opcode: Opcode) -> Message {
        Message { opcode, payload: Vec::new(), checked_length: 0, empty_fragments: 0 }
    }

    /// Bytes of payload so far.
    pub(super) const fn len(&self) -> usize {
        self.payload.len()
    }

    /// Memory for the payload, in bytes.
    pub(super) const fn capacity(&self) -> usize {
        self.payload.capacity()
    }

    /// Counts an empty fragment that is not the last one.
    pub(super) fn note_empty_fragment(&mut self) -> Result<(), FrameError> {
        self.empty_fragments += 1;
        if self.empty_fragments > MAX_EMPTY_FRAGMENTS { Err(FrameError::TooManyEmptyFragments) } else { Ok(()) }
    }

    /// Appends unmasked bytes. For text, fails at the first byte that is not valid UTF-8.
    pub(super) fn push(&mut self, bytes: &[u8], message_limit: usize) -> Result<(), FrameError> {
        self.make_room(bytes.len(), message_limit);
        self.payload.extend_from_slice(bytes);
        match self.opcode {
            Opcode::Text => self.check_new_text(),
            _ => Ok(()),
        }
    }

    /// The payload. The last character of a text may be incomplete.
    pub(super) fn into_payload(self) -> Vec<u8> {
        self.payload
    }

    /// Doubles the memory up to the limit, so that appending many small pieces takes linear time.
    fn make_room(&mut self, more: usize, message_limit: usize) {
        let needed = self.payload.len() + more;
        if needed > self.payload.capacity() {
            let doubled = self.payload.capacity().saturating_mul(2);
            let capacity = doubled.min(message_limit).max(needed);
            self.payload.reserve_exact(capacity - self.payload.len());
        }
    }

    fn check_new_text(&mut self) -> Result<(), FrameError> {
        match std::str::from_utf8(&self.payload[self.checked_length..]) {
            Ok(text) => self.checked_length += text.len(),
            Err(error) if error.error_len().is_none() => self.checked_length += error.valid_up_to(),
            Err(_) => return Err(FrameError::NotUtf8),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 16;

    #[test]
    fn memory_grows_with_the_received_bytes_up_to_the_limit() {
        let mut message = Message::new(Opcode::Binary);
        let mut reallocations = 0;
        for received in 1..=LIMIT {
            let before = message.capacity();
            message.push(&[7], LIMIT).unwrap();
            reallocations += usize::from(message.capacity() != before);
            assert!(message.capacity() <= (2 * received).min(LIMIT));
        }
        assert!(reallocations <= 17, "{reallocations} reallocations are not logarithmic");
    }

    #[test]
    fn a_character_may_arrive_byte_by_byte() {
        let mut message = Message::new(Opcode::Text);
        for byte in "κόσμε🦀".bytes() {
            message.push(&[byte], LIMIT).unwrap();
            assert!(message.len() - message.checked_length <= 3);
        }
        assert_eq!(message.checked_length, message.len());
    }

    #[test]
    fn text_fails_at_its_first_invalid_byte() {
        for (good, bad) in [
            (&b"\xCE\xBA"[..], 0xFF),
            (b"\xF4", 0x90),
            (b"\xE0", 0x9F),
            (b"\xED", 0xA0),
            (b"\xF0", 0x8F),
            (b"\xE2\x82", b'a'),
            (b"", 0xC0),
            (b"", 0xF5),
            (b"", 0x80),
        ] {
            let mut message = Message::new(Opcode::Text);
            message.push(good, LIMIT).unwrap();
            assert_eq!(message.push(&[bad], LIMIT), Err(FrameError::NotUtf8));
        }
    }
}
