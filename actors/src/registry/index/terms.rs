//! What of a single predicate can be looked up.
//!
//! Only what must hold for the predicate to hold becomes a term, and never an equality that missing data meets too
//! (null). `$ne`, `$nin`, `$not` and what stands inside `$elemMatch` never do.

use crate::condition::{ListItem, Literal, Path, Predicate};

/// Kinds of look-up, the most selective first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    /// One hash look-up per value at the path.
    Equal,
    /// A walk over the bounds that the values at the path meet.
    Ranged,
    /// Every emit with something at the path.
    Present,
    /// Every emit.
    Always,
}

/// Which end of a range a bound is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Lower,
    Upper,
}

/// What is looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Term<'c> {
    /// The path has this value, which is not null.
    Equal(&'c Path, &'c Literal),
    /// The path has a number or string within this bound.
    Ranged {
        path: &'c Path,
        side: Side,
        inclusive: bool,
        bound: &'c Literal,
    },
    /// The path leads somewhere.
    Present(&'c Path),
    Always,
}

impl<'c> Term<'c> {
    /// Where it looks, if it looks anywhere.
    pub(super) fn path(&self) -> Option<&'c Path> {
        match self {
            Term::Equal(path, _) | Term::Ranged { path, .. } | Term::Present(path) => Some(path),
            Term::Always => None,
        }
    }

    pub(super) fn class(&self) -> Class {
        match self {
            Term::Equal(..) => Class::Equal,
            Term::Ranged { .. } => Class::Ranged,
            Term::Present(_) => Class::Present,
            Term::Always => Class::Always,
        }
    }
}

/// Terms of which one holds whenever the predicate does, and whether the reverse is true too. `None`: data without
/// the path may meet the predicate.
pub(super) fn terms_of<'c>(path: &'c Path, predicate: &'c Predicate) -> Option<(Vec<Term<'c>>, bool)> {
    let present = Some((vec![Term::Present(path)], false));
    match predicate {
        Predicate::Eq(Literal::Null) => None,
        Predicate::Eq(value) => Some((vec![Term::Equal(path, value)], true)),
        Predicate::In(items) => match values_of(items) {
            Some(values) if !values.is_empty() => {
                let terms = values.into_iter().map(|value| Term::Equal(path, value));
                Some((terms.collect(), true))
            }
            _ if items.iter().any(is_null) => None,
            _ => present,
        },
        // Every item must be there: one that is a value will do.
        Predicate::All(items) => match items.iter().find_map(value_of) {
            Some(value) => Some((vec![Term::Equal(path, value)], false)),
            None if items.iter().all(is_null) => None,
            None => present,
        },
        Predicate::Gt(bound) => range_of(path, Side::Lower, false, bound),
        Predicate::Gte(bound) => range_of(path, Side::Lower, true, bound),
        Predicate::Lt(bound) => range_of(path, Side::Upper, false, bound),
        Predicate::Lte(bound) => range_of(path, Side::Upper, true, bound),
        Predicate::Exists(true) => Some((vec![Term::Present(path)], true)),
        Predicate::Type(_)
        | Predicate::Size(_)
        | Predicate::AllElemMatch(_)
        | Predicate::ElemMatch(_)
        | Predicate::Regex(_)
        | Predicate::Mod { .. } => present,
        Predicate::Ne(_) | Predicate::Nin(_) | Predicate::Exists(false) | Predicate::Not(_) => None,
    }
}

/// Numbers and strings are ordered; of the other types a bound only says that there must be something.
fn range_of<'c>(path: &'c Path, side: Side, inclusive: bool, bound: &'c Literal) -> Option<(Vec<Term<'c>>, bool)> {
    match bound {
        Literal::Null => None,
        Literal::Number(_) | Literal::String(_) => {
            let term = Term::Ranged { path, side, inclusive, bound };
            Some((vec![term], true))
        }
        _ => Some((vec![Term::Present(path)], false)),
    }
}

/// The items, if every one is a value and none is null.
fn values_of(items: &[ListItem]) -> Option<Vec<&Literal>> {
    items.iter().map(value_of).collect()
}

fn value_of(item: &ListItem) -> Option<&Literal> {
    match item {
        ListItem::Value(Literal::Null) | ListItem::Pattern(_) => None,
        ListItem::Value(value) => Some(value),
    }
}

fn is_null(item: &ListItem) -> bool {
    matches!(item, ListItem::Value(Literal::Null))
}
