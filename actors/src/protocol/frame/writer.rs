//! Writes frames. Frames of a server are never masked (RFC 6455 §5.1). This writer never fragments them.

use bytes::Bytes;

use super::MAX_CONTROL_BYTES;

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8A;

/// The longest header without a mask: two bytes and a 64-bit length.
const MAX_HEADER_BYTES: usize = 10;

/// The longest reason of a close frame, in bytes: the payload of a control frame without the code.
const MAX_REASON_BYTES: usize = MAX_CONTROL_BYTES - 2;

/// A text message in one frame. The caller guarantees that the payload is UTF-8.
pub fn text_frame(payload: &[u8]) -> Bytes {
    frame(TEXT, payload)
}

/// A binary message in one frame.
pub fn binary_frame(payload: &[u8]) -> Bytes {
    frame(BINARY, payload)
}

/// A ping (RFC 6455 §5.5.2). A payload over 125 bytes is truncated.
pub fn ping_frame(payload: &[u8]) -> Bytes {
    frame(PING, truncate_to_control(payload))
}

/// The answer to a ping (RFC 6455 §5.5.3) with the payload of the ping.
pub fn pong_frame(payload: &[u8]) -> Bytes {
    frame(PONG, truncate_to_control(payload))
}

/// A close frame (RFC 6455 §5.5.1). A reason over 123 bytes is truncated between two characters.
pub fn close_frame(code: u16, reason: &str) -> Bytes {
    let reason = &reason[..reason.floor_char_boundary(MAX_REASON_BYTES)];
    let mut payload = Vec::with_capacity(MAX_CONTROL_BYTES);
    payload.extend_from_slice(&code.to_be_bytes());
    payload.extend_from_slice(reason.as_bytes());
    frame(CLOSE, &payload)
}

/// Builds a text frame in place. The payload is written once, after space for the longest header.
#[derive(Debug)]
pub struct TextFrameBuilder(Vec<u8>);

impl TextFrameBuilder {
    /// Begins a frame with memory for `payload_capacity` bytes. A longer payload costs a reallocation.
    pub fn with_capacity(payload_capacity: usize) -> TextFrameBuilder {
        let mut buffer = Vec::with_capacity(MAX_HEADER_BYTES + payload_capacity);
        buffer.resize(MAX_HEADER_BYTES, 0);
        TextFrameBuilder(buffer)
    }

    /// The buffer to append the payload to. The caller must not remove or change bytes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// Bytes of payload so far.
    pub fn payload_length(&self) -> usize {
        self.0.len() - MAX_HEADER_BYTES
    }

    /// Writes the header in front of the payload, and returns the frame.
    pub fn finish(self) -> Bytes {
        self.finish_head(0)
    }

    /// The start of a frame: its header and the payload so far. The caller sends `following` more bytes of payload
    /// after it.
    pub fn finish_head(mut self, following: usize) -> Bytes {
        let (header, size) = header(TEXT, self.payload_length() + following);
        let start = MAX_HEADER_BYTES - size;
        self.0[start..MAX_HEADER_BYTES].copy_from_slice(&header[..size]);
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

/// The header and its size. The length has its shortest form (RFC 6455 §5.2).
fn header(first: u8, length: usize) -> ([u8; MAX_HEADER_BYTES], usize) {
    let mut header = [0; MAX_HEADER_BYTES];
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

fn truncate_to_control(payload: &[u8]) -> &[u8] {
    &payload[..payload.len().min(MAX_CONTROL_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_has_its_shortest_form() {
        for (length, size) in [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            let payload = vec![b'x'; length];
            let written = text_frame(&payload);
            assert_eq!(written.len(), size + length);
            assert_eq!(&written[size..], &payload[..]);
            assert_eq!(written[1] & 0x80, 0, "a server's frame is not masked");
        }
    }

    #[test]
    fn a_frame_from_the_builder_equals_one_written_at_once() {
        for length in [0, 1, 125, 126, 65_535, 65_536] {
            let payload = vec![b'x'; length];
            let mut builder = TextFrameBuilder::with_capacity(16);
            builder.buffer().extend_from_slice(&payload);
            assert_eq!(builder.payload_length(), length);
            assert_eq!(builder.finish(), text_frame(&payload));
        }
    }

    #[test]
    fn a_payload_within_the_capacity_is_not_moved() {
        let mut builder = TextFrameBuilder::with_capacity(200);
        builder.buffer().extend_from_slice(&[b'x'; 200]);
        let payload_at = builder.buffer()[MAX_HEADER_BYTES..].as_ptr();
        assert_eq!(builder.finish()[4..].as_ptr(), payload_at);
    }

    #[test]
    fn a_long_reason_is_truncated_between_characters() {
        let written = close_frame(1001, &"é".repeat(100));
        assert_eq!(&written[..4], [0x88, 124, 3, 233]);
        assert_eq!(std::str::from_utf8(&written[4..]).unwrap(), "é".repeat(61));
    }

    #[test]
    fn a_ping_never_exceeds_the_limit_of_control_frames() {
        assert_eq!(ping_frame(&[1; 200]).len(), 2 + MAX_CONTROL_BYTES);
        assert_eq!(&pong_frame(b"beat")[..], b"\x8A\x04beat");
    }
}
