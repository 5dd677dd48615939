//! The canonical bytes of a value for a hasher, the same for values in documents and in conditions.
//!
//! Each value begins with its kind, and values of variable length contain their length, so different values never have
//! the same bytes.

use super::Literal;
use super::number::Number;
use std::hash::{Hash, Hasher};

pub(super) fn null<H: Hasher>(state: &mut H) {
    state.write_u8(0);
}

pub(super) fn bool<H: Hasher>(value: bool, state: &mut H) {
    state.write_u8(if value { 2 } else { 1 });
}

pub(super) fn number<H: Hasher>(value: &Number, state: &mut H) {
    state.write_u8(3);
    value.hash(state);
}

pub(super) fn string<H: Hasher>(value: &str, state: &mut H) {
    state.write_u8(4);
    state.write(value.as_bytes());
    // UTF-8 never contains this byte (RFC 3629 §3).
    state.write_u8(0xFF);
}

pub(super) fn array<H: Hasher>(length: usize, state: &mut H) {
    state.write_u8(5);
    state.write_usize(length);
}

pub(super) fn object<H: Hasher>(length: usize, state: &mut H) {
    state.write_u8(6);
    state.write_usize(length);
}

impl Literal {
    /// See [`super::document::Value::hash_canonical`].
    pub fn hash_canonical<H: Hasher>(&self, state: &mut H) {
        match self {
            Literal::Null => null(state),
            Literal::Bool(value) => bool(*value, state),
            Literal::Number(value) => number(value, state),
            Literal::String(value) => string(value, state),
            Literal::Array(elements) => {
                array(elements.len(), state);
                for element in elements {
                    element.hash_canonical(state);
                }
            }
            Literal::Object(fields) => {
                object(fields.len(), state);
                for (key, value) in fields {
                    string(key, state);
                    value.hash_canonical(state);
                }
            }
        }
    }
}
