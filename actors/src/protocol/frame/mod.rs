//! Frames: the server's side of RFC 6455 §5, §7.4 and §8. Parses bytes into events, and writes frames.
//!
//! Pure: this module knows no socket, no actor and no meaning of a message. `header` parses headers, `message` joins
//! fragments, `reader` uses both, and `writer` is for the other direction. Its user is `crate::session`.
//!
//! Invariants:
//! * An event is reported once and complete.
//! * Text in events is UTF-8.
//! * Memory grows with the received bytes, not with the length in a header. It never exceeds the message limit and a
//!   small constant.
//! * A reader without an incomplete frame or message holds no memory.

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
pub const MAX_CONTROL_BYTES: usize = 125;

/// A complete message or control frame of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A text message, its fragments joined.
    Text(&'a str),
    /// A binary message, its fragments joined.
    Binary(&'a [u8]),
    /// A ping. The answer is a pong with the same payload (§5.5.2).
    Ping(&'a [u8]),
    /// A pong, solicited or not (§5.5.3).
    Pong(&'a [u8]),
    /// A close frame, possibly without a code (§5.5.1). Frames after it are ignored.
    Close(Option<Close<'a>>),
}

/// The body of a close frame: a code that is allowed on the wire (RFC 6455 §7.4) and a reason of at most 123 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// The status code.
    pub code: u16,
    /// The reason, empty if none was given.
    pub reason: &'a str,
}

/// An invalid frame. The caller must close the connection with [`FrameError::close_code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// §5.2: RSV1 to RSV3 must be 0, because no extension was negotiated.
    #[error("a reserved bit is set")]
    ReservedBits,
    /// §5.2: opcodes 3 to 7 and 11 to 15 are reserved.
    #[error("the opcode is reserved")]
    ReservedOpcode,
    /// §5.1: a client must mask every frame.
    #[error("the frame is not masked")]
    NotMasked,
    /// §5.5: a control frame must not be fragmented.
    #[error("the control frame is fragmented")]
    FragmentedControl,
    /// §5.5: a control frame has at most 125 bytes of payload.
    #[error("the control frame is longer than 125 bytes")]
    ControlTooLong,
    /// §5.4: a continuation needs a fragmented message.
    #[error("there is no message to continue")]
    UnexpectedContinuation,
    /// §5.4: a message must end before the next one begins.
    #[error("a message begins inside another")]
    ExpectedContinuation,
    /// §5.2: the length must have its shortest form.
    #[error("the length is not in its shortest form")]
    NonMinimalLength,
    /// §5.2: the most significant bit of a 64-bit length must be 0.
    #[error("the most significant bit of the length is set")]
    LengthOverflow,
    /// §7.4: the code is reserved or not allowed on the wire.
    #[error("the close code is not allowed")]
    InvalidCloseCode,
    /// §5.5.1: the body of a close frame begins with a two-byte code.
    #[error("the close code is incomplete")]
    CloseTooShort,
    /// §8.1: text and close reasons must be UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// §10.4: the message exceeds the limit, the sum of all fragments.
    #[error("the message is too long")]
    TooBig,
    /// §10.4: empty fragments cost work, and a message could have any number of them.
    #[error("the message has too many empty fragments")]
    TooManyEmptyFragments,
}

impl FrameError {
    /// The close code for this error (RFC 6455 §7.4.1).
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
