//! Event data as conditions and selections see it: a tape over the JSON text, no value copied or converted until asked.

use super::Path;
use std::hash::Hasher;

/// Why event data was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("the event data is not valid JSON (byte {0})")]
    Syntax(usize),
    #[error(
        "the event data is nested deeper than {} levels",
        super::bounds::DOCUMENT_DEPTH
    )]
    TooDeep,
}

/// Event data, read once per emit.
pub struct Document<'a> {
    text: &'a str,
}

impl<'a> Document<'a> {
    /// Reads `text`, one JSON value. Duplicate keys: the last one counts.
    pub fn parse(text: &'a str) -> Result<Document<'a>, DocumentError> {
        let _ = text;
        todo!()
    }

    /// The text as it came.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Calls `on_value` for every value that an equality on `path` looks at: the values at the path through arrays
    /// (a numeric segment indexes), and where such a value is an array, its elements too.
    pub fn for_each_candidate(&self, path: &Path, on_value: &mut dyn FnMut(Value<'_>)) {
        let _ = (path, on_value);
        todo!()
    }

    /// Whether `path` leads to at least one value.
    pub fn has(&self, path: &Path) -> bool {
        let _ = path;
        todo!()
    }
}

/// One value inside a [`Document`].
#[derive(Clone, Copy)]
pub struct Value<'d> {
    _text: &'d str,
}

impl Value<'_> {
    /// Feeds the canonical form to `state`: values that MongoDB calls equal feed the same bytes, and
    /// [`super::Literal::hash_canonical`] of an equal literal does too.
    pub fn hash_canonical<H: Hasher>(&self, state: &mut H) {
        let _ = state;
        todo!()
    }

    /// The number or string, as an ordered key for range look-ups; `None` for every other type.
    pub fn ordered(&self) -> Option<super::Literal> {
        todo!()
    }
}
