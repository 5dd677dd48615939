//! Each rule of RFC 6455 for a reader, with bytes that violate it. Each stream is read at once and byte by byte.

use std::ops::ControlFlow;

use super::testing::*;
use super::*;

const LIMIT: usize = 1 << 16;

/// Asserts the events and the result of a stream, read at once and byte by byte.
#[track_caller]
fn expect(stream: &[u8], events: &[Received], outcome: Result<(), FrameError>) {
    assert_eq!(read([stream], LIMIT), (events.to_vec(), outcome), "at once");
    assert_eq!(read(stream.chunks(1), LIMIT), (events.to_vec(), outcome), "byte by byte");
}

/// Asserts that a stream is refused without an event.
#[track_caller]
fn refuse(stream: &[u8], error: FrameError) {
    expect(stream, &[], Err(error));
}

fn text(text: &str) -> Received {
    Received::Text(text.to_owned())
}

#[test]
fn the_reader_is_one_pointer() {
    assert_eq!(size_of::<FrameReader>(), 8);
}

#[test]
fn the_example_of_the_rfc_is_read() {
    let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    expect(&hello, &[text("Hello")], Ok(()));
    expect(&[&hello[..], &hello[..]].concat(), &[text("Hello"), text("Hello")], Ok(()));
}

#[test]
fn empty_messages_are_reported() {
    expect(&masked(TEXT, b""), &[text("")], Ok(()));
    expect(&masked(BINARY, b""), &[Received::Binary(vec![])], Ok(()));
    expect(&[masked(TEXT_START, b""), masked(LAST_CONTINUATION, b"")].concat(), &[text("")], Ok(()));
}

#[test]
fn reserved_bits_are_refused() {
    for bit in [0x40, 0x20, 0x10] {
        refuse(&masked(TEXT | bit, b"x"), FrameError::ReservedBits);
        refuse(&[TEXT | bit], FrameError::ReservedBits);
    }
}

#[test]
fn reserved_opcodes_are_refused() {
    for opcode in (3..=7).chain(11..=15) {
        refuse(&[FIN | opcode], FrameError::ReservedOpcode);
        refuse(&[opcode], FrameError::ReservedOpcode);
    }
}

#[test]
fn frames_without_a_mask_are_refused() {
    for first in [TEXT, BINARY, PING, PONG, CLOSE] {
        refuse(&[first, 0x00], FrameError::NotMasked);
    }
}

#[test]
fn fragmented_control_frames_are_refused() {
    for first in [PING, PONG, CLOSE] {
        refuse(&[first & !FIN], FrameError::FragmentedControl);
    }
}

#[test]
fn control_frames_have_at_most_125_bytes() {
    expect(&masked(PING, &[7; 125]), &[Received::Ping(vec![7; 125])], Ok(()));
    for first in [PING, PONG, CLOSE] {
        refuse(&masked(first, &[7; 126])[..2], FrameError::ControlTooLong);
        refuse(&[first, 0xFF], FrameError::ControlTooLong);
    }
}

#[test]
fn a_continuation_needs_a_first_fragment() {
    refuse(&[LAST_CONTINUATION], FrameError::UnexpectedContinuation);
    refuse(&[CONTINUATION], FrameError::UnexpectedContinuation);
    let after_a_message = [masked(TEXT, b"x"), vec![LAST_CONTINUATION]].concat();
    expect(&after_a_message, &[text("x")], Err(FrameError::UnexpectedContinuation));
}

#[test]
fn a_message_must_end_before_the_next_one_begins() {
    for first in [TEXT, BINARY, TEXT_START] {
        refuse(&[masked(TEXT_START, b"x"), vec![first]].concat(), FrameError::ExpectedContinuation);
    }
}

#[test]
fn lengths_must_have_their_shortest_form() {
    refuse(&[TEXT, 0xFE, 0, 125], FrameError::NonMinimalLength);
    refuse(&[TEXT, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], FrameError::NonMinimalLength);
    expect(&masked(BINARY, &[7; 126]), &[Received::Binary(vec![7; 126])], Ok(()));
    expect(&masked(BINARY, &[7; LIMIT]), &[Received::Binary(vec![7; LIMIT])], Ok(()));
}

