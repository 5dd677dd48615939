//! The query plan of a condition: which index terms find it, and which residual filter remains to be checked for each.
//!
//! A plan must be sound: data that matches the condition matches at least one term (`terms`) and that term's residual.
//! For a conjunction, the plan uses the terms of its most selective part, and the other parts remain in the filter. For
//! a disjunction, it uses the terms of every branch. Plans do not multiply out: a plan never has more terms than the
//! condition has operators and list values, and at most [`MAX_TERMS`] terms on at most [`MAX_PATHS`] paths.

use super::terms::{Term, TermKind, terms_of};
use crate::condition::{Condition, Expression, Path};
use std::rc::Rc;

/// Maximum terms of one plan. A part with more terms is not used; a less selective part is used instead, or no part at
/// all. 128 admits every `$in` (at most 100 values) and keeps the memory of a hostile condition below about 10 KiB.
pub(super) const MAX_TERMS: usize = 128;

/// Maximum paths of one plan, each of which every emit on the channel must look up. With a disjunction of 62 paths into
/// one array of 130,000 numbers, an emit took two seconds. Evaluated as a filter, its cost is limited by
/// `bounds::CONDITION_COST`.
const MAX_PATHS: usize = 8;

/// Maximum equalities of one conjunction whose estimated costs are compared. Each estimate takes a few hash lookups,
/// and a condition whose fifth equality is by far the most selective is rare.
const MAX_COMPARED: usize = 4;

/// One index term, and what remains to be checked for data that matches the term. Terms with the same residual share
/// the list.
#[derive(Clone, Debug)]
pub(super) struct PlannedTerm<'c> {
    pub(super) term: Term<'c>,
    pub(super) residual: Rc<[&'c Expression]>,
}

/// Estimates the cost of a plan with these terms and this residual: 0 if an equal subscription is already stored.
pub(super) type EstimateCost<'w> = dyn Fn(&[Term<'_>], &[&Expression]) -> usize + 'w;

/// A candidate plan of one expression.
struct QueryPlan<'c> {
    kind: TermKind,
    cost: usize,
    terms: Vec<PlannedTerm<'c>>,
}

/// Plans a condition: at least one term, at most [`MAX_TERMS`].
pub(super) fn plan_condition<'c>(condition: &'c Condition, estimate_cost: &EstimateCost<'_>) -> Vec<PlannedTerm<'c>> {
    let parts = conjuncts_of(&condition.root);
    match best_plan(&parts, estimate_cost) {
        Some(plan) => plan.terms,
        None => vec![PlannedTerm { term: Term::Always, residual: parts.into() }],
    }
}

/// Plans the conjunction of `parts` with the terms of one of them. `None` if the index can look up none of them.
fn best_plan<'c>(parts: &[&'c Expression], estimate_cost: &EstimateCost<'_>) -> Option<QueryPlan<'c>> {
    let mut best = best_field(parts, estimate_cost);
    if best.as_ref().is_some_and(|best| best.kind == TermKind::Equal) {
        return best;
    }
    for part in parts {
        let Expression::Or(branches) = part else {
            continue;
        };
        let Some(plan) = plan_branches(branches, estimate_cost) else {
            continue;
        };
        // Next to other parts, the whole disjunction stays in one residual that all branches share. Repeating the other
        // parts for each branch would turn a condition of 64 operators into a thousand.
        let plan = match parts {
            [_] => plan,
            _ => QueryPlan::new(plan.index_terms(), parts.into(), estimate_cost),
        };
        best = Some(cheaper(best, plan));
    }
    best
}

fn best_field<'c>(parts: &[&'c Expression], estimate_cost: &EstimateCost<'_>) -> Option<QueryPlan<'c>> {
    let mut best = None;
    let mut compared = 0;
    for (position, part) in parts.iter().enumerate() {
        let Expression::Field { path, predicate } = part else {
            continue;
        };
        let Some((terms, exact)) = terms_of(path, predicate) else {
            continue;
        };
        compared += usize::from(kind_of(&terms) == TermKind::Equal);
        if compared > MAX_COMPARED {
            break;
        }
        let residual = residual_of(parts, exact.then_some(position));
        best = Some(cheaper(best, QueryPlan::new(terms, residual, estimate_cost)));
    }
    best
}

