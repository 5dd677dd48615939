//! Equality and order of values in MongoDB's BSON comparison order: null, numbers, strings, objects, arrays, booleans.
//! Objects are compared field by field: by type, then name, then value.

use super::document::{Kind, Value};
use super::number::Number;
use super::{ListItem, Literal};
use std::cmp::Ordering;

impl Literal {
    /// Its type.
    pub fn kind(&self) -> Kind {
        match self {
            Literal::Null => Kind::Null,
            Literal::Bool(_) => Kind::Bool,
            Literal::Number(_) => Kind::Number,
            Literal::String(_) => Kind::String,
            Literal::Array(_) => Kind::Array,
            Literal::Object(_) => Kind::Object,
        }
    }

    /// MongoDB's total order, in which two literals are equal exactly if they are `==`. Range operators compare within
    /// one type only ([`Literal::kind`]).
    pub fn order(&self, other: &Literal) -> Ordering {
        match (self, other) {
            (Literal::Bool(left), Literal::Bool(right)) => left.cmp(right),
            (Literal::Number(left), Literal::Number(right)) => left.cmp(right),
            (Literal::String(left), Literal::String(right)) => left.cmp(right),
            (Literal::Array(left), Literal::Array(right)) => {
                order_all(left.iter(), right.iter(), |left, right| left.order(right))
            }
            (Literal::Object(left), Literal::Object(right)) => order_all(left.iter(), right.iter(), |left, right| {
                rank(left.1.kind())
                    .cmp(&rank(right.1.kind()))
                    .then_with(|| left.0.cmp(&right.0))
                    .then_with(|| left.1.order(&right.1))
            }),
            _ => rank(self.kind()).cmp(&rank(other.kind())),
        }
    }
}

impl Value<'_> {
    /// Whether they are equal in MongoDB. A missing value equals null.
    pub fn equals(&self, literal: &Literal) -> bool {
        match literal {
            Literal::String(text) => self.is_text(text),
            _ => self.kind() == literal.kind() && self.order(literal).is_eq(),
        }
    }

    /// Like [`Literal::order`], without creating a literal of the value.
    pub fn order(&self, literal: &Literal) -> Ordering {
        // Recursion is bounded by the depth of the literal.
        match literal {
            Literal::Bool(right) if self.kind() == Kind::Bool => self.as_bool().cmp(&Some(*right)),
            Literal::Number(right) if self.kind() == Kind::Number => self.as_number().as_ref().cmp(&Some(right)),
            Literal::String(right) if self.kind() == Kind::String => self.as_str().as_deref().cmp(&Some(right)),
            Literal::Array(right) if self.kind() == Kind::Array => {
                order_all(self.elements(), right.iter(), |left, right| left.order(right))
            }
            Literal::Object(right) if self.kind() == Kind::Object => {
                order_all(self.fields(), right.iter(), |(key, value), right| {
                    rank(value.kind())
                        .cmp(&rank(right.1.kind()))
                        .then_with(|| key.as_str().as_deref().cmp(&Some(&right.0)))
                        .then_with(|| value.order(&right.1))
                })
            }
            _ => rank(self.kind()).cmp(&rank(literal.kind())),
        }
    }
}

/// Sorts list items for [`position_in`]: values by [`Literal::order`], then patterns by their text. Removes duplicates.
pub(super) fn normalize(mut items: Vec<ListItem>) -> Box<[ListItem]> {
    items.sort_by(|left, right| match (left, right) {
        (ListItem::Value(left), ListItem::Value(right)) => left.order(right),
        (ListItem::Value(_), ListItem::Pattern(_)) => Ordering::Less,
        (ListItem::Pattern(_), ListItem::Value(_)) => Ordering::Greater,
        (ListItem::Pattern(left), ListItem::Pattern(right)) => left.text.cmp(&right.text),
    });
    items.dedup();
    items.into_boxed_slice()
}

/// The position of the item that equals the value, in a list sorted by [`normalize`]. Ignores patterns.
pub(super) fn position_in(items: &[ListItem], value: &Value<'_>) -> Option<usize> {
    let search = |order: &dyn Fn(&Literal) -> Ordering| {
        items.binary_search_by(|item| match item {
            ListItem::Value(literal) => order(literal),
            ListItem::Pattern(_) => Ordering::Greater,
        })
    };
    let found = match value.as_number() {
        Some(number) => search(&|literal| order_number(literal, &number)),
        None => search(&|literal| value.order(literal).reverse()),
    };
    found.ok()
}

/// The number in the document is parsed once for the whole search.
fn order_number(literal: &Literal, number: &Number) -> Ordering {
    match literal {
        Literal::Number(left) => left.cmp(number),
        other => rank(other.kind()).cmp(&rank(Kind::Number)),
    }
}

fn order_all<L, R>(
    mut left: impl Iterator<Item = L>,
    mut right: impl Iterator<Item = R>,
    mut order: impl FnMut(L, R) -> Ordering,
) -> Ordering {
    loop {
        let by_one = match (left.next(), right.next()) {
            (Some(left), Some(right)) => order(left, right),
            (Some(_), None) => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (None, None) => return Ordering::Equal,
        };
        if by_one.is_ne() {
            return by_one;
        }
    }
}

fn rank(kind: Kind) -> u8 {
    match kind {
        Kind::Null => 0,
        Kind::Number => 1,
        Kind::String => 2,
        Kind::Object => 3,
        Kind::Array => 4,
        Kind::Bool => 5,
    }
}
