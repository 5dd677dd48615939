//! Reads and writes WebSocket frames (RFC 6455 §5) as a client.

use thiserror::Error;

/// The maximum payload of a frame. A server that announces a longer one is considered broken.
const MAX_PAYLOAD: u64 = 16 << 20;
/// Any fixed mask works, since it only protects proxies. It is not zero, because servers could skip unmasking then.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// The kind of a frame (RFC 6455 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    const fn bits(self) -> u8 {
        match self {
            Opcode::Text => 1,
            Opcode::Binary => 2,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }
}

/// A complete frame from a server.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub opcode: Opcode,
    pub payload: &'a [u8],
    /// Bytes of the frame, including its header.
    pub length: usize,
}

/// A frame that no server may send, or that no server under test sends.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    #[error("a fragmented message")]
    Fragmented,
    #[error("an unknown kind of frame")]
    Opcode,
    #[error("a frame longer than 16 MiB")]
    TooLong,
    #[error("a masked frame from a server")]
    Masked,
}

/// The first frame in `bytes`, or `None` while it is incomplete.
///
/// # Errors
/// [`FrameError`]: the connection can't be used any more.
pub fn read(bytes: &[u8]) -> Result<Option<Frame<'_>>, FrameError> {
    let [first, second, rest @ ..] = bytes else { return Ok(None) };
    if first & 0x80 == 0 {
        return Err(FrameError::Fragmented);
    }
    if second & 0x80 != 0 {
        return Err(FrameError::Masked);
    }
    let opcode = match first & 0x0f {
        1 => Opcode::Text,
        2 => Opcode::Binary,
        8 => Opcode::Close,
        9 => Opcode::Ping,
        10 => Opcode::Pong,
        _ => return Err(FrameError::Opcode),
    };
    let (header, payload) = match (second & 0x7f, rest) {
        (126, [high, low, ..]) => (4, u64::from(u16::from_be_bytes([*high, *low]))),
        (127, rest) if rest.len() >= 8 => (10, rest[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))),
        (126 | 127, _) => return Ok(None),
        (short, _) => (2, u64::from(short)),
    };
    let payload = usize::try_from(payload).ok().filter(|length| *length as u64 <= MAX_PAYLOAD);
    let length = header + payload.ok_or(FrameError::TooLong)?;
    Ok(bytes.get(header..length).map(|payload| Frame { opcode, payload, length }))
}

/// The code in the payload of a close frame, or 1005 if there is none (RFC 6455 §7.4.1).
pub fn close_code(payload: &[u8]) -> u16 {
    payload.first_chunk().map_or(1005, |code| u16::from_be_bytes(*code))
}

/// Appends a masked frame.
pub fn write(opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
    out.push(0x80 | opcode.bits());
    match payload.len() {
        short @ 0..126 => out.push(0x80 | short as u8),
        long @ 126..0x1_0000 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(long as u16).to_be_bytes());
        }
        longest => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(longest as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&MASK);
    out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_once_it_is_complete() {
        for length in [0, 5, 125, 126, 300, 70_000] {
            let mut bytes = vec![0x81];
            match length {
                0..126 => bytes.push(length as u8),
                126..0x1_0000 => {
                    bytes.push(126);
                    bytes.extend((length as u16).to_be_bytes());
                }
                _ => {
                    bytes.push(127);
                    bytes.extend((length as u64).to_be_bytes());
                }
            }
            bytes.extend(std::iter::repeat_n(b'x', length));
            assert_eq!(read(&bytes[..bytes.len() - 1]), Ok(None));
            let total = bytes.len();
            bytes.push(0x81);
            let frame = read(&bytes).unwrap().unwrap();
            assert_eq!((frame.opcode, frame.payload.len(), frame.length), (Opcode::Text, length, total));
        }
    }

    #[test]
    fn a_fragmented_masked_unknown_or_too_long_frame_is_an_error() {
        assert_eq!(read(&[0x01, 0]), Err(FrameError::Fragmented));
        assert_eq!(read(&[0x81, 0x80, 0, 0, 0, 0]), Err(FrameError::Masked));
        assert_eq!(read(&[0x83, 0]), Err(FrameError::Opcode));
        assert_eq!(read(&[0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0]), Err(FrameError::TooLong));
    }

    #[test]
    fn a_written_frame_is_masked_and_can_be_unmasked() {
        for length in [3, 200, 66_000] {
            let mut out = Vec::new();
            write(Opcode::Text, &vec![b'a'; length], &mut out);
            let header = out.len() - length - 4;
            assert_eq!(out[1] & 0x80, 0x80);
            let plain = out[header + 4..].iter().zip(MASK.iter().cycle()).all(|(byte, mask)| byte ^ mask == b'a');
            assert!(plain);
        }
    }

    #[test]
    fn a_close_without_a_code_is_1005() {
        assert_eq!(close_code(&[]), 1005);
        assert_eq!(close_code(&[0x03, 0xe9, b'!']), 1001);
    }
}
