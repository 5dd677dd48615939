//! Event data as conditions and selections see it: a tape over the JSON text, no value copied or converted until asked.

mod duplicates;
mod paths;
mod reader;
mod text;
mod value;

pub(super) use paths::{Leaf, any_at, any_in_element};
pub use value::{Kind, Value};

use super::{CostBudget, Path, bounds};
use std::borrow::Cow;

/// Why event data was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("the event data is not valid JSON (byte {0})")]
    Syntax(usize),
    #[error("the event data is nested deeper than {} levels", bounds::DOCUMENT_DEPTH)]
    TooDeep,
}

/// Event data, read once per emit: 16 bytes for each value and key, in one block.
#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    nodes: Vec<reader::Node>,
}

impl<'a> Document<'a> {
    /// Reads `text`, one JSON value (RFC 8259) of at most [`bounds::DOCUMENT_DEPTH`] levels: a scalar has none, each
    /// `[` or `{` is one. Duplicate keys: the last one counts.
    pub fn parse(text: &'a str) -> Result<Document<'a>, DocumentError> {
        Document::parse_within(text, bounds::DOCUMENT_DEPTH)
    }

    /// As [`Document::parse`], with a bound of its own.
    pub(super) fn parse_within(text: &'a str, depth: usize) -> Result<Document<'a>, DocumentError> {
        Ok(Document { text, nodes: reader::read(text, depth)? })
    }

    /// The text as it came.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The whole event data as a value.
    pub fn root(&self) -> Value<'_> {
        Value::new(self, 0)
    }

    /// The first key that a later equal one of the same object replaces.
    pub fn duplicate_key(&self) -> Option<Cow<'_, str>> {
        let key = self.nodes.iter().find(|node| node.hidden)?;
        Some(duplicates::key_text(self.text, key))
    }

    /// Calls `on_value` for every value that an equality on `path` looks at: the values at the path through arrays
    /// (a numeric segment indexes), and where such a value is an array, its elements too.
    ///
    /// Where a way along the path ends early it is called with a missing value, which equals (and hashes as) null:
    /// that is how an equality with null finds it. Ends early once `budget` is spent.
    pub fn for_each_candidate(&self, path: &Path, budget: &CostBudget, on_value: &mut dyn FnMut(Value<'_>)) {
        any_at(self.root(), &path.segments, Leaf::Elements, budget, &mut |value| {
            on_value(value);
            false
        });
    }

    /// Whether `path` leads to at least one value: what `$exists` asks. Means nothing once `budget` is spent.
    pub fn has(&self, path: &Path, budget: &CostBudget) -> bool {
        any_at(self.root(), &path.segments, Leaf::Whole, budget, &mut |value| !value.is_missing())
    }
}

#[cfg(test)]
mod tests;
