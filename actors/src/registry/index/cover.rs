//! A condition as look-ups: a disjunction of (something the index can look up, and what then remains to be checked).
//!
//! Soundness is all: data that meets the condition meets at least one posting's term. So only what must hold for the
//! whole to hold becomes a term, and never an equality that missing data meets too (null). Of a conjunction one part
//! is looked up, the most selective, and the others remain; of a disjunction every branch is. Nothing multiplies out:
//! there are never more postings than a condition has operators and list values, and at most [`POSTINGS`].

use crate::condition::{Condition, Expression, ListItem, Literal, Path, Predicate};
use std::rc::Rc;

/// Postings of one condition at the most; past it a less selective part is looked up instead, in the end none.
/// 128 lets every `$in` through (100 values) and keeps a hostile condition below some 10 KiB.
pub(super) const POSTINGS: usize = 128;

/// Equalities of one conjunction that are weighed against each other. Each costs a few look-ups; a condition
/// whose fifth equality is by far the best is rare.
const WEIGHED: usize = 4;

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

/// One look-up, and what must hold besides.
#[derive(Debug)]
pub(super) struct Posting<'c> {
    pub(super) term: Term<'c>,
    pub(super) rest: Rc<[&'c Expression]>,
}

/// How crowded it is where a posting would go: 0 where an equal subscription already is, else 1 and more.
pub(super) type Weigh<'w> = dyn Fn(&Posting<'_>) -> usize + 'w;

/// A way to look all matches of an expression up.
struct Cover<'c> {
    class: Class,
    weight: usize,
    postings: Vec<Posting<'c>>,
}

/// The look-ups that find everything which meets the condition; at least one, at most [`POSTINGS`].
pub(super) fn cover<'c>(condition: &'c Condition, weigh: &Weigh<'_>) -> Vec<Posting<'c>> {
    let parts = parts_of(&condition.root);
    match best_cover(&parts, &[], weigh) {
        Some(cover) => cover.postings,
        None => vec![Posting { term: Term::Always, rest: parts.into() }],
    }
}

/// Covers the conjunction of `parts` by one of them; `outer` are further conditions that only remain to be checked.
/// `None`: there is no part that the index can look up.
fn best_cover<'c>(parts: &[&'c Expression], outer: &[&'c Expression], weigh: &Weigh<'_>) -> Option<Cover<'c>> {
    let best = best_field(parts, outer, weigh);
    if best.as_ref().is_some_and(|best| best.class == Class::Equal) {
        return best;
    }
    let mut best = best;
    for (position, part) in parts.iter().enumerate() {
        if let Expression::Or(branches) = part {
            let rest = rest_of(parts, Some(position), outer);
            let candidate = cover_branches(branches, &rest, weigh);
            best = better(best, candidate);
        }
    }
    best
}

fn best_field<'c>(parts: &[&'c Expression], outer: &[&'c Expression], weigh: &Weigh<'_>) -> Option<Cover<'c>> {
    let mut best = None;
    let mut weighed = 0;
    for (position, part) in parts.iter().enumerate() {
        let Expression::Field { path, predicate } = part else {
            continue;
        };
        let Some((terms, exact)) = terms_of(path, predicate) else {
            continue;
        };
        weighed += usize::from(class_of(&terms) == Class::Equal);
        if weighed > WEIGHED {
            break;
        }
        let rest = rest_of(parts, exact.then_some(position), outer).into();
        best = better(best, Some(Cover::new(terms, rest, weigh)));
    }
    best
}

/// Covers a disjunction: every branch must have a cover.
fn cover_branches<'c>(branches: &'c [Expression], outer: &[&'c Expression], weigh: &Weigh<'_>) -> Option<Cover<'c>> {
    let mut all: Option<Cover<'c>> = None;
    for branch in branches {
        let cover = best_cover(&parts_of(branch), outer, weigh)?;
        let all = all.get_or_insert(Cover { class: cover.class, weight: 0, postings: Vec::new() });
        all.class = all.class.max(cover.class);
        all.weight += cover.weight;
        all.postings.extend(cover.postings);
        if all.postings.len() > POSTINGS {
            return None;
        }
    }
    all
}

impl<'c> Cover<'c> {
    fn new(terms: Vec<Term<'c>>, rest: Rc<[&'c Expression]>, weigh: &Weigh<'_>) -> Self {
        let class = class_of(&terms);
        let postings = terms.into_iter().map(|term| Posting { term, rest: Rc::clone(&rest) });
        let postings: Vec<Posting<'c>> = postings.collect();
        Cover { class, weight: postings.iter().map(weigh).sum(), postings }
    }
}

/// The more selective one; of two alike the first, so that equal conditions are covered alike.
fn better<'c>(first: Option<Cover<'c>>, second: Option<Cover<'c>>) -> Option<Cover<'c>> {
    match (first, second) {
        (Some(first), Some(second)) => {
            let second_wins = (second.class, second.weight) < (first.class, first.weight);
            Some(if second_wins { second } else { first })
        }
        (first, second) => first.or(second),
    }
}

/// The parts of a conjunction, nested ones included.
fn parts_of(expression: &Expression) -> Vec<&Expression> {
    fn gather<'c>(expression: &'c Expression, parts: &mut Vec<&'c Expression>) {
        match expression {
            Expression::And(items) => items.iter().for_each(|item| gather(item, parts)),
            other => parts.push(other),
        }
    }
    let mut parts = Vec::new();
    gather(expression, &mut parts);
    parts
}

/// `outer` and the parts, less the one that the look-up answers wholly.
fn rest_of<'c>(parts: &[&'c Expression], answered: Option<usize>, outer: &[&'c Expression]) -> Vec<&'c Expression> {
    let others = parts.iter().enumerate();
    let others = others.filter(|(position, _)| Some(*position) != answered);
    outer.iter().copied().chain(others.map(|(_, part)| *part)).collect()
}

fn class_of(terms: &[Term<'_>]) -> Class {
    terms.iter().map(Term::class).max().unwrap_or(Class::Always)
}

impl Term<'_> {
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
fn terms_of<'c>(path: &'c Path, predicate: &'c Predicate) -> Option<(Vec<Term<'c>>, bool)> {
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
