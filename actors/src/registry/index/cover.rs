//! A condition as look-ups: a disjunction of (something the index can look up, and what then remains to be checked).
//!
//! Soundness is all: data that meets the condition meets at least one posting's term (`terms`) and all that remains
//! of it. Of a conjunction one part is looked up, the most selective, and the others remain; of a disjunction every
//! branch is. Nothing multiplies out: there are never more postings than a condition has operators and list values,
//! and at most [`POSTINGS`], on at most [`PATHS`] paths.

use super::terms::{Class, Term, terms_of};
use crate::condition::{Condition, Expression, Path};
use std::rc::Rc;

/// Postings of one condition at the most; past it a less selective part is looked up instead, in the end none.
/// 128 lets every `$in` through (100 values) and keeps a hostile condition below some 10 KiB.
pub(super) const POSTINGS: usize = 128;

/// Paths that one condition may add to what every emit of its channel looks up. A disjunction of 62 paths to one array of
/// 130,000 numbers took two seconds of an emit; to try it takes what `bounds::STEPS` allow.
const PATHS: usize = 8;

/// Equalities of one conjunction that are weighed against each other. Each costs a few look-ups; a condition
/// whose fifth equality is by far the best is rare.
const WEIGHED: usize = 4;

/// One look-up, and what must hold besides. Postings that share what remains share the list.
#[derive(Clone, Debug)]
pub(super) struct Posting<'c> {
    pub(super) term: Term<'c>,
    pub(super) rest: Rc<[&'c Expression]>,
}

/// How crowded it is where these terms with this rest would go: 0 where equal subscriptions already are, else more.
pub(super) type Weigh<'w> = dyn Fn(&[Term<'_>], &[&Expression]) -> usize + 'w;

/// A way to look all matches of an expression up.
struct Cover<'c> {
    class: Class,
    weight: usize,
    postings: Vec<Posting<'c>>,
}

/// The look-ups that find everything which meets the condition; at least one, at most [`POSTINGS`].
pub(super) fn cover<'c>(condition: &'c Condition, weigh: &Weigh<'_>) -> Vec<Posting<'c>> {
    let parts = parts_of(&condition.root);
    match best_cover(&parts, weigh) {
        Some(cover) => cover.postings,
        None => vec![Posting { term: Term::Always, rest: parts.into() }],
    }
}

/// Covers the conjunction of `parts` by one of them. `None`: there is none that the index can look up.
fn best_cover<'c>(parts: &[&'c Expression], weigh: &Weigh<'_>) -> Option<Cover<'c>> {
    let mut best = best_field(parts, weigh);
    if best.as_ref().is_some_and(|best| best.class == Class::Equal) {
        return best;
    }
    for part in parts {
        let Expression::Or(branches) = part else {
            continue;
        };
        let Some(cover) = cover_branches(branches, weigh) else {
            continue;
        };
        // Beside other parts the disjunction stays whole in one rest for all its branches: to repeat the others with
        // each branch would make a condition of 64 operators a thousand.
        let cover = match parts {
            [_] => cover,
            _ => Cover::new(cover.terms(), parts.into(), weigh),
        };
        best = Some(better(best, cover));
    }
    best
}

fn best_field<'c>(parts: &[&'c Expression], weigh: &Weigh<'_>) -> Option<Cover<'c>> {
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
        let rest = rest_of(parts, exact.then_some(position));
        best = Some(better(best, Cover::new(terms, rest, weigh)));
    }
    best
}

/// Covers a disjunction: every branch must have a cover.
fn cover_branches<'c>(branches: &'c [Expression], weigh: &Weigh<'_>) -> Option<Cover<'c>> {
    let mut all: Option<Cover<'c>> = None;
    for branch in branches {
        let cover = best_cover(&parts_of(branch), weigh)?;
        match &mut all {
            None => all = Some(cover),
            Some(all) => all.extend(cover),
        }
        if all.as_ref().is_some_and(|all| all.postings.len() > POSTINGS || all.has_too_many_paths()) {
            return None;
        }
    }
    all
}

impl<'c> Cover<'c> {
    fn new(terms: Vec<Term<'c>>, rest: Rc<[&'c Expression]>, weigh: &Weigh<'_>) -> Self {
        Cover {
            class: class_of(&terms),
            weight: weigh(&terms, &rest),
            postings: terms.into_iter().map(|term| Posting { term, rest: Rc::clone(&rest) }).collect(),
        }
    }

    fn extend(&mut self, other: Cover<'c>) {
        self.class = self.class.max(other.class);
        self.weight += other.weight;
        self.postings.extend(other.postings);
    }

    fn has_too_many_paths(&self) -> bool {
        let mut paths: Vec<&Path> = Vec::with_capacity(PATHS + 1);
        for path in self.postings.iter().filter_map(|posting| posting.term.path()) {
            if !paths.contains(&path) {
                paths.push(path);
            }
            if paths.len() > PATHS {
                return true;
            }
        }
        false
    }

    fn terms(&self) -> Vec<Term<'c>> {
        self.postings.iter().map(|posting| posting.term).collect()
    }
}

