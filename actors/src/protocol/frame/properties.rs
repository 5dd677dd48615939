//! Properties of every stream: events do not depend on the pieces, memory is bounded, and written frames can be read.

use proptest::collection::vec;
use proptest::prelude::*;

use super::reader::PARTIAL_BYTES;
use super::testing::*;
use super::*;

const LIMIT: usize = 2_000;

/// Frames of a valid stream, and the events that they cause.
type Frames = (Vec<u8>, Vec<Received>);

fn control() -> impl Strategy<Value = Frames> {
    let payload = vec(any::<u8>(), 0..=MAX_CONTROL_BYTES);
    (any::<bool>(), payload).prop_map(|(ping, payload)| match ping {
        true => (masked(PING, &payload), vec![Received::Ping(payload)]),
        false => (masked(PONG, &payload), vec![Received::Pong(payload)]),
    })
}

/// A message in fragments, with control frames between them. Only the last fragment causes an event.
fn message() -> impl Strategy<Value = Frames> {
    let payload = prop_oneof![
        "\\PC{0,200}".prop_map(|text| (TEXT, text.clone().into_bytes(), Received::Text(text))),
        vec(any::<u8>(), 0..1_000).prop_map(|bytes| (BINARY, bytes.clone(), Received::Binary(bytes))),
    ];
    let cuts = vec((any::<prop::sample::Index>(), control()), 0..4);
    (payload, cuts).prop_map(|((first, payload, event), mut cuts)| {
        cuts.sort_by_key(|(at, _)| at.index(payload.len() + 1));
        let (mut stream, mut events, mut start, mut opcode) = (Vec::new(), Vec::new(), 0, first & !FIN);
        for (at, (frame, control)) in cuts {
            let end = at.index(payload.len() + 1);
            stream.extend(masked(opcode, &payload[start..end]));
            stream.extend(frame);
            events.extend(control);
            (start, opcode) = (end, CONTINUATION);
        }
        stream.extend(masked(FIN | opcode, &payload[start..]));
        events.push(event);
        (stream, events)
    })
}

fn valid_stream() -> impl Strategy<Value = Frames> {
    vec(prop_oneof![message(), control()], 0..6).prop_map(|pieces| {
        let (streams, events): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        (streams.concat(), events.concat())
    })
}

/// Cuts a stream into pieces whose lengths repeat.
fn cut<'a>(mut stream: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for &length in lengths.iter().cycle() {
        if stream.is_empty() {
            break;
        }
        let (piece, rest) = stream.split_at(length.min(stream.len()));
        pieces.push(piece);
        stream = rest;
    }
    pieces
}

proptest! {
    #[test]
    fn a_valid_stream_causes_the_same_events_in_any_pieces(
        (stream, events) in valid_stream(),
        lengths in vec(1..300usize, 1..20),
    ) {
        prop_assert_eq!(read([&stream[..]], LIMIT), (events.clone(), Ok(())));
        prop_assert_eq!(read(cut(&stream, &lengths), LIMIT), (events, Ok(())));
    }

    #[test]
    fn a_corrupted_stream_causes_the_same_events_in_any_pieces(
        (mut stream, _) in valid_stream(),
        corrupted in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        lengths in vec(1..300usize, 1..20),
    ) {
        prop_assume!(!stream.is_empty());
        for (at, byte) in corrupted {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        prop_assert_eq!(read(cut(&stream, &lengths), LIMIT), read([&stream[..]], LIMIT));
    }

    #[test]
    fn no_stream_makes_the_reader_hold_more_than_the_limit(
        bytes in vec(prop_oneof![any::<u8>(), Just(0x80), Just(0x81), Just(0x01)], 0..800),
        lengths in vec(1..300usize, 1..20),
        limit in 0..400usize,
    ) {
        let mut reader = FrameReader::default();
        for piece in cut(&bytes, &lengths) {
            if feed(&mut reader, piece, limit).1.is_err() {
                break;
            }
            prop_assert!(reader.buffered_bytes() <= limit + PARTIAL_BYTES);
        }
    }

    #[test]
    fn written_frames_are_read_back(text in "\\PC{0,300}", bytes in vec(any::<u8>(), 0..MAX_CONTROL_BYTES)) {
        let written = [text_frame(text.as_bytes()), binary_frame(&bytes), ping_frame(&bytes), close_frame(4000, "so")];
        let stream: Vec<u8> = written.iter().flat_map(|frame| as_of_a_client(frame)).collect();
        let events = [Received::Text(text), Received::Binary(bytes.clone()), Received::Ping(bytes), Received::Close(Some((4000, "so".into())))];
        prop_assert_eq!(read([&stream[..]], LIMIT), (events.to_vec(), Ok(())));
    }
}

/// A server's frame as a client would send it: masked.
fn as_of_a_client(frame: &[u8]) -> Vec<u8> {
    let header = match frame[1] {
        126 => 4,
        127 => 10,
        _ => 2,
    };
    let masked_frame = masked(frame[0], &frame[header..]);
    assert_eq!(masked_frame[1] & 0x7F, frame[1]);
    assert_eq!(masked_frame[2..header], frame[2..header]);
    masked_frame
}
