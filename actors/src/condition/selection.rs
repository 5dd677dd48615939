//! Which fields of the event data to tell, in MongoDB projection form.

use super::document::Document;

/// Why a `select` was refused (`SELECT_INVALID`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectionError(pub String);

/// A parsed `select`. Equal selections are equal values, so that one frame serves all that share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selection;

impl Selection {
    /// Parses a client's `select`; bounded like a condition.
    pub fn parse(text: &str) -> Result<Selection, SelectionError> {
        let _ = text;
        todo!()
    }

    /// Appends the selected part of the event data as JSON; what is kept keeps its digits and order.
    pub fn apply(&self, document: &Document<'_>, out: &mut Vec<u8>) {
        let _ = (document, out);
        todo!()
    }
}
