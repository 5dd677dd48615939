//! Conditions: which event data a subscription receives, as a MongoDB query.
//!
//! Pure: knows no socket, actor or driver. `parse` turns a client's criteria into a [`Condition`] within [`bounds`],
//! `matches` evaluates it on a [`document::Document`], and `selection` cuts out the fields to deliver.
//! `registry/index/` finds the conditions that may match without evaluating all of them.

mod budget;
mod canonical;
mod compare;
pub mod document;
mod excerpt;
mod matches;
pub mod number;
mod parse;
pub mod selection;

pub use budget::CostBudget;
use number::Number;

/// Limits of a condition (docs/protocol.md §5). Criteria above one of them are refused with `CONDITION_TOO_LARGE`.
pub mod bounds {
    /// Levels of nesting in criteria.
    pub const DEPTH: usize = 16;
    /// Operators (`$…` keys and implicit equalities) in criteria.
    pub const OPERATORS: usize = 64;
    /// Bytes of criteria text.
    pub const TEXT_BYTES: usize = 4096;
    /// Values in one `$in`, `$nin` or `$all`.
    pub const LIST_VALUES: usize = 100;
    /// Segments of one dotted path: the depth of event data.
    pub const PATH_SEGMENTS: usize = DOCUMENT_DEPTH;
    /// Approximate size of all compiled patterns of one condition, in bytes.
    pub const PATTERN_BYTES: usize = 48 * 1024;
    /// Characters in brackets of case-insensitive patterns. All Chinese characters (20,992) fit. Each takes 7 ns.
    pub const FOLDED_CHARACTERS: usize = 32 * 1024;
    /// Cost units that a condition may spend on one emit; one unit takes at most 0.1 µs. A value at a path costs one
    /// unit and one per 8 bytes of the value. Stepping over 16 array elements or object keys costs one. A pattern costs
    /// `Pattern::cost_per_byte` for each byte of text. Above the limit, the condition's subscriptions receive `GAP`.
    /// The limit is enough to look at every value of the longest emit (256 KiB) four times.
    pub const CONDITION_COST: usize = 1 << 19;
    /// Cost units that each lookup and each condition may always spend on an emit, whatever the others spend. Most need
    /// a tenth of it, so cheap conditions match even next to too expensive ones.
    pub const GUARANTEED_COST: usize = 128;
    /// Further cost units that all lookups of an emit may spend together, and the same again for all conditions: at
    /// most 0.1 s each.
    pub const EMIT_COST: usize = 2 * CONDITION_COST;
    /// Bytes of a compiled pattern that cost one unit per byte of text. A pattern that defeats every optimization takes
    /// 0.1 µs per byte of text for each `PATTERN_COST_BYTES` of its size.
    pub const PATTERN_COST_BYTES: usize = 512;
    /// Levels of nesting in event data.
    pub const DOCUMENT_DEPTH: usize = 128;
}

/// Why criteria were refused. The message says what to write instead. It repeats at most two keys of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// Not a condition: an unknown operator, a wrong operand, not an object. Answered `CONDITION_INVALID`.
    #[error("{0}")]
    Invalid(String),
    /// Above one of the [`bounds`]. Answered `CONDITION_TOO_LARGE`.
    #[error("{0}")]
    TooLarge(String),
}

/// A dotted path (`items.0.sku`), at least one segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    pub segments: Box<[Segment]>,
}

/// One step of a [`Path`]: a field name, which on an array may also be an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    pub name: Box<str>,
    /// The name as an array index, if it is a canonical decimal number (`0`, `17`; not `01`).
    pub index: Option<u32>,
}

/// A JSON value in a condition, in canonical form: literals that MongoDB treats as equal are equal and have equal
/// hashes (`1 == 1.0`; objects with their keys in order).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    Null,
    Bool(bool),
    Number(Number),
    String(Box<str>),
    Array(Box<[Literal]>),
    Object(Box<[(Box<str>, Literal)]>),
}

/// The types that `$type` takes: those of MongoDB that JSON has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonType {
    Null,
    Bool,
    /// Any number (`"number"`).
    Number,
    /// A whole number of 32 bits (`"int"`) or 64 bits (`"long"`), or any other number (`"double"`). The notation
    /// decides, as when JSON is converted to BSON: `1.0` is a double.
    Int,
    Long,
    Double,
    String,
    Object,
    Array,
}

/// A compiled regular expression that matches in linear time. Patterns are equal if their text and options are equal.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The pattern with its options in front (`(?i)^abc`). Equality and hash use it.
    pub text: Box<str>,
    pub regex: regex::Regex,
    /// Its cost per byte of text ([`bounds::PATTERN_COST_BYTES`]).
    pub cost_per_byte: usize,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl Eq for Pattern {}
impl std::hash::Hash for Pattern {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// One element of `$in`, `$nin` or `$all`: a value, or a pattern, which is written as an object with `$regex`.
///
/// Lists are sorted, with values first and without duplicates: `$in: [2, 1]` and `$in: [1, 2, 2]` are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListItem {
    Value(Literal),
    Pattern(Pattern),
}

/// A predicate on the values at one path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    Eq(Literal),
    Ne(Literal),
    Gt(Literal),
    Gte(Literal),
    Lt(Literal),
    Lte(Literal),
    In(Box<[ListItem]>),
    Nin(Box<[ListItem]>),
    Exists(bool),
    Type(Box<[JsonType]>),
    Size(u64),
    /// Every item matches (an empty list matches nothing).
    All(Box<[ListItem]>),
    /// `$all` of `$elemMatch` objects: each one is matched by some element.
    AllElemMatch(Box<[ElemMatch]>),
    ElemMatch(Box<ElemMatch>),
    Regex(Pattern),
    Mod {
        divisor: i64,
        remainder: i64,
    },
    /// `$not`: true if the conjunction of these predicates is false.
    Not(Box<[Predicate]>),
}

/// What one element of an array must match.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ElemMatch {
    /// Criteria over an element that is an object.
    Criteria(Expression),
    /// Operators over the element itself (`{$elemMatch: {$gt: 1, $lt: 5}}`).
    Predicates(Box<[Predicate]>),
}

/// Criteria as a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expression {
    /// All must match. An empty conjunction matches everything.
    And(Box<[Expression]>),
    Or(Box<[Expression]>),
    Nor(Box<[Expression]>),
    Field {
        path: Path,
        predicate: Predicate,
    },
}

/// Parsed criteria. Equal conditions are equal values and can be interned.
///
/// See [`Condition::parse`] and [`Condition::matches`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    pub root: Expression,
}