#[test]
fn the_most_significant_bit_of_a_length_must_be_0() {
    refuse(&[TEXT, 0xFF, 0x80, 0, 0, 0, 0, 1, 0, 0], FrameError::LengthOverflow);
}

#[test]
fn fragments_are_joined_and_control_frames_between_them_are_reported_at_once() {
    let stream = [
        masked(TEXT_START, b"one "),
        masked(PING, b"p"),
        masked(CONTINUATION, b"two "),
        masked(PONG, b""),
        masked(LAST_CONTINUATION, b"three"),
        masked(TEXT, b"four"),
    ]
    .concat();
    let events = [Received::Ping(b"p".to_vec()), Received::Pong(vec![]), text("one two three"), text("four")];
    expect(&stream, &events, Ok(()));
}

#[test]
fn a_character_may_be_split_between_fragments() {
    let crab = "🦀".as_bytes();
    for at in 0..=4 {
        let stream =
            [masked(TEXT_START, &crab[..at]), masked(PING, b""), masked(LAST_CONTINUATION, &crab[at..])].concat();
        expect(&stream, &[Received::Ping(vec![]), text("🦀")], Ok(()));
    }
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    for bad in [&b"\xCE\xBA\xED\xA0\x80"[..], b"\xC0\xAF", b"\xF4\x90\x80\x80", b"a\xFF", b"\xE2\x82"] {
        refuse(&masked(TEXT, bad), FrameError::NotUtf8);
        refuse(&[masked(TEXT_START, bad), masked(LAST_CONTINUATION, b"")].concat(), FrameError::NotUtf8);
    }
}

#[test]
fn invalid_text_is_refused_before_its_fragment_or_frame_is_complete() {
    let frame = masked(TEXT, b"good \xFF and the rest");
    refuse(&frame[..6 + 6], FrameError::NotUtf8);
    assert_eq!(read([&frame[..6 + 5]], LIMIT), (vec![], Ok(())));
    refuse(&masked(TEXT_START, b"\xFF"), FrameError::NotUtf8);
}

#[test]
fn binary_messages_need_not_be_utf8() {
    expect(&masked(BINARY, b"\xFF\xC0"), &[Received::Binary(b"\xFF\xC0".to_vec())], Ok(()));
}

#[test]
fn close_frames_are_reported_with_code_and_reason() {
    expect(&masked(CLOSE, b""), &[Received::Close(None)], Ok(()));
    expect(&masked(CLOSE, b"\x03\xE8"), &[Received::Close(Some((1000, String::new())))], Ok(()));
    let body = [&1001u16.to_be_bytes()[..], "tschüß".as_bytes()].concat();
    expect(&masked(CLOSE, &body), &[Received::Close(Some((1001, "tschüß".to_owned())))], Ok(()));
}

#[test]
fn an_incomplete_close_code_is_refused() {
    refuse(&masked(CLOSE, b"\x03"), FrameError::CloseTooShort);
}

#[test]
fn only_close_codes_that_are_allowed_on_the_wire_are_accepted() {
    let allowed = |code| matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    for code in 0..=u16::MAX {
        let (events, outcome) = read([&masked(CLOSE, &code.to_be_bytes())[..]], LIMIT);
        if allowed(code) {
            assert_eq!((events, outcome), (vec![Received::Close(Some((code, String::new())))], Ok(())));
        } else {
            assert_eq!((events, outcome), (vec![], Err(FrameError::InvalidCloseCode)), "{code}");
        }
    }
}

#[test]
fn a_close_reason_must_be_utf8() {
    refuse(&masked(CLOSE, b"\x03\xE8\xCE\xBA\xFF"), FrameError::NotUtf8);
    refuse(&masked(CLOSE, b"\x03\xE8\xE2\x82"), FrameError::NotUtf8);
}

