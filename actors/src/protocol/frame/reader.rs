//! Parses the bytes of a socket into events. Complete frames are reported from the input buffer, without a copy. Only
//! incomplete frames and messages are stored.

use std::ops::ControlFlow;

use super::header::{Expected, Header, MAX_HEADER_BYTES, Opcode, unmask};
use super::message::Message;
use super::{Close, Event, FrameError};

/// Parses bytes into events. One null pointer if nothing is incomplete, which is almost always so.
#[derive(Debug, Default)]
pub struct FrameReader(Option<Box<Partial>>);

/// Maximum memory of a reader besides the payload of a message: its state and a control frame.
#[cfg(test)]
pub(super) const PARTIAL_BYTES: usize = size_of::<Partial>() + 2 * super::MAX_CONTROL_BYTES;

type OnEvent<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// How many bytes a step consumed, and whether to continue.
type Step = (usize, ControlFlow<()>);

impl FrameReader {
    /// Parses the next bytes of the socket, which may end anywhere. Payloads are unmasked in place.
    ///
    /// `message_limit` is the maximum length of a message in bytes, the sum of its fragments. It is checked at the
    /// header of a frame, before any payload is stored. If `on_event` breaks, the rest of the bytes is dropped.
    ///
    /// # Errors
    /// The first invalid frame. Events before it were reported. The caller must close the connection and feed nothing
    /// more.
    pub fn feed(
        &mut self,
        bytes: &mut [u8],
        message_limit: usize,
        on_event: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), FrameError> {
        // Taken out, so that a reader holds no memory after an error.
        let mut partial = self.0.take();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (taken, flow) = match &mut partial {
                Some(partial) => partial.read(rest, message_limit, on_event)?,
                None => match read_complete_frame(rest, message_limit, on_event)? {
                    Some(step) => step,
                    None => partial.insert(Box::default()).read(rest, message_limit, on_event)?,
                },
            };
            rest = &mut rest[taken..];
            partial = partial.filter(|partial| !partial.is_empty());
            if flow.is_break() {
                break;
            }
        }
        self.0 = partial;
        Ok(())
    }

    /// Memory for an incomplete frame and message, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |partial| partial.memory())
    }
}

/// Reports the frame at the start of `bytes`, if the frame is complete and not a fragment.
fn read_complete_frame(
    bytes: &mut [u8],
    message_limit: usize,
    on_event: &mut OnEvent<'_>,
) -> Result<Option<Step>, FrameError> {
    let expected = Expected { inside_message: false, room: message_limit };
    let Some(header) = Header::parse(bytes, expected)?.filter(|header| header.fin) else {
        return Ok(None);
    };
    let Some(payload) = bytes[header.size..].get_mut(..header.length) else {
        return Ok(None);
    };
    unmask(payload, header.mask);
    let flow = report(header.opcode, payload, on_event)?;
    Ok(Some((header.size + header.length, flow)))
}

/// An incomplete frame or message.
#[derive(Debug, Default)]
struct Partial {
    /// The bytes of an incomplete header.
    header: [u8; MAX_HEADER_BYTES],
    header_length: usize,
    /// The frame whose payload is incomplete.
    frame: Option<Frame>,
    /// The incomplete message.
    message: Option<Message>,
    /// The payload so far of an incomplete control frame, at most 125 bytes.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    fin: bool,
    opcode: Opcode,
    /// Missing bytes of payload.
    remaining: usize,
    /// Rotated so that it begins with the key of the next byte.
    mask: [u8; 4],
}

impl Partial {
    fn is_empty(&self) -> bool {
        self.header_length == 0 && self.frame.is_none() && self.message.is_none()
    }

    fn memory(&self) -> usize {
        let message = self.message.as_ref().map_or(0, Message::capacity);
        size_of::<Partial>() + message + self.control.capacity()
    }

