//! From a socket's bytes to events: whole frames are told where they lie, only what is half here is kept.

use std::ops::ControlFlow;

use super::header::{Expected, HEADER_LIMIT, Header, Opcode, unmask};
use super::message::Message;
use super::{Close, Event, FrameError};

/// Turns bytes into events. A pointer when nothing is half here, which is nearly always.
#[derive(Debug, Default)]
pub struct FrameReader(Option<Box<Half>>);

/// What a reader may hold besides the payload of a message: its own state and a control frame.
#[cfg(test)]
pub(super) const HALF_BYTES: usize = size_of::<Half>() + 2 * super::CONTROL_LIMIT;

type OnEvent<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// How many bytes a step took, and whether to go on.
type Step = (usize, ControlFlow<()>);

impl FrameReader {
    /// Feeds bytes as they came from the socket, in any pieces; masked payloads are unmasked in place.
    ///
    /// `message_limit` bounds one message in bytes, over the sum of its fragments, judged at a frame's header before any
    /// payload is kept. Returns `Ok` when all bytes are taken, or at once when `on_event` breaks: the rest is then lost.
    ///
    /// # Errors
    /// The first broken rule. Events before it were told; the connection is to be failed and nothing more to be fed.
    pub fn feed(
        &mut self,
        bytes: &mut [u8],
        message_limit: usize,
        on_event: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), FrameError> {
        // Taken out: an error on the way leaves a reader that holds no memory.
        let mut half = self.0.take();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (taken, flow) = match &mut half {
                Some(half) => half.read(rest, message_limit, on_event)?,
                None => match read_whole_frame(rest, message_limit, on_event)? {
                    Some(step) => step,
                    None => half.insert(Box::default()).read(rest, message_limit, on_event)?,
                },
            };
            rest = &mut rest[taken..];
            half = half.filter(|half| !half.is_empty());
            if flow.is_break() {
                break;
            }
        }
        self.0 = half;
        Ok(())
    }

    /// Bytes of memory held for half frames and unfinished messages.
    pub fn buffered_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |half| half.memory())
    }
}

/// Tells the frame that `bytes` begins with if it is whole, and a message or control frame by itself.
fn read_whole_frame(
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
    let flow = tell(header.opcode, payload, on_event)?;
    Ok(Some((header.size + header.length, flow)))
}

/// What came without its end.
#[derive(Debug, Default)]
struct Half {
    /// The bytes of a header that is not whole.
    header: [u8; HEADER_LIMIT],
    header_length: usize,
    /// The frame whose payload is coming.
    frame: Option<Frame>,
    /// The message that was begun.
    message: Option<Message>,
    /// The payload so far of the control frame that is coming, at most 125 bytes.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    fin: bool,
    opcode: Opcode,
    /// Bytes of payload to come.
    remaining: usize,
    /// Turned so that it begins with the next byte's key.
    mask: [u8; 4],
}

impl Half {
    fn is_empty(&self) -> bool {
        self.header_length == 0 && self.frame.is_none() && self.message.is_none()
    }

    fn memory(&self) -> usize {
        let message = self.message.as_ref().map_or(0, Message::capacity);
        size_of::<Half>() + message + self.control.capacity()
    }

    /// Takes what belongs to one frame: the rest of its header, then of its payload.
    fn read(&mut self, bytes: &mut [u8], message_limit: usize, on_event: &mut OnEvent<'_>) -> Result<Step, FrameError> {
        let (mut frame, header_bytes) = match self.frame.take() {
            Some(frame) => (frame, 0),
            None => match self.read_header(bytes, message_limit)? {
                Some(begun) => begun,
                None => return Ok((bytes.len(), ControlFlow::Continue(()))),
            },
        };
        let payload = &mut bytes[header_bytes..];
        let came = frame.remaining.min(payload.len());
        let payload = &mut payload[..came];
        unmask(payload, frame.mask);
        self.keep_payload(frame.opcode, payload, message_limit)?;
        frame.mask.rotate_left(came % 4);
        frame.remaining -= came;
        let flow = if frame.remaining == 0 {
            self.finish_frame(frame, on_event)?
        } else {
            self.frame = Some(frame);
            ControlFlow::Continue(())
        };
        Ok((header_bytes + came, flow))
    }

    /// Completes the header and begins its frame; `None` if all of `bytes` was taken and it is still not whole.
    fn read_header(&mut self, bytes: &[u8], message_limit: usize) -> Result<Option<(Frame, usize)>, FrameError> {
        let had = self.header_length;
        let came = bytes.len().min(HEADER_LIMIT - had);
        self.header[had..had + came].copy_from_slice(&bytes[..came]);
        let expected = Expected {
            inside_message: self.message.is_some(),
            room: message_limit.saturating_sub(self.message.as_ref().map_or(0, Message::len)),
        };
        let Some(header) = Header::parse(&self.header[..had + came], expected)? else {
            self.header_length = had + came;
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
        Ok(Some((frame, header.size - had)))
    }

    fn keep_payload(&mut self, opcode: Opcode, payload: &[u8], message_limit: usize) -> Result<(), FrameError> {
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
            return tell(frame.opcode, &payload, on_event);
        }
        match self.message.take_if(|_| frame.fin) {
            Some(message) => tell(message.opcode, &message.into_payload(), on_event),
            None => Ok(ControlFlow::Continue(())),
        }
    }
}

/// Tells a whole message or control frame.
fn tell(opcode: Opcode, payload: &[u8], on_event: &mut OnEvent<'_>) -> Result<ControlFlow<()>, FrameError> {
    let event = match opcode {
        Opcode::Text => Event::Text(text(payload)?),
        // A continuation is told under the opcode of its message.
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
            if !may_close_with(code) {
                return Err(FrameError::InvalidCloseCode);
            }
            Ok(Some(Close { code, reason: text(reason)? }))
        }
    }
}

/// Whether a peer may send this code (RFC 6455 §7.4 and IANA's registry, 1012 to 1014 among it).
const fn may_close_with(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}
