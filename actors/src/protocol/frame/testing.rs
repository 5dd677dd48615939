//! For the tests in this folder: frames of a client, and owned copies of events.

use std::ops::ControlFlow;

use super::{Event, FrameError, FrameReader};

pub(super) const FIN: u8 = 0x80;
pub(super) const TEXT: u8 = FIN | 0x1;
pub(super) const BINARY: u8 = FIN | 0x2;
pub(super) const CLOSE: u8 = FIN | 0x8;
pub(super) const PING: u8 = FIN | 0x9;
pub(super) const PONG: u8 = FIN | 0xA;
/// The first fragment of a text message.
pub(super) const TEXT_START: u8 = 0x1;
/// A fragment that is neither the first nor the last.
pub(super) const CONTINUATION: u8 = 0x0;
/// The last fragment of a message.
pub(super) const LAST_CONTINUATION: u8 = FIN;

pub(super) const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// An owned copy of an [`Event`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Received {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<(u16, String)>),
}

impl From<Event<'_>> for Received {
    fn from(event: Event<'_>) -> Received {
        match event {
            Event::Text(text) => Received::Text(text.to_owned()),
            Event::Binary(bytes) => Received::Binary(bytes.to_vec()),
            Event::Ping(payload) => Received::Ping(payload.to_vec()),
            Event::Pong(payload) => Received::Pong(payload.to_vec()),
            Event::Close(close) => Received::Close(close.map(|close| (close.code, close.reason.to_owned()))),
        }
    }
}

/// A masked frame with the length in its shortest form.
pub(super) fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..=125 => frame.push(0x80 | length as u8),
        length @ 126..=0xFFFF => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, key)| byte ^ key));
    frame
}

/// Feeds a piece. Returns the events and the result.
pub(super) fn feed(reader: &mut FrameReader, piece: &[u8], limit: usize) -> (Vec<Received>, Result<(), FrameError>) {
    let mut events = Vec::new();
    let outcome = reader.feed(&mut piece.to_vec(), limit, &mut |event| {
        events.push(event.into());
        ControlFlow::Continue(())
    });
    (events, outcome)
}

/// Feeds pieces to a new reader until one fails. Returns the events and the result.
pub(super) fn read<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<Received>, Result<(), FrameError>) {
    let mut reader = FrameReader::default();
    let mut events = Vec::new();
    for piece in pieces {
        let (more, outcome) = feed(&mut reader, piece, limit);
        events.extend(more);
        if outcome.is_err() {
            return (events, outcome);
        }
    }
    (events, Ok(()))
}