/// Plans a disjunction: every branch must have a plan.
fn plan_branches<'c>(branches: &'c [Expression], estimate_cost: &EstimateCost<'_>) -> Option<QueryPlan<'c>> {
    let mut all: Option<QueryPlan<'c>> = None;
    for branch in branches {
        let plan = best_plan(&conjuncts_of(branch), estimate_cost)?;
        match &mut all {
            None => all = Some(plan),
            Some(all) => all.extend(plan),
        }
        if all.as_ref().is_some_and(|all| all.terms.len() > MAX_TERMS || all.has_too_many_paths()) {
            return None;
        }
    }
    all
}

impl<'c> QueryPlan<'c> {
    fn new(terms: Vec<Term<'c>>, residual: Rc<[&'c Expression]>, estimate_cost: &EstimateCost<'_>) -> Self {
        QueryPlan {
            kind: kind_of(&terms),
            cost: estimate_cost(&terms, &residual),
            terms: terms.into_iter().map(|term| PlannedTerm { term, residual: Rc::clone(&residual) }).collect(),
        }
    }

    fn extend(&mut self, other: QueryPlan<'c>) {
        self.kind = self.kind.max(other.kind);
        self.cost += other.cost;
        self.terms.extend(other.terms);
    }

    fn has_too_many_paths(&self) -> bool {
        let mut paths: Vec<&Path> = Vec::with_capacity(MAX_PATHS + 1);
        for path in self.terms.iter().filter_map(|planned| planned.term.path()) {
            if !paths.contains(&path) {
                paths.push(path);
            }
            if paths.len() > MAX_PATHS {
                return true;
            }
        }
        false
    }

    fn index_terms(&self) -> Vec<Term<'c>> {
        self.terms.iter().map(|planned| planned.term).collect()
    }
}

/// The more selective plan. Of two equal ones the first, so that equal conditions get equal plans.
fn cheaper<'c>(best: Option<QueryPlan<'c>>, candidate: QueryPlan<'c>) -> QueryPlan<'c> {
    match best {
        Some(best) if (best.kind, best.cost) <= (candidate.kind, candidate.cost) => best,
        _ => candidate,
    }
}

/// The parts of a conjunction, including nested conjunctions.
fn conjuncts_of(expression: &Expression) -> Vec<&Expression> {
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

/// The parts without the one that the terms answer exactly.
fn residual_of<'c>(parts: &[&'c Expression], answered: Option<usize>) -> Rc<[&'c Expression]> {
    let others = parts.iter().enumerate();
    let others = others.filter(|(position, _)| Some(*position) != answered);
    others.map(|(_, part)| *part).collect()
}

fn kind_of(terms: &[Term<'_>]) -> TermKind {
    terms.iter().map(Term::kind).max().unwrap_or(TermKind::Always)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The classes looked up and how many expressions remain for each, with nothing to estimate_cost.
    fn planned(text: &str) -> Vec<(TermKind, usize)> {
        let condition = Condition::parse(text).expect("a condition");
        let terms = plan_condition(&condition, &|terms, _| terms.len());
        terms.iter().map(|planned| (planned.term.kind(), planned.residual.len())).collect()
    }

    #[test]
    fn a_plan_uses_the_most_selective_part_and_keeps_the_others_as_residual() {
        use TermKind::{Always, Equal, Present, Ranged};
        let cases: [(&str, &[(TermKind, usize)]); 16] = [
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
            assert_eq!(planned(text), expected, "{text}");
        }
    }

    #[test]
    fn a_disjunction_over_too_many_paths_is_checked_on_every_emit() {
        let any_of = |paths: usize| {
            let branches: Vec<String> = (0..40).map(|n| format!(r#"{{"a{}":{n}}}"#, n % paths)).collect();
            planned(&format!(r#"{{"$or":[{}]}}"#, branches.join(",")))
        };
        assert_eq!(any_of(MAX_PATHS), [(TermKind::Equal, 0); 40]);
        assert_eq!(any_of(MAX_PATHS + 1), [(TermKind::Always, 1)]);
    }

    #[test]
    fn disjunctions_are_not_multiplied_out() {
        let pairs: Vec<String> = (0..10).map(|n| format!(r#"{{"$or":[{{"a{n}":1}},{{"b{n}":1}}]}}"#)).collect();
        let terms = planned(&format!(r#"{{"$and":[{}]}}"#, pairs.join(",")));
        assert_eq!(terms, [(TermKind::Equal, 10), (TermKind::Equal, 10)]);
    }
}