    /// Consumes the rest of one frame: first its header, then its payload.
    fn read(&mut self, bytes: &mut [u8], message_limit: usize, on_event: &mut OnEvent<'_>) -> Result<Step, FrameError> {
        let (mut frame, header_bytes) = match self.frame.take() {
            Some(frame) => (frame, 0),
            None => match self.read_header(bytes, message_limit)? {
                Some(frame) => frame,
                None => return Ok((bytes.len(), ControlFlow::Continue(()))),
            },
        };
        let payload = &mut bytes[header_bytes..];
        let received = frame.remaining.min(payload.len());
        let payload = &mut payload[..received];
        unmask(payload, frame.mask);
        self.store_payload(frame.opcode, payload, message_limit)?;
        frame.mask.rotate_left(received % 4);
        frame.remaining -= received;
        let flow = if frame.remaining == 0 {
            self.finish_frame(frame, on_event)?
        } else {
            self.frame = Some(frame);
            ControlFlow::Continue(())
        };
        Ok((header_bytes + received, flow))
    }

    /// Completes the header and begins its frame. `None` if the header is still incomplete after all of `bytes`.
    fn read_header(&mut self, bytes: &[u8], message_limit: usize) -> Result<Option<(Frame, usize)>, FrameError> {
        let stored = self.header_length;
        let received = bytes.len().min(MAX_HEADER_BYTES - stored);
        self.header[stored..stored + received].copy_from_slice(&bytes[..received]);
        let expected = Expected {
            inside_message: self.message.is_some(),
            room: message_limit.saturating_sub(self.message.as_ref().map_or(0, Message::len)),
        };
        let Some(header) = Header::parse(&self.header[..stored + received], expected)? else {
            self.header_length = stored + received;
            return Ok(None);
        };
        self.header_length = 0;
        if matches!(header.opcode, Opcode::Text | Opcode::Binary) {
            self.message = Some(Message::new(header.opcode));
        }
        if let Some(message) = self.message.as_mut().filter(|_| header.length == 0 && !header.fin) {
            message.note_empty_fragment()?;
        }
        let frame = Frame { fin: header.fin, opcode: header.opcode, remaining: header.length, mask: header.mask };
        Ok(Some((frame, header.size - stored)))
    }

    fn store_payload(&mut self, opcode: Opcode, payload: &[u8], message_limit: usize) -> Result<(), FrameError> {
        match &mut self.message {
            Some(message) if !opcode.is_control() => message.push(payload, message_limit),
            _ => {
                self.control.extend_from_slice(payload);
                Ok(())
            }
        }
    }

    fn finish_frame(&mut self, frame: Frame, on_event: &mut OnEvent<'_>) -> Result<ControlFlow<()>, FrameError> {
        if frame.opcode.is_control() {
            let payload = std::mem::take(&mut self.control);
            return report(frame.opcode, &payload, on_event);
        }
        match self.message.take_if(|_| frame.fin) {
            Some(message) => report(message.opcode, &message.into_payload(), on_event),
            None => Ok(ControlFlow::Continue(())),
        }
    }
}

/// Reports a complete message or control frame.
fn report(opcode: Opcode, payload: &[u8], on_event: &mut OnEvent<'_>) -> Result<ControlFlow<()>, FrameError> {
    let event = match opcode {
        Opcode::Text => Event::Text(text(payload)?),
        // Unreachable for a continuation: a message has the opcode of its first frame.
        Opcode::Binary | Opcode::Continuation => Event::Binary(payload),
        Opcode::Close => Event::Close(close_body(payload)?),
        Opcode::Ping => Event::Ping(payload),
        Opcode::Pong => Event::Pong(payload),
    };
    Ok(on_event(event))
}

fn text(payload: &[u8]) -> Result<&str, FrameError> {
    std::str::from_utf8(payload).map_err(|_| FrameError::NotUtf8)
}

fn close_body(payload: &[u8]) -> Result<Option<Close<'_>>, FrameError> {
    match payload.split_first_chunk() {
        None if payload.is_empty() => Ok(None),
        None => Err(FrameError::CloseTooShort),
        Some((&code, reason)) => {
            let code = u16::from_be_bytes(code);
            if !is_allowed_close_code(code) {
                return Err(FrameError::InvalidCloseCode);
            }
            Ok(Some(Close { code, reason: text(reason)? }))
        }
    }
}

/// Whether a peer may send this code (RFC 6455 §7.4, and 1012 to 1014 of the IANA registry).
const fn is_allowed_close_code(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}
