//! Which fields of the event data to tell, in MongoDB projection form.
//!
//! `{"a": 1, "b.c": 1}` keeps, `{"a": 0}` drops, `{}` keeps everything; `{"b": {"c": 1}}` says the same as
//! `{"b.c": 1}`. A path goes through arrays, also those in arrays, into every object; segments are names, never
//! indices. Where a kept path goes on, what is not an object is left out; where a dropped one does, it stays.
//! `_id` is a field like any other.
//!
//! Event data that is no object: an array is gone through like one in a field; a scalar stays under a selection that
//! drops, and becomes `{}` under one that keeps.

mod apply;
mod parse;

use super::document::Document;

/// The bounds of a `select`.
pub mod bounds {
    /// Paths.
    pub const FIELDS: usize = 64;
    /// Segments in a path.
    pub const DEPTH: usize = 16;
    /// Bytes of text.
    pub const TEXT_BYTES: usize = 4096;
}

/// Why a `select` was refused (`SELECT_INVALID`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectionError(pub String);

/// A parsed `select`. Equal selections are equal values, so that one frame serves all that share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selection {
    mode: Mode,
    fields: Tree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Keep,
    Drop,
}

/// Paths by their first segment, in order of names. Without any, nothing is named.
type Tree = Box<[(Box<str>, Branch)]>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Branch {
    /// A path ends here.
    Whole,
    /// Paths go on; never empty.
    Inside(Tree),
}

impl Selection {
    /// Parses a client's `select`; bounded by [`bounds`].
    ///
    /// # Errors
    ///
    /// For what is not a JSON object of paths with `1`, `0`, `true` or `false`, mixes keeping with dropping, has a
    /// path inside another, an empty segment or an operator, or is past a bound.
    pub fn parse(text: &str) -> Result<Selection, SelectionError> {
        parse::parse(text)
    }

    /// Whether it keeps everything, so that the event data can be told as it came.
    pub fn is_everything(&self) -> bool {
        self.mode == Mode::Drop && self.fields.is_empty()
    }

    /// Appends the selected part of the event data as JSON; what is kept keeps its digits and order.
    pub fn apply(&self, document: &Document<'_>, out: &mut Vec<u8>) {
        if self.is_everything() {
            out.extend_from_slice(document.text().as_bytes());
        } else if !apply::write(self.mode, &self.fields, document.root(), out) {
            out.extend_from_slice(b"{}");
        }
    }
}

#[cfg(test)]
mod tests;
