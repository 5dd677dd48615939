//! From payloads to frames. A server's frames are never masked (RFC 6455 §5.1) and here never fragmented.

use bytes::Bytes;

use super::CONTROL_LIMIT;

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8A;

/// The longest header without a mask: two bytes and a 64-bit length.
const HEADROOM: usize = 10;

/// The longest reason of a close frame, in bytes: a control frame's payload less the code.
const REASON_LIMIT: usize = CONTROL_LIMIT - 2;

/// A whole text message in one frame. The payload is UTF-8: the caller's word for it is taken.
pub fn text_frame(payload: &[u8]) -> Bytes {
    frame(TEXT, payload)
}

/// A whole binary message in one frame.
pub fn binary_frame(payload: &[u8]) -> Bytes {
    frame(BINARY, payload)
}

/// A ping (RFC 6455 §5.5.2) with at most the first 125 bytes of the payload.
pub fn ping_frame(payload: &[u8]) -> Bytes {
    frame(PING, cut_to_control(payload))
}

/// The answer to a ping (RFC 6455 §5.5.3), its payload given back.
pub fn pong_frame(payload: &[u8]) -> Bytes {
    frame(PONG, cut_to_control(payload))
}

/// A goodbye (RFC 6455 §5.5.1); the reason is cut between two characters where it is longer than 123 bytes.
pub fn close_frame(code: u16, reason: &str) -> Bytes {
    let reason = &reason[..reason.floor_char_boundary(REASON_LIMIT)];
    let mut payload = Vec::with_capacity(CONTROL_LIMIT);
    payload.extend_from_slice(&code.to_be_bytes());
    payload.extend_from_slice(reason.as_bytes());
    frame(CLOSE, &payload)
}

/// Assembles a text frame in place: the payload is written once, behind room for the longest header.
#[derive(Debug)]
pub struct TextFrameBuilder(Vec<u8>);

impl TextFrameBuilder {
    /// Begins a frame whose payload will take about `payload_capacity` bytes; a wrong guess costs a move, no more.
    pub fn with_capacity(payload_capacity: usize) -> TextFrameBuilder {
        let mut buffer = Vec::with_capacity(HEADROOM + payload_capacity);
        buffer.resize(HEADROOM, 0);
        TextFrameBuilder(buffer)
    }

    /// The buffer to append the payload to. What is in it already stays: bytes are only added.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// Bytes of payload so far.
    pub fn payload_length(&self) -> usize {
        self.0.len() - HEADROOM
    }

    /// The whole frame, its header written right in front of the payload.
    pub fn finish(self) -> Bytes {
        self.finish_head(0)
    }

    /// The start of a frame: header and payload so far. The caller writes `following` more bytes of payload behind it.
    pub fn finish_head(mut self, following: usize) -> Bytes {
        let (header, size) = header(TEXT, self.payload_length() + following);
        let start = HEADROOM - size;
        self.0[start..HEADROOM].copy_from_slice(&header[..size]);
        Bytes::from(self.0).slice(start..)
    }
}

fn frame(first: u8, payload: &[u8]) -> Bytes {
    let (header, size) = header(first, payload.len());
    let mut frame = Vec::with_capacity(size + payload.len());
    frame.extend_from_slice(&header[..size]);
    frame.extend_from_slice(payload);
    Bytes::from(frame)
}

/// The header and how many of its bytes count: the length takes the fewest that hold it (RFC 6455 §5.2).
fn header(first: u8, length: usize) -> ([u8; HEADROOM], usize) {
    let mut header = [0; HEADROOM];
    header[0] = first;
    let size = match length {
        0..=125 => {
            header[1] = length as u8;
            2
        }
        126..=0xFFFF => {
            header[1] = 126;
            header[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            4
        }
        _ => {
            header[1] = 127;
            header[2..10].copy_from_slice(&(length as u64).to_be_bytes());
            10
        }
    };
    (header, size)
}

fn cut_to_control(payload: &[u8]) -> &[u8] {
    &payload[..payload.len().min(CONTROL_LIMIT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_takes_the_fewest_bytes() {
        for (length, size) in [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            let payload = vec![b'x'; length];
            let written = text_frame(&payload);
            assert_eq!(written.len(), size + length);
            assert_eq!(&written[size..], &payload[..]);
            assert_eq!(written[1] & 0x80, 0, "a server's frame is not masked");
        }
    }

    #[test]
    fn an_assembled_frame_equals_one_written_at_once() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let payload = vec![b'x'; length];
            let mut builder = TextFrameBuilder::with_capacity(16);
            builder.buffer().extend_from_slice(&payload);
            assert_eq!(builder.payload_length(), length);
            assert_eq!(builder.finish(), text_frame(&payload));
        }
    }

    #[test]
    fn assembling_does_not_move_a_payload_that_was_guessed_right() {
        let mut builder = TextFrameBuilder::with_capacity(200);
        builder.buffer().extend_from_slice(&[b'x'; 200]);
        let payload_at = builder.buffer()[HEADROOM..].as_ptr();
        assert_eq!(builder.finish()[4..].as_ptr(), payload_at);
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let written = close_frame(1001, &"é".repeat(100));
        assert_eq!(&written[..4], [0x88, 124, 3, 233]);
        assert_eq!(std::str::from_utf8(&written[4..]).unwrap(), "é".repeat(61));
    }

    #[test]
    fn a_ping_never_passes_the_limit_of_control_frames() {
        assert_eq!(ping_frame(&[1; 200]).len(), 2 + CONTROL_LIMIT);
        assert_eq!(&pong_frame(b"beat")[..], b"\x8A\x04beat");
    }
}
