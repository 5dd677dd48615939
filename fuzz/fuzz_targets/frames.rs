//! Frames: a stream in any pieces causes the same events as a simple parser of the whole stream, within bounded memory.

#![no_main]

use std::ops::ControlFlow;

use actors::protocol::codes::CloseCode;
use actors::protocol::frame::{Event, FrameReader};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// Maximum memory of a reader besides the payload of a message: its state and a control frame.
const STATE_BYTES: usize = 512;

/// Maximum empty fragments of one message.
const MAX_EMPTY_FRAGMENTS: usize = 1_000;

/// A part of a stream. Mostly frames, so that the fuzzer need not find valid masks and lengths by itself.
#[derive(Arbitrary, Debug)]
enum Part {
    /// First byte, mask, payload.
    Frame(u8, [u8; 4], Vec<u8>),
    Text(bool, [u8; 4], String),
    /// First byte, length of the payload, and the form of the length in bytes (0, 2, 8).
    Header(u8, u64, u8),
    Raw(Vec<u8>),
    /// A number of empty fragments, modulo 1,200.
    Empty(u16),
}

#[derive(Arbitrary, Debug)]
struct Input {
    limit: u16,
    parts: Vec<Part>,
    pieces: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
enum Received {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<(u16, String)>),
}

type Reading = (Vec<Received>, Result<(), CloseCode>);

fuzz_target!(|input: Input| {
    let limit = usize::from(input.limit);
    let stream: Vec<u8> = input.parts.iter().flat_map(bytes).collect();
    let (events, outcome) = read(&stream, std::iter::repeat(stream.len().max(1)), limit);
    let pieces = input.pieces.iter().map(|&length| usize::from(length).max(1)).chain(std::iter::repeat(1));
    assert_eq!(read(&stream, pieces, limit), (events.clone(), outcome), "the events depend on the pieces");
    let (expected, end) = parse_simply(&stream, limit);
    assert_eq!(events, expected);
    // The simple parser checks complete frames only. The reader may find an error in the last one earlier.
    if end.is_err() {
        assert_eq!(outcome, end);
    }
});

fn bytes(part: &Part) -> Vec<u8> {
    match part {
        Part::Raw(bytes) => bytes.clone(),
        Part::Empty(count) => masked(0, &[0; 4], &[]).repeat(usize::from(*count) % (MAX_EMPTY_FRAGMENTS + 200)),
        Part::Header(first, length, form) => header(*first, *length, [0, 2, 8][usize::from(form % 3)]),
        Part::Frame(first, mask, payload) => masked(*first, mask, payload),
        Part::Text(fin, mask, text) => masked(if *fin { 0x81 } else { 0x01 }, mask, text.as_bytes()),
    }
}

fn header(first: u8, length: u64, form: u8) -> Vec<u8> {
    match form {
        0 => vec![first, 0x80 | (length % 126) as u8],
        2 => [&[first, 0xFE][..], &(length as u16).to_be_bytes()].concat(),
        _ => [&[first, 0xFF][..], &length.to_be_bytes()].concat(),
    }
}

fn masked(first: u8, mask: &[u8; 4], payload: &[u8]) -> Vec<u8> {
    let form = match payload.len() {
        0..=125 => 0,
        126..=0xFFFF => 2,
        _ => 8,
    };
    let mut frame = header(first, payload.len() as u64, form);
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key));
    frame
}

fn read(stream: &[u8], mut pieces: impl Iterator<Item = usize>, limit: usize) -> Reading {
    let (mut reader, mut events, mut rest) = (FrameReader::default(), Vec::new(), stream.to_vec());
    let mut rest = &mut rest[..];
    while !rest.is_empty() {
        let length = pieces.next().unwrap_or(1).min(rest.len());
        let (piece, later) = rest.split_at_mut(length);
        let outcome = reader.feed(piece, limit, &mut |event| {
            events.push(owned(event));
            ControlFlow::Continue(())
        });
        assert!(reader.buffered_bytes() <= limit + STATE_BYTES, "memory over the limit");
        if let Err(error) = outcome {
            assert_eq!(reader.buffered_bytes(), 0, "memory after an error");
            return (events, Err(error.close_code()));
        }
        rest = later;
    }
    (events, Ok(()))
}

fn owned(event: Event<'_>) -> Received {
    match event {
        Event::Text(text) => Received::Text(text.to_owned()),
        Event::Binary(bytes) => Received::Binary(bytes.to_vec()),
        Event::Ping(payload) => Received::Ping(payload.to_vec()),
        Event::Pong(payload) => Received::Pong(payload.to_vec()),
        Event::Close(close) => Received::Close(close.map(|close| (close.code, close.reason.to_owned()))),
    }
}

