//! Event data, parsed into a tape of nodes over its JSON text. Values are copied or converted only on demand.

mod duplicates;
mod node;
mod paths;
mod reader;
mod text;
mod value;

pub(super) use paths::{Leaf, any_at, any_in_element};
pub use value::{Kind, Value};

use super::{CostBudget, Path, bounds};
use node::Node;
use std::borrow::Cow;

/// Why event data was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("the event data is not valid JSON (byte {0})")]
    Syntax(usize),
    #[error("the event data is nested deeper than {} levels", bounds::DOCUMENT_DEPTH)]
    TooDeep,
}

/// Event data, parsed once per emit. Takes 16 bytes for each value and key, in one allocation.
#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    nodes: Vec<Node>,
}

impl<'a> Document<'a> {
    /// Parses one JSON value (RFC 8259) with at most [`bounds::DOCUMENT_DEPTH`] levels. A scalar has none; each `[` or
    /// `{` is one. Of duplicate keys, the last one counts.
    pub fn parse(text: &'a str) -> Result<Document<'a>, DocumentError> {
        Document::parse_within(text, bounds::DOCUMENT_DEPTH)
    }

    /// Like [`Document::parse`], with another limit of levels.
    pub(super) fn parse_within(text: &'a str, depth: usize) -> Result<Document<'a>, DocumentError> {
        Ok(Document { text, nodes: reader::read(text, depth)? })
    }

    /// The original text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The whole event data as a value.
    pub fn root(&self) -> Value<'_> {
        Value::new(self, 0)
    }

    /// The first key that a later key of the same object replaces.
    pub fn duplicate_key(&self) -> Option<Cow<'_, str>> {
        let key = self.nodes.iter().find(|node| node.hidden)?;
        Some(key.content(self.text))
    }

    /// Calls `on_value` for every value that an equality on `path` compares: the values at the path, and if such a
    /// value is an array, its elements too.
    ///
    /// If the path ends early somewhere, it is called with a missing value, which equals null and hashes as null. So an
    /// equality with null finds it. Stops once `budget` is exhausted.
    pub fn for_each_candidate(&self, path: &Path, budget: &CostBudget, on_value: &mut dyn FnMut(Value<'_>)) {
        any_at(self.root(), &path.segments, Leaf::Elements, budget, &mut |value| {
            on_value(value);
            false
        });
    }

    /// Whether `path` leads to at least one value, as `$exists` needs it. Meaningless once `budget` is exhausted.
    pub fn has(&self, path: &Path, budget: &CostBudget) -> bool {
        any_at(self.root(), &path.segments, Leaf::Whole, budget, &mut |value| !value.is_missing())
    }
}

#[cfg(test)]
mod tests;
