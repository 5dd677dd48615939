//! Frames: the server's side of RFC 6455 §5, §7.4 and §8, from bytes to events and from payloads to bytes.
//!
//! Pure: it must never know a socket, an actor or what a message means. `header` says what a frame announces, `message`
//! joins fragments, `reader` leads both; `writer` is the other direction. The session stands above, in `crate::session`.
//!
//! Invariants: an event is told once and whole; text that is told is UTF-8; memory follows the bytes that came, never
//! what a header announces, and stays below the message limit and a small constant; nothing half here costs nothing.

mod header;
mod message;
mod outgoing;
#[cfg(test)]
mod properties;
mod reader;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod testing;
mod writer;

pub use outgoing::{OutgoingFrame, SharedData};
pub use reader::FrameReader;
pub use writer::{TextFrameBuilder, binary_frame, close_frame, ping_frame, pong_frame, text_frame};

use super::codes::CloseCode;

/// The longest payload of a control frame, in bytes (RFC 6455 §5.5).
pub const CONTROL_LIMIT: usize = 125;

/// What a peer said, as it becomes complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A whole text message, its fragments joined.
    Text(&'a str),
    /// A whole binary message, its fragments joined.
    Binary(&'a [u8]),
    /// A ping, to be answered by a pong with the same payload (§5.5.2).
    Ping(&'a [u8]),
    /// A pong, asked for or not (§5.5.3).
    Pong(&'a [u8]),
    /// The peer's goodbye, without a code if it gave none (§5.5.1). Nothing that comes after it counts.
    Close(Option<Close<'a>>),
}

/// The body of a close frame: a code that may stand on the wire (RFC 6455 §7.4) and a reason of at most 123 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// The status code.
    pub code: u16,
    /// The reason, empty if none was given.
    pub reason: &'a str,
}

/// How a peer broke the framing; the connection is to be failed with [`FrameError::close_code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// §5.2: RSV1 to RSV3 are 0, as no extension was agreed on.
    #[error("a reserved bit is set")]
    ReservedBits,
    /// §5.2: opcodes 3 to 7 and 11 to 15 mean nothing yet.
    #[error("the opcode is reserved")]
    ReservedOpcode,
    /// §5.1: a client masks every frame.
    #[error("the frame is not masked")]
    NotMasked,
    /// §5.5: a control frame is whole.
    #[error("the control frame is fragmented")]
    FragmentedControl,
    /// §5.5: a control frame carries at most 125 bytes.
    #[error("the control frame is longer than 125 bytes")]
    ControlTooLong,
    /// §5.4: a continuation needs a message that was begun.
    #[error("nothing is there to continue")]
    UnexpectedContinuation,
    /// §5.4: a message ends before the next one begins.
    #[error("a message begins inside another")]
    ExpectedContinuation,
    /// §5.2: the length takes the fewest bytes that hold it.
    #[error("the length is not in its shortest form")]
    NonMinimalLength,
    /// §5.2: the top bit of a 64-bit length is 0.
    #[error("the length has its top bit set")]
    LengthOverflow,
    /// §7.4: the code must not stand on the wire, or belongs to nobody.
    #[error("the close code is not allowed")]
    InvalidCloseCode,
    /// §5.5.1: the body of a close frame begins with a code of two bytes.
    #[error("the close frame holds half a code")]
    CloseTooShort,
    /// §8.1: text and close reasons are UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// §10.4: the message is past the limit, all fragments counted.
    #[error("the message is past the limit")]
    TooBig,
    /// §10.4 too: fragments that carry nothing cost work and end no message.
    #[error("the message has too many empty fragments")]
    TooManyEmptyFragments,
}

impl FrameError {
    /// The code to close the connection with (RFC 6455 §7.4.1).
    pub const fn close_code(self) -> CloseCode {
        match self {
            FrameError::NotUtf8 => CloseCode::InvalidPayload,
            FrameError::TooBig | FrameError::TooManyEmptyFragments => CloseCode::TooBig,
            FrameError::ReservedBits
            | FrameError::ReservedOpcode
            | FrameError::NotMasked
            | FrameError::FragmentedControl
            | FrameError::ControlTooLong
            | FrameError::UnexpectedContinuation
            | FrameError::ExpectedContinuation
            | FrameError::NonMinimalLength
            | FrameError::LengthOverflow
            | FrameError::InvalidCloseCode
            | FrameError::CloseTooShort => CloseCode::ProtocolError,
        }
    }
}
