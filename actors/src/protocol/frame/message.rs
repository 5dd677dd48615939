//! A message whose end has not come: the payload of its fragments so far, checked as it arrives.

use super::FrameError;
use super::header::Opcode;

/// The payload so far of a fragmented or half-received message.
#[derive(Debug)]
pub(super) struct Message {
    /// What the message is: text or binary.
    pub(super) opcode: Opcode,
    payload: Vec<u8>,
    /// Bytes at the beginning that are whole characters; at most three stand behind them. Unused for binary.
    checked: usize,
    /// Fragments that carried nothing.
    empty_fragments: u16,
}

/// Fragments of one message that may carry nothing: far more than any client has a reason to send.
const EMPTY_FRAGMENTS: u16 = 1_000;

impl Message {
    pub(super) const fn new(opcode: Opcode) -> Message {
        Message { opcode, payload: Vec::new(), checked: 0, empty_fragments: 0 }
    }

    /// Bytes of payload that came.
    pub(super) const fn len(&self) -> usize {
        self.payload.len()
    }

    /// Bytes of memory that the payload takes.
    pub(super) const fn capacity(&self) -> usize {
        self.payload.capacity()
    }

    /// Counts a fragment that carries nothing and is not the last.
    pub(super) fn note_empty_fragment(&mut self) -> Result<(), FrameError> {
        self.empty_fragments += 1;
        if self.empty_fragments > EMPTY_FRAGMENTS { Err(FrameError::TooManyEmptyFragments) } else { Ok(()) }
    }

    /// Appends unmasked bytes; fails at the first one that cannot be text if this is text.
    pub(super) fn push(&mut self, bytes: &[u8], message_limit: usize) -> Result<(), FrameError> {
        self.make_room(bytes.len(), message_limit);
        self.payload.extend_from_slice(bytes);
        match self.opcode {
            Opcode::Text => self.check_new_text(),
            _ => Ok(()),
        }
    }

    /// The whole payload. Text may still lack the end of its last character.
    pub(super) fn into_payload(self) -> Vec<u8> {
        self.payload
    }

    /// Doubles the memory, so that many small pieces cost linear time, but not past the limit.
    fn make_room(&mut self, more: usize, message_limit: usize) {
        let needed = self.payload.len() + more;
        if needed > self.payload.capacity() {
            let doubled = self.payload.capacity().saturating_mul(2);
            let capacity = doubled.min(message_limit).max(needed);
            self.payload.reserve_exact(capacity - self.payload.len());
        }
    }

    fn check_new_text(&mut self) -> Result<(), FrameError> {
        match std::str::from_utf8(&self.payload[self.checked..]) {
            Ok(text) => self.checked += text.len(),
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
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
    fn memory_follows_the_bytes_and_stops_at_the_limit() {
        let mut message = Message::new(Opcode::Binary);
        let mut moves = 0;
        for came in 1..=LIMIT {
            let before = message.capacity();
            message.push(&[7], LIMIT).unwrap();
            moves += usize::from(message.capacity() != before);
            assert!(message.capacity() <= (2 * came).min(LIMIT));
        }
        assert!(moves <= 17, "{moves} moves are not logarithmic");
    }

    #[test]
    fn a_character_may_come_byte_by_byte() {
        let mut message = Message::new(Opcode::Text);
        for byte in "κόσμε🦀".bytes() {
            message.push(&[byte], LIMIT).unwrap();
            assert!(message.len() - message.checked <= 3);
        }
        assert_eq!(message.checked, message.len());
    }

    #[test]
    fn the_first_byte_that_cannot_be_text_fails() {
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
