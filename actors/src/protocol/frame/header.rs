//! Parses and checks the header of a frame (RFC 6455 §5.2).
//!
//! Each byte is checked as it arrives. An incomplete header is refused as soon as one of its bytes is wrong.

use super::{FrameError, MAX_CONTROL_BYTES};

/// The longest header: two bytes, a 64-bit length, a mask.
pub(super) const MAX_HEADER_BYTES: usize = 14;

const FIN: u8 = 0x80;
const RESERVED_BITS: u8 = 0x70;
const OPCODE: u8 = 0x0F;
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7F;
const LENGTH_IN_2_BYTES: u8 = 126;
const LENGTH_IN_8_BYTES: u8 = 127;
const MASK_BYTES: usize = 4;

/// The type of a frame.
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
    /// Whether frames of this type may come between the fragments of a message (§5.5).
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

/// The state of the connection that decides which frames are allowed next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// A fragmented message is incomplete.
    pub(super) inside_message: bool,
    /// Maximum bytes of payload that the message may still receive.
    pub(super) room: usize,
}

/// A complete, valid header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) fin: bool,
    pub(super) opcode: Opcode,
    /// At most [`Expected::room`], or [`MAX_CONTROL_BYTES`] for a control frame.
    pub(super) length: usize,
    pub(super) mask: [u8; MASK_BYTES],
    /// The length of the header itself, in bytes.
    pub(super) size: usize,
}

impl Header {
    /// Parses the header at the start of `bytes`. `None` if it is incomplete.
    pub(super) fn parse(bytes: &[u8], expected: Expected) -> Result<Option<Header>, FrameError> {
        let Some(&first) = bytes.first() else {
            return Ok(None);
        };
        let opcode = check_first_byte(first, expected.inside_message)?;
        let Some(&second) = bytes.get(1) else {
            return Ok(None);
        };
        check_second_byte(second, opcode)?;
        let Some((length, length_end)) = read_length(bytes, second & LENGTH)? else {
            return Ok(None);
        };
        let length = check_length(length, opcode, expected.room)?;
        let Some(&mask) = bytes[length_end..].first_chunk() else {
            return Ok(None);
        };
        Ok(Some(Header { fin: first & FIN != 0, opcode, length, mask, size: length_end + MASK_BYTES }))
    }
}

fn check_first_byte(first: u8, inside_message: bool) -> Result<Opcode, FrameError> {
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

fn check_second_byte(second: u8, opcode: Opcode) -> Result<(), FrameError> {
    if second & MASKED == 0 {
        return Err(FrameError::NotMasked);
    }
    if opcode.is_control() && usize::from(second & LENGTH) > MAX_CONTROL_BYTES {
        return Err(FrameError::ControlTooLong);
    }
    Ok(())
}

/// The length of the payload, and the end of this field in the header. `None` if it is incomplete.
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

fn check_length(length: u64, opcode: Opcode, room: usize) -> Result<usize, FrameError> {
    let limit = if opcode.is_control() { MAX_CONTROL_BYTES } else { room };
    match usize::try_from(length) {
        Ok(length) if length <= limit => Ok(length),
        _ => Err(FrameError::TooBig),
    }
}

/// Unmasks a payload (§5.3), eight bytes per step. The compiler turns this into vector instructions.
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
    fn unmasking_equals_the_rule_for_single_bytes_at_every_length() {
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
    fn a_header_is_incomplete_until_its_last_byte() {
        let expected = Expected { inside_message: false, room: usize::MAX };
        let headers: [&[u8]; 3] = [
            &[0x81, 0x85, 1, 2, 3, 4],
            &[0x82, 0xFE, 1, 0, 1, 2, 3, 4],
            &[0x01, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4],
        ];
        for bytes in headers {
            for length in 0..bytes.len() {
                assert!(Header::parse(&bytes[..length], expected).unwrap().is_none());
            }
            let header = Header::parse(bytes, expected).unwrap().unwrap();
            assert_eq!((header.size, header.mask), (bytes.len(), [1, 2, 3, 4]));
        }
    }
}
