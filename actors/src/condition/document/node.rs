//! One node of the tape that a [`super::Document`] consists of.

use super::text::decode;
use std::borrow::Cow;

/// The index of no node: the parent of the root, and the index of a missing value.
pub(super) const NONE: u32 = u32::MAX;

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
}

/// A value or a key. Nodes have the order of the text: a container comes before its contents, a key before its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The first byte in the text, quotes and brackets included.
    pub start: u32,
    /// The end in the text.
    pub end: u32,
    /// The index of the node after this one and its contents. While a container is open: its parent.
    pub next: u32,
    pub tag: Tag,
    /// A string that contains escapes.
    pub escaped: bool,
    /// A key that a later key of the same object replaces.
    pub hidden: bool,
}

impl Node {
    /// The decoded content of a string or key.
    pub(super) fn content<'a>(&self, text: &'a str) -> Cow<'a, str> {
        decode(&text[self.start as usize + 1..self.end as usize - 1], self.escaped)
    }
}
