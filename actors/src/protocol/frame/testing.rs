//! A client's frames and an owned copy of what the reader tells, for the tests beside.

use std::ops::ControlFlow;

use super::{Event, FrameError, FrameReader};

pub(super) const FIN: u8 = 0x80;
pub(super) const TEXT: u8 = FIN | 0x1;
pub(super) const BINARY: u8 = FIN | 0x2;
pub(super) const CLOSE: u8 = FIN | 0x8;
pub(super) const PING: u8 = FIN | 0x9;
pub(super) const PONG: u8 = FIN | 0xA;
/// Begins a fragmented text message.
pub(super) const TEXT_BEGINS: u8 = 0x1;
/// Goes on with a fragmented message.
pub(super) const GOES_ON: u8 = 0x0;
/// Ends a fragmented message.
pub(super) const ENDS: u8 = FIN;

pub(super) const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// What a reader told, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<(u16, String)>),
}

impl From<Event<'_>> for Told {
    fn from(event: Event<'_>) -> Told {
        match event {
            Event::Text(text) => Told::Text(text.to_owned()),
            Event::Binary(bytes) => Told::Binary(bytes.to_vec()),
            Event::Ping(payload) => Told::Ping(payload.to_vec()),
            Event::Pong(payload) => Told::Pong(payload.to_vec()),
            Event::Close(close) => Told::Close(close.map(|close| (close.code, close.reason.to_owned()))),
        }
    }
}

/// A masked frame with its length in the shortest form.
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

/// Feeds a piece; returns what was told on the way and how it ended.
pub(super) fn feed(reader: &mut FrameReader, piece: &[u8], limit: usize) -> (Vec<Told>, Result<(), FrameError>) {
    let mut told = Vec::new();
    let outcome = reader.feed(&mut piece.to_vec(), limit, &mut |event| {
        told.push(event.into());
        ControlFlow::Continue(())
    });
    (told, outcome)
}

/// Feeds pieces to a new reader until one fails.
pub(super) fn read<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<Told>, Result<(), FrameError>) {
    let mut reader = FrameReader::default();
    let mut told = Vec::new();
    for piece in pieces {
        let (more, outcome) = feed(&mut reader, piece, limit);
        told.extend(more);
        if outcome.is_err() {
            return (told, outcome);
        }
    }
    (told, Ok(()))
}
