//! Decodes the escapes of JSON strings (RFC 8259 §7).

use std::borrow::Cow;

/// Decodes the content of a valid JSON string. A lone surrogate becomes U+FFFD.
pub(super) fn decode(content: &str, escaped: bool) -> Cow<'_, str> {
    if !escaped {
        return Cow::Borrowed(content);
    }
    let mut decoded = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.find('\\') {
        decoded.push_str(&rest[..at]);
        let (character, length) = decode_escape(&rest[at..]);
        decoded.push(character);
        rest = &rest[at + length..];
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// The character of an escape, and the length of the escape in bytes.
fn decode_escape(text: &str) -> (char, usize) {
    let plain = match text.as_bytes().get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return decode_unicode(text),
        Some(&other) => char::from(other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (plain, 2.min(text.len()))
}

fn decode_unicode(text: &str) -> (char, usize) {
    let Some(unit) = code_unit(text) else {
        return (char::REPLACEMENT_CHARACTER, text.len().min(6));
    };
    if let Some(character) = char::from_u32(unit) {
        return (character, 6);
    }
    let low = text.get(6..).and_then(code_unit);
    match (unit, low) {
        (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) => {
            let combined = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            let character = char::from_u32(combined).unwrap_or(char::REPLACEMENT_CHARACTER);
            (character, 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

/// The code unit of the `\u` escape at the start of `text`.
fn code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}
