//! Index terms of a single predicate.
//!
//! A predicate has a term only if all data that matches the predicate matches the term. There is never a term for an
//! equality that missing data matches too (null), for `$ne`, `$nin` and `$not`, or for what is inside `$elemMatch`.

use crate::condition::{ListItem, Literal, Path, Predicate};

/// Kinds of index terms, the most selective first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TermKind {
    /// One hash lookup per value at the path.
    Equal,
    /// A scan of the bounds that the values at the path match.
    Ranged,
    /// Matches every emit that has a value at the path.
    Present,
    /// Matches every emit.
    Always,
}

/// Whether a bound is the lower or the upper end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Lower,
    Upper,
}

/// An index term.
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
    /// The path has a value.
    Present(&'c Path),
    Always,
}

impl<'c> Term<'c> {
    /// The path of the term, unless it is `Always`.
    pub(super) fn path(&self) -> Option<&'c Path> {
        match self {
            Term::Equal(path, _) | Term::Ranged { path, .. } | Term::Present(path) => Some(path),
            Term::Always => None,
        }
    }

    pub(super) fn kind(&self) -> TermKind {
        match self {
            Term::Equal(..) => TermKind::Equal,
            Term::Ranged { .. } => TermKind::Ranged,
            Term::Present(_) => TermKind::Present,
            Term::Always => TermKind::Always,
        }
    }
}

/// Terms of which at least one matches whenever the predicate matches, and whether the reverse is also true. `None` if
/// data without the path may match the predicate.
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
        // Every item must be present, so the term of one value is enough.
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

/// Numbers and strings have range terms. For other types, a bound only implies that the path has a value.
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

/// The values of the items, if every item is a value and none is null.
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