#[test]
fn a_message_over_the_limit_is_refused_at_its_header() {
    let frame = masked(TEXT, &[b'x'; LIMIT + 1]);
    refuse(&frame[..10], FrameError::TooBig);
    refuse(&[BINARY, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], FrameError::TooBig);
}

#[test]
fn the_limit_applies_to_the_sum_of_fragments() {
    let first = masked(TEXT_START, &[b'x'; LIMIT - 1]);
    let fits = [&first[..], &masked(CONTINUATION, b"y"), &masked(LAST_CONTINUATION, b"")].concat();
    let (events, outcome) = read([&fits[..]], LIMIT);
    assert_eq!((events.len(), outcome), (1, Ok(())));
    refuse(&[&first[..], &masked(CONTINUATION, b"yz")[..2]].concat(), FrameError::TooBig);
}

#[test]
fn control_frames_do_not_count_toward_the_message_limit() {
    let full = masked(TEXT_START, b"12345678");
    let stream = [full, masked(PING, &[7; 125]), masked(LAST_CONTINUATION, b"")].concat();
    assert_eq!(read(stream.chunks(1), 8), (vec![Received::Ping(vec![7; 125]), text("12345678")], Ok(())));
}

#[test]
fn reading_stops_if_the_handler_breaks() {
    let mut reader = FrameReader::default();
    let mut stream = [masked(CLOSE, b"\x03\xE8"), masked(TEXT, b"late"), vec![0xFF]].concat();
    let mut events = 0;
    let outcome = reader.feed(&mut stream, LIMIT, &mut |_| {
        events += 1;
        ControlFlow::Break(())
    });
    assert_eq!((events, outcome, reader.buffered_bytes()), (1, Ok(()), 0));
}

#[test]
fn a_reader_holds_no_memory_without_an_incomplete_frame() {
    let mut reader = FrameReader::default();
    let frame = masked(TEXT, b"a message that arrives in two pieces");
    feed(&mut reader, &frame[..20], LIMIT).1.unwrap();
    assert!(reader.buffered_bytes() > 0);
    feed(&mut reader, &frame[20..], LIMIT).1.unwrap();
    assert_eq!(reader.buffered_bytes(), 0);
    feed(&mut reader, &frame[..20], LIMIT).1.unwrap();
    feed(&mut reader, &[b'x' ^ 0xFF; 20], LIMIT).1.unwrap_err();
    assert_eq!(reader.buffered_bytes(), 0, "after an error");
}

#[test]
fn memory_does_not_grow_with_the_length_in_a_header() {
    let mut reader = FrameReader::default();
    let header = &masked(BINARY, &vec![0; 1 << 20])[..14];
    feed(&mut reader, header, usize::MAX).1.unwrap();
    feed(&mut reader, &[1; 10], usize::MAX).1.unwrap();
    assert!(reader.buffered_bytes() < 256);
}

#[test]
fn empty_fragments_hold_no_memory_and_are_limited() {
    let mut reader = FrameReader::default();
    feed(&mut reader, &masked(TEXT_START, b""), LIMIT).1.unwrap();
    let memory = reader.buffered_bytes();
    for _ in 1..1_000 {
        feed(&mut reader, &masked(CONTINUATION, b""), LIMIT).1.unwrap();
    }
    assert_eq!(reader.buffered_bytes(), memory);
    assert_eq!(feed(&mut reader, &masked(CONTINUATION, b""), LIMIT).1, Err(FrameError::TooManyEmptyFragments));
}

#[test]
fn each_error_has_the_close_code_of_its_kind() {
    assert_eq!(FrameError::NotMasked.close_code().as_u16(), 1002);
    assert_eq!(FrameError::InvalidCloseCode.close_code().as_u16(), 1002);
    assert_eq!(FrameError::NotUtf8.close_code().as_u16(), 1007);
    assert_eq!(FrameError::TooBig.close_code().as_u16(), 1009);
}
