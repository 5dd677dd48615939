//! A value of a [`Document`]: its type, its contents and its hash.

use super::Document;
use super::node::{NONE, Node, Tag};
use crate::condition::Literal;
use crate::condition::number::Number;
use std::borrow::Cow;
use std::fmt;
use std::hash::Hasher;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// A value in a [`Document`]. Two words, cheap to copy.
///
/// A path that leads nowhere has a missing value: its type is [`Kind::Null`], and [`Value::is_missing`] is true.
#[derive(Clone, Copy)]
pub struct Value<'d> {
    document: &'d Document<'d>,
    index: u32,
}

impl<'d> Value<'d> {
    pub(super) fn new(document: &'d Document<'d>, index: u32) -> Value<'d> {
        Value { document, index }
    }

    /// The type. Null if the value is missing.
    pub fn kind(&self) -> Kind {
        match self.node().map(|node| node.tag) {
            None | Some(Tag::Null) => Kind::Null,
            Some(Tag::False | Tag::True) => Kind::Bool,
            Some(Tag::Number) => Kind::Number,
            Some(Tag::String) => Kind::String,
            Some(Tag::Array) => Kind::Array,
            Some(Tag::Object) => Kind::Object,
        }
    }

    /// Whether the value is missing.
    pub fn is_missing(&self) -> bool {
        self.index == NONE
    }

    /// The original text of the value. Empty if the value is missing.
    pub fn raw(&self) -> &'d str {
        match self.node() {
            Some(node) => &self.document.text()[node.start as usize..node.end as usize],
            None => "",
        }
    }

    /// The value of a bool.
    pub fn as_bool(&self) -> Option<bool> {
        match self.node()?.tag {
            Tag::True => Some(true),
            Tag::False => Some(false),
            _ => None,
        }
    }

    /// The exact value of a number.
    pub fn as_number(&self) -> Option<Number> {
        match self.kind() {
            Kind::Number => Number::parse(self.raw()),
            _ => None,
        }
    }

    /// The decoded content of a string.
    pub fn as_str(&self) -> Option<Cow<'d, str>> {
        let node = self.node().filter(|node| node.tag == Tag::String)?;
        Some(node.content(self.document.text()))
    }

    /// The elements of an array, in order. Empty for other types.
    pub fn elements(&self) -> impl Iterator<Item = Value<'d>> + use<'d> {
        let document = self.document;
        let (mut at, end) = self.inside(Tag::Array);
        std::iter::from_fn(move || {
            let value = Value::new(document, at);
            at = value.node().filter(|_| at < end)?.next;
            Some(value)
        })
    }

    /// The element at an index of an array.
    pub fn element(&self, index: u32) -> Option<Value<'d>> {
        self.elements().nth(index as usize)
    }

    /// The keys and values of an object in the order of the text, without hidden keys. Empty for other types.
    pub fn fields(&self) -> impl Iterator<Item = (Value<'d>, Value<'d>)> + use<'d> {
        let document = self.document;
        let (mut at, end) = self.inside(Tag::Object);
        std::iter::from_fn(move || {
            while at < end {
                let (key, value) = (Value::new(document, at), Value::new(document, at + 1));
                at = value.node()?.next;
                if !key.node()?.hidden {
                    return Some((key, value));
                }
            }
            None
        })
    }

    /// The value of a field of an object. Of duplicate keys, the last one counts.
    pub fn field(&self, name: &str) -> Option<Value<'d>> {
        self.fields().find(|(key, _)| key.is_text(name)).map(|(_, value)| value)
    }

    /// Whether the value is a string with the content `text`.
    pub fn is_text(&self, text: &str) -> bool {
        match self.node() {
            Some(node) if node.tag == Tag::String => {
                if node.escaped {
                    node.content(self.document.text()) == text
                } else {
                    let raw = self.raw();
                    raw.len() == text.len() + 2 && raw[1..raw.len() - 1] == *text
                }
            }
            _ => false,
        }
    }

    /// An independent copy. Takes memory in proportion to the length of the value.
    pub fn to_literal(&self) -> Literal {
        // Recursion is bounded by the depth of documents.
        match self.kind() {
            Kind::Null => Literal::Null,
            Kind::Bool => Literal::Bool(self.as_bool() == Some(true)),
            Kind::Number => self.as_number().map_or(Literal::Null, Literal::Number),
            Kind::String => Literal::String(self.as_str().unwrap_or_default().into()),
            Kind::Array => Literal::Array(self.elements().map(|value| value.to_literal()).collect()),
            Kind::Object => Literal::Object(
                self.fields()
                    .map(|(key, value)| (key.as_str().unwrap_or_default().into(), value.to_literal()))
                    .collect(),
            ),
        }
    }

    /// The number or string, as a key for range lookups. `None` for other types.
    pub fn ordered(&self) -> Option<Literal> {
        match self.kind() {
            Kind::Number | Kind::String => Some(self.to_literal()),
            _ => None,
        }
    }

    /// Hashes the canonical form. Values that are equal in MongoDB have the same hash, also with
    /// [`Literal::hash_canonical`]. A missing value hashes as null.
    pub fn hash_canonical<H: Hasher>(&self, state: &mut H) {
        // Recursion is bounded by the depth of documents.
        use crate::condition::canonical as hash;
        match self.kind() {
            Kind::Null => hash::null(state),
            Kind::Bool => hash::bool(self.as_bool() == Some(true), state),
            Kind::Number => {
                if let Some(number) = self.as_number() {
                    hash::number(&number, state);
                }
            }
            Kind::String => hash::string(&self.as_str().unwrap_or_default(), state),
            Kind::Array => {
                hash::array(self.elements().count(), state);
                for element in self.elements() {
                    element.hash_canonical(state);
                }
            }
            Kind::Object => {
                hash::object(self.fields().count(), state);
                for (key, value) in self.fields() {
                    hash::string(&key.as_str().unwrap_or_default(), state);
                    value.hash_canonical(state);
                }
            }
        }
    }

    /// The missing value.
    pub(super) fn missing(&self) -> Value<'d> {
        Value::new(self.document, NONE)
    }

    /// The position in the document, which differs for each value.
    pub(super) fn position(&self) -> u32 {
        self.index
    }

    fn node(&self) -> Option<&'d Node> {
        self.document.nodes.get(self.index as usize)
    }

    /// The range of the contents if the value is a `tag`. Otherwise an empty range.
    fn inside(&self, tag: Tag) -> (u32, u32) {
        match self.node() {
            Some(node) if node.tag == tag => (self.index + 1, node.next),
            _ => (0, 0),
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_missing() { "missing" } else { self.raw() })
    }
}
