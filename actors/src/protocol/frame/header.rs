//! A frame's header (RFC 6455 §5.2): what it announces, and whether it may.
//!
//! Judges each byte as it comes: a header that is not whole yet is refused as soon as its first bytes are wrong.

use super::{CONTROL_LIMIT, FrameError};

/// The longest header: two bytes, a 64-bit length, a mask.
pub(super) const HEADER_LIMIT: usize = 14;

const FIN: u8 = 0x80;
const RESERVED_BITS: u8 = 0x70;
const OPCODE: u8 = 0x0F;
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7F;
const LENGTH_IN_2_BYTES: u8 = 126;
const LENGTH_IN_8_BYTES: u8 = 127;
const MASK_BYTES: usize = 4;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    /// Whether frames of this kind may stand between the fragments of a message (§5.5).
    pub(super) const fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }

    const fn from_bits(bits: u8) -> Option<Opcode> {
        match bits {
            0x0 => Some(Opcode::Continuation),
            0x1 => Some(Opcode::Text),
            0x2 => Some(Opcode::Binary),
            0x8 => Some(Opcode::Close),
            0x9 => Some(Opcode::Ping),
            0xA => Some(Opcode::Pong),
            _ => None,
        }
    }
}

/// What may come next on the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// A message was begun and not finished.
    pub(super) inside_message: bool,
    /// How many bytes the message may still grow by.
    pub(super) room: usize,
}

/// A whole header that may stand where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) fin: bool,
    pub(super) opcode: Opcode,
    /// At most the room that was left, or [`CONTROL_LIMIT`].
    pub(super) length: usize,
    pub(super) mask: [u8; MASK_BYTES],
    /// Bytes that the header itself takes.
    pub(super) size: usize,
}

impl Header {
    /// Reads the header that `bytes` begins with; `None` if it is not whole yet.
    pub(super) fn parse(bytes: &[u8], expected: Expected) -> Result<Option<Header>, FrameError> {
        let Some(&first) = bytes.first() else {
            return Ok(None);
        };
        let opcode = judge_first_byte(first, expected.inside_message)?;
        let Some(&second) = bytes.get(1) else {
            return Ok(None);
        };
        judge_second_byte(second, opcode)?;
        let Some((length, length_end)) = read_length(bytes, second & LENGTH)? else {
            return Ok(None);
        };
        let length = judge_length(length, opcode, expected.room)?;
        let Some(&mask) = bytes[length_end..].first_chunk() else {
            return Ok(None);
        };
        Ok(Some(Header { fin: first & FIN != 0, opcode, length, mask, size: length_end + MASK_BYTES }))
    }
}

fn judge_first_byte(first: u8, inside_message: bool) -> Result<Opcode, FrameError> {
    if first & RESERVED_BITS != 0 {
        return Err(FrameError::ReservedBits);
    }
    let opcode = Opcode::from_bits(first & OPCODE).ok_or(FrameError::ReservedOpcode)?;
    match opcode {
        Opcode::Continuation if !inside_message => Err(FrameError::UnexpectedContinuation),
        Opcode::Text | Opcode::Binary if inside_message => Err(FrameError::ExpectedContinuation),
        _ if opcode.is_control() && first & FIN == 0 => Err(FrameError::FragmentedControl),
        _ => Ok(opcode),
    }
}

fn judge_second_byte(second: u8, opcode: Opcode) -> Result<(), FrameError> {
    if second & MASKED == 0 {
        return Err(FrameError::NotMasked);
    }
    if opcode.is_control() && usize::from(second & LENGTH) > CONTROL_LIMIT {
        return Err(FrameError::ControlTooLong);
    }
    Ok(())
}

/// The payload's length and where it ends in the header; `None` if it is not whole yet.
fn read_length(bytes: &[u8], short: u8) -> Result<Option<(u64, usize)>, FrameError> {
    let after = &bytes[2..];
    let (length, shortest, end) = match short {
        LENGTH_IN_2_BYTES => match after.first_chunk() {
            Some(&length) => (u64::from(u16::from_be_bytes(length)), 126, 4),
            None => return Ok(None),
        },
        LENGTH_IN_8_BYTES => match after.first_chunk() {
            Some(&length) => (u64::from_be_bytes(length), 1 << 16, 10),
            None => return Ok(None),
        },
        length => (u64::from(length), 0, 2),
    };
    if length >> 63 != 0 {
        return Err(FrameError::LengthOverflow);
    }
    if length < shortest {
        return Err(FrameError::NonMinimalLength);
    }
    Ok(Some((length, end)))
}

fn judge_length(length: u64, opcode: Opcode, room: usize) -> Result<usize, FrameError> {
    let limit = if opcode.is_control() { CONTROL_LIMIT } else { room };
    match usize::try_from(length) {
        Ok(length) if length <= limit => Ok(length),
        _ => Err(FrameError::TooBig),
    }
}

/// Takes the mask off (§5.3), eight bytes at a step, which the compiler turns into vector instructions.
pub(super) fn unmask(payload: &mut [u8], mask: [u8; MASK_BYTES]) {
    let [a, b, c, d] = mask;
    let word = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (chunks, rest) = payload.as_chunks_mut();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ word).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(word.to_ne_bytes()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmasking_equals_the_byte_by_byte_rule_at_every_length() {
        let mask = [0x37, 0xfa, 0x21, 0x3d];
        for length in 0..100usize {
            let masked: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let expected: Vec<u8> = masked.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]).collect();
            let mut payload = masked;
            unmask(&mut payload, mask);
            assert_eq!(payload, expected);
        }
    }

    #[test]
    fn a_header_needs_exactly_its_bytes() {
        let expected = Expected { inside_message: false, room: usize::MAX };
        let headers: [&[u8]; 3] = [
            &[0x81, 0x85, 1, 2, 3, 4],
            &[0x82, 0xFE, 1, 0, 1, 2, 3, 4],
            &[0x01, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4],
        ];
        for bytes in headers {
            for whole in 0..bytes.len() {
                assert!(Header::parse(&bytes[..whole], expected).unwrap().is_none());
            }
            let header = Header::parse(bytes, expected).unwrap().unwrap();
            assert_eq!((header.size, header.mask), (bytes.len(), [1, 2, 3, 4]));
        }
    }
}
