//! Conditions: which event data a subscription wants to be told, in MongoDB query form.
//!
//! Pure: knows no socket, actor or driver. `parse` makes a [`Condition`] from a client's criteria within
//! [`bounds`], `matches` evaluates one against a [`document::Document`], `selection` cuts the told fields out.
//! The neighbour `registry/index/` finds the conditions that may match without trying each.

mod budget;
mod canonical;
mod compare;
pub mod document;
mod matches;
pub mod number;
mod parse;
pub mod selection;

pub use budget::CostBudget;
use number::Number;

/// The bounds of what a client may ask (docs/protocol.md §5). Past one: `CONDITION_TOO_LARGE`.
pub mod bounds {
    /// Levels of nesting in criteria.
    pub const DEPTH: usize = 16;
    /// Operators (`$…` keys and implicit equalities) in criteria.
    pub const OPERATORS: usize = 64;
    /// Bytes of criteria text.
    pub const TEXT_BYTES: usize = 4096;
    /// Values in one `$in`, `$nin` or `$all`.
    pub const LIST_VALUES: usize = 100;
    /// Segments of one dotted path: as deep as event data goes.
    pub const PATH_SEGMENTS: usize = DOCUMENT_DEPTH;
    /// Bytes that the compiled patterns of one condition take together, about.
    pub const PATTERN_BYTES: usize = 48 * 1024;
    /// Letters in brackets of patterns that ignore case: all of Chinese (20,992) fit. Each costs 7 ns.
    pub const FOLDED_LETTERS: usize = 32 * 1024;
    /// Steps that a condition may take on one emit, 0.1 µs each at the most: one for a value at a path and each 8 bytes
    /// of it, one for 16 elements or keys that a path passes, and one for a byte of text that a pattern is tried on, times
    /// the pattern's weight. Past them its subscriptions are told `GAP`. They are enough to look at every value of the
    /// longest emit (256 KiB) four times.
    pub const CONDITION_COST: usize = 1 << 19;
    /// Steps that each look-up and each condition may take on any emit, whatever the others take. Most need a tenth of
    /// them: what is cheap is told even while others ask for too much.
    pub const GUARANTEED_COST: usize = 128;
    /// Steps that all look-ups of an emit may take together besides, and all conditions as many again: 0.1 s at the most.
    pub const EMIT_COST: usize = 2 * CONDITION_COST;
    /// Bytes of a compiled pattern that weigh one. A pattern that is made to defeat every optimisation takes 0.1 µs
    /// for a byte of text and this much of it.
    pub const PATTERN_COST_BYTES: usize = 512;
    /// Levels of nesting in event data.
    pub const DOCUMENT_DEPTH: usize = 128;
}

/// Why criteria were refused. The message says what to do and never repeats more than a key of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// Not a condition: an unknown operator, a wrong operand, not an object. Answered `CONDITION_INVALID`.
    #[error("{0}")]
    Invalid(String),
    /// Past one of the [`bounds`]. Answered `CONDITION_TOO_LARGE`.
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
    /// The array index that the name spells, if it is a canonical decimal (`0`, `17`; not `01`).
    pub index: Option<u32>,
}

/// A JSON value in a condition, canonical: two literals that are equal to MongoDB are equal here and hash alike
/// (`1 == 1.0`; objects with their keys in order).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    Null,
    Bool(bool),
    Number(Number),
    String(Box<str>),
    Array(Box<[Literal]>),
    Object(Box<[(Box<str>, Literal)]>),
}

/// The JSON type names that `$type` takes (MongoDB's aliases and numbers, as far as JSON has them).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonType {
    Null,
    Bool,
    /// Any number (`"number"`).
    Number,
    /// A whole number in 32 bits (`"int"`), in 64 bits (`"long"`), any other (`"double"`): by how it is written (`1.0` is a
    /// double), as a JSON reader into BSON types it.
    Int,
    Long,
    Double,
    String,
    Object,
    Array,
}

/// A compiled regular expression (linear time); equal when its pattern and options are equal.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The pattern with its options in front (`(?i)^abc`): what equality and hashing look at.
    pub text: Box<str>,
    pub regex: regex::Regex,
    /// What it may cost on a byte of text ([`bounds::PATTERN_COST_BYTES`]).
    pub weight: usize,
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

/// One element of `$in`, `$nin` or `$all`: a value, or (written as an object with `$regex`) a pattern.
///
/// Lists are in order, values first, none twice: `$in: [2, 1]` and `$in: [1, 2, 2]` are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListItem {
    Value(Literal),
    Pattern(Pattern),
}

/// What is asked of one path.
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
    /// `$all` of `$elemMatch`es: every one of them is met by some element.
    AllElemMatch(Box<[ElemMatch]>),
    ElemMatch(Box<ElemMatch>),
    Regex(Pattern),
    Mod {
        divisor: i64,
        remainder: i64,
    },
    /// None of these predicates together hold: `$not: {…}` is true when their conjunction is false.
    Not(Box<[Predicate]>),
}

/// What one element of an array must meet.
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
    /// All hold; an empty one matches everything.
    And(Box<[Expression]>),
    Or(Box<[Expression]>),
    Nor(Box<[Expression]>),
    Field {
        path: Path,
        predicate: Predicate,
    },
}

/// Parsed criteria. Equal conditions are equal values, so that they can be interned.
///
/// [`Condition::parse`] reads and bounds them; [`Condition::matches`] evaluates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    pub root: Expression,
}