/// The simple parser: checks the complete frames of a stream one after the other, by the rules of RFC 6455.
fn parse_simply(stream: &[u8], limit: usize) -> Reading {
    let (mut events, mut rest, mut message) = (Vec::new(), stream, None);
    loop {
        match next_frame(rest, limit, &mut message) {
            Ok(Some((event, later))) => {
                events.extend(event);
                rest = later;
            }
            Ok(None) => return (events, Ok(())),
            Err(code) => return (events, Err(code)),
        }
    }
}

/// An incomplete message: whether it is text, its payload so far, and its number of empty fragments.
type Incomplete = Option<(bool, Vec<u8>, usize)>;

fn next_frame<'a>(
    stream: &'a [u8],
    limit: usize,
    message: &mut Incomplete,
) -> Result<Option<(Option<Received>, &'a [u8])>, CloseCode> {
    let [first, second, ..] = *stream else { return Ok(None) };
    let (fin, opcode, control) = (first & 0x80 != 0, first & 0x0F, first & 0x08 != 0);
    let is_known = matches!(opcode, 0 | 1 | 2 | 8 | 9 | 10);
    let fits = if control { fin && second & 0x7F <= 125 } else { (opcode == 0) == message.is_some() };
    if first & 0x70 != 0 || !is_known || second & 0x80 == 0 || !fits {
        return Err(CloseCode::ProtocolError);
    }
    let extended = [0, 2, 8][usize::from(second & 0x7F).saturating_sub(125)];
    let Some(digits) = stream.get(2..2 + extended) else { return Ok(None) };
    let length = match extended {
        0 => u64::from(second & 0x7F),
        _ => digits.iter().fold(0, |length, &digit| length << 8 | u64::from(digit)),
    };
    if length > i64::MAX as u64 || (extended == 2 && length < 126) || (extended == 8 && length < 65_536) {
        return Err(CloseCode::ProtocolError);
    }
    let so_far = message.as_ref().map_or(0, |(_, payload, _)| payload.len());
    if !control && length > limit.saturating_sub(so_far) as u64 {
        return Err(CloseCode::TooBig);
    }
    let (start, length) = (2 + extended + 4, length as usize);
    let Some(payload) = stream.get(start..start + length) else { return Ok(None) };
    let mask = &stream[start - 4..start];
    let payload: Vec<u8> = payload.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]).collect();
    let event = if control { Some(read_control(opcode, payload)?) } else { read_data(fin, opcode, payload, message)? };
    Ok(Some((event, &stream[start + length..])))
}

fn read_control(opcode: u8, payload: Vec<u8>) -> Result<Received, CloseCode> {
    match (opcode, &payload[..]) {
        (9, _) => Ok(Received::Ping(payload)),
        (10, _) => Ok(Received::Pong(payload)),
        (_, []) => Ok(Received::Close(None)),
        (_, [_]) => Err(CloseCode::ProtocolError),
        (_, [high, low, reason @ ..]) => {
            let code = u16::from(*high) << 8 | u16::from(*low);
            let is_reserved = matches!(code, 1004 | 1005 | 1006 | 1015..=2999);
            if !(1000..5000).contains(&code) || is_reserved {
                return Err(CloseCode::ProtocolError);
            }
            let reason = String::from_utf8(reason.to_vec()).map_err(|_| CloseCode::InvalidPayload)?;
            Ok(Received::Close(Some((code, reason))))
        }
    }
}

fn read_data(fin: bool, opcode: u8, payload: Vec<u8>, message: &mut Incomplete) -> Result<Option<Received>, CloseCode> {
    let (is_text, mut whole, mut empty) = message.take().unwrap_or((opcode == 1, Vec::new(), 0));
    empty += usize::from(!fin && payload.is_empty());
    if empty > MAX_EMPTY_FRAGMENTS {
        return Err(CloseCode::TooBig);
    }
    whole.extend(payload);
    let text = std::str::from_utf8(&whole);
    if is_text && text.is_err_and(|error| fin || error.error_len().is_some()) {
        return Err(CloseCode::InvalidPayload);
    }
    if !fin {
        *message = Some((is_text, whole, empty));
        return Ok(None);
    }
    Ok(Some(match text {
        Ok(text) if is_text => Received::Text(text.to_owned()),
        _ => Received::Binary(whole),
    }))
}
