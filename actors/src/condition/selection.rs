//! Selections: which fields of the event data a subscription receives, as a MongoDB projection.
//!
//! `{"a": 1, "b.c": 1}` keeps fields, `{"a": 0}` drops fields, and `{}` keeps everything. `{"b": {"c": 1}}` means the
//! same as `{"b.c": 1}`. A path applies to every object in an array, also in nested arrays. Segments are names, never
//! indices. If a path continues at a value that is neither object nor array, keeping drops the value, and dropping
//! keeps it. `_id` is a field like any other.
//!
//! If the event data is an array, the selection applies to its elements. If it is a scalar, dropping keeps it, and
//! keeping returns `{}`.

mod apply;
mod parse;

use super::document::Document;

/// Limits of a selection.
pub mod bounds {
    /// Paths in a selection.
    pub const FIELDS: usize = 64;
    /// Segments of a path.
    pub const DEPTH: usize = 16;
    /// Bytes of the selection's text.
    pub const TEXT_BYTES: usize = 4096;
}

/// Why a `select` was refused (`SELECT_INVALID`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectionError(pub String);

/// A parsed selection. Equal selections are equal values, so that subscriptions can share frames.
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

/// Paths by their first segment, sorted by name.
type Tree = Box<[(Box<str>, Branch)]>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Branch {
    /// The path ends here.
    Whole,
    /// Paths continue. Never empty.
    Inside(Tree),
}

impl Selection {
    /// Parses the `select` of a client, within [`bounds`].
    ///
    /// # Errors
    ///
    /// If `text` is not a JSON object of paths with `1`, `0`, `true` or `false`, mixes keeping and dropping, has a path
    /// inside another, an empty segment or an operator, or exceeds a limit.
    pub fn parse(text: &str) -> Result<Selection, SelectionError> {
        parse::parse(text)
    }

    /// Whether it keeps everything, so that the original event data can be delivered.
    pub fn is_everything(&self) -> bool {
        self.mode == Mode::Drop && self.fields.is_empty()
    }

    /// Appends the selected part of the event data as JSON. Digits of numbers and the order of fields do not change.
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