/// The more selective one; of two alike the first, so that equal conditions are covered alike.
fn better<'c>(best: Option<Cover<'c>>, candidate: Cover<'c>) -> Cover<'c> {
    match best {
        Some(best) if (best.class, best.weight) <= (candidate.class, candidate.weight) => best,
        _ => candidate,
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

/// The parts, less the one that the look-up answers wholly.
fn rest_of<'c>(parts: &[&'c Expression], answered: Option<usize>) -> Rc<[&'c Expression]> {
    let others = parts.iter().enumerate();
    let others = others.filter(|(position, _)| Some(*position) != answered);
    others.map(|(_, part)| *part).collect()
}

fn class_of(terms: &[Term<'_>]) -> Class {
    terms.iter().map(Term::class).max().unwrap_or(Class::Always)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The classes looked up and how many expressions remain for each, with nothing to weigh.
    fn covered(text: &str) -> Vec<(Class, usize)> {
        let condition = Condition::parse(text).expect("a condition");
        let postings = cover(&condition, &|terms, _| terms.len());
        postings.iter().map(|posting| (posting.term.class(), posting.rest.len())).collect()
    }

    #[test]
    fn the_most_selective_part_is_looked_up_and_the_others_remain() {
        use Class::{Always, Equal, Present, Ranged};
        let cases: [(&str, &[(Class, usize)]); 16] = [
            ("{}", &[(Always, 0)]),
            (r#"{"a":1}"#, &[(Equal, 0)]),
            (r#"{"b":{"$gt":1},"a":"x"}"#, &[(Equal, 1)]),
            (r#"{"a":{"$in":[1,2]},"b":{"$ne":1}}"#, &[(Equal, 1), (Equal, 1)]),
            (r#"{"a":{"$in":[1,2]},"b":1}"#, &[(Equal, 1)]),
            (r#"{"a":{"$gt":1,"$lt":5}}"#, &[(Ranged, 1)]),
            (r#"{"a":{"$gt":true}}"#, &[(Present, 1)]),
            (r#"{"a":{"$exists":true}}"#, &[(Present, 0)]),
            (r#"{"a":{"$regex":"x"}}"#, &[(Present, 1)]),
            (r#"{"a":{"$elemMatch":{"b":1}}}"#, &[(Present, 1)]),
            (r#"{"a":null}"#, &[(Always, 1)]),
            (r#"{"a":{"$not":{"$eq":1}}}"#, &[(Always, 1)]),
            (r#"{"$nor":[{"a":1}]}"#, &[(Always, 1)]),
            (r#"{"$or":[{"a":1,"b":2},{"c":{"$gt":1}}]}"#, &[(Equal, 1), (Ranged, 0)]),
            (r#"{"$or":[{"a":1},{"b":null}]}"#, &[(Always, 1)]),
            (r#"{"$or":[{"a":1},{"a":2}],"b":{"$exists":true}}"#, &[(Equal, 2), (Equal, 2)]),
        ];
        for (text, expected) in cases {
            assert_eq!(covered(text), expected, "{text}");
        }
    }

    #[test]
    fn a_disjunction_of_many_paths_is_tried_instead_of_looked_up_on_each() {
        let any_of = |paths: usize| {
            let branches: Vec<String> = (0..40).map(|n| format!(r#"{{"a{}":{n}}}"#, n % paths)).collect();
            covered(&format!(r#"{{"$or":[{}]}}"#, branches.join(",")))
        };
        assert_eq!(any_of(PATHS), [(Class::Equal, 0); 40]);
        assert_eq!(any_of(PATHS + 1), [(Class::Always, 1)]);
    }

    #[test]
    fn disjunctions_do_not_multiply() {
        let pairs: Vec<String> = (0..10).map(|n| format!(r#"{{"$or":[{{"a{n}":1}},{{"b{n}":1}}]}}"#)).collect();
        let postings = covered(&format!(r#"{{"$and":[{}]}}"#, pairs.join(",")));
        assert_eq!(postings, [(Class::Equal, 10), (Class::Equal, 10)]);
    }
}
