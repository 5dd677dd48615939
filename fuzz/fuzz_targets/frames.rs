//! Frames: any stream in any pieces is told as a plain reading of the whole tells it, within bounded memory.

#![no_main]

use std::ops::ControlFlow;

use actors::protocol::codes::CloseCode;
use actors::protocol::frame::{Event, FrameReader};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// What a reader may hold besides a message's payload: its own state and a control frame.
const STATE_BYTES: usize = 512;

/// Fragments of one message that may carry nothing.
const EMPTY_FRAGMENTS: usize = 1_000;

/// A stream as its maker thought of it: mostly frames, so that the fuzzer need not invent masks and lengths.
#[derive(Arbitrary, Debug)]
enum Part {
    /// First byte, mask, payload.
    Frame(u8, [u8; 4], Vec<u8>),
    Text(bool, [u8; 4], String),
    /// The header announces this many bytes, with the length in the form of this many bytes (0, 2, 8).
    Header(u8, u64, u8),
    Raw(Vec<u8>),
    /// So many fragments that carry nothing; past 1,200 the count begins again.
    Empty(u16),
}

#[derive(Arbitrary, Debug)]
struct Input {
    limit: u16,
    parts: Vec<Part>,
    pieces: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
enum Told {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<(u16, String)>),
}

type Reading = (Vec<Told>, Result<(), CloseCode>);

fuzz_target!(|input: Input| {
    let limit = usize::from(input.limit);
    let stream: Vec<u8> = input.parts.iter().flat_map(bytes).collect();
    let (events, outcome) = read(&stream, std::iter::repeat(stream.len().max(1)), limit);
    let pieces = input.pieces.iter().map(|&length| usize::from(length).max(1)).chain(std::iter::repeat(1));
    assert_eq!(read(&stream, pieces, limit), (events.clone(), outcome), "pieces matter");
    let (expected, end) = read_plainly(&stream, limit);
    assert_eq!(events, expected);
    // A plain reading sees whole frames only: the reader may know better about the last, but not less.
    if end.is_err() {
        assert_eq!(outcome, end);
    }
});

fn bytes(part: &Part) -> Vec<u8> {
    match part {
        Part::Raw(bytes) => bytes.clone(),
        Part::Empty(count) => masked(0, &[0; 4], &[]).repeat(usize::from(*count) % (EMPTY_FRAGMENTS + 200)),
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
            events.push(told(event));
            ControlFlow::Continue(())
        });
        assert!(reader.buffered_bytes() <= limit + STATE_BYTES, "memory past the limit");
        if let Err(error) = outcome {
            assert_eq!(reader.buffered_bytes(), 0, "memory after an error");
            return (events, Err(error.close_code()));
        }
        rest = later;
    }
    (events, Ok(()))
}

fn told(event: Event<'_>) -> Told {
    match event {
        Event::Text(text) => Told::Text(text.to_owned()),
        Event::Binary(bytes) => Told::Binary(bytes.to_vec()),
        Event::Ping(payload) => Told::Ping(payload.to_vec()),
        Event::Pong(payload) => Told::Pong(payload.to_vec()),
        Event::Close(close) => Told::Close(close.map(|close| (close.code, close.reason.to_owned()))),
    }
}

/// The oracle: whole frames of a whole stream, one after the other, rule by rule as RFC 6455 lists them.
fn read_plainly(stream: &[u8], limit: usize) -> Reading {
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

/// The message under way: whether it is text, its payload so far, and how many fragments carried nothing.
type Begun = Option<(bool, Vec<u8>, usize)>;

fn next_frame<'a>(
    stream: &'a [u8],
    limit: usize,
    message: &mut Begun,
) -> Result<Option<(Option<Told>, &'a [u8])>, CloseCode> {
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

fn read_control(opcode: u8, payload: Vec<u8>) -> Result<Told, CloseCode> {
    match (opcode, &payload[..]) {
        (9, _) => Ok(Told::Ping(payload)),
        (10, _) => Ok(Told::Pong(payload)),
        (_, []) => Ok(Told::Close(None)),
        (_, [_]) => Err(CloseCode::ProtocolError),
        (_, [high, low, reason @ ..]) => {
            let code = u16::from(*high) << 8 | u16::from(*low);
            let is_reserved = matches!(code, 1004 | 1005 | 1006 | 1015..=2999);
            if !(1000..5000).contains(&code) || is_reserved {
                return Err(CloseCode::ProtocolError);
            }
            let reason = String::from_utf8(reason.to_vec()).map_err(|_| CloseCode::InvalidPayload)?;
            Ok(Told::Close(Some((code, reason))))
        }
    }
}

fn read_data(fin: bool, opcode: u8, payload: Vec<u8>, message: &mut Begun) -> Result<Option<Told>, CloseCode> {
    let (is_text, mut whole, mut empty) = message.take().unwrap_or((opcode == 1, Vec::new(), 0));
    empty += usize::from(!fin && payload.is_empty());
    if empty > EMPTY_FRAGMENTS {
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
        Ok(text) if is_text => Told::Text(text.to_owned()),
        _ => Told::Binary(whole),
    }))
}
