//! Residual filters: what remains to be checked after the index terms of a plan. Equal filters are stored once, and
//! each runs at most once per emit.

use super::interner::Interner;
use crate::chunked_slab::NONE;
use crate::condition::{Condition, CostBudget, Expression, document::Document};
use hashbrown::Equivalent;
use std::hash::{Hash, Hasher};

/// The filters in use. The number [`NONE`] is the empty filter, which always matches.
#[derive(Default)]
pub(super) struct Filters {
    interner: Interner<Filter>,
}

struct Filter {
    /// An `And` of all expressions of the residual.
    condition: Condition,
    /// The emit that last ran the filter, and the result, unless the budget was too small.
    emit: u32,
    result: Option<bool>,
    /// The magnitude (number of binary digits) of the largest budget it was tried with in that emit.
    tried_magnitude: u8,
}

impl Filters {
    /// The number of the filter for `residual`, if there is one.
    pub(super) fn find(&self, residual: &[&Expression]) -> Option<u32> {
        match residual {
            [] => Some(NONE),
            _ => self.interner.find(&Residual(residual)),
        }
    }

    /// Adds a holder to the filter for `residual`.
    pub(super) fn acquire(&mut self, residual: &[&Expression]) -> u32 {
        match residual {
            [] => NONE,
            _ => self.interner.acquire(&Residual(residual), || Filter::new(residual)),
        }
    }

    /// Adds a holder to a filter that already has one.
    pub(super) fn retain(&mut self, filter: u32) {
        if filter != NONE {
            self.interner.retain(filter);
        }
    }

    /// Removes a holder.
    pub(super) fn release(&mut self, filter: u32) {
        if filter != NONE {
            self.interner.release(filter);
        }
    }

    /// Whether the filter matches `document`, the data of `emit`. `None` if `budget` is too small. Spends nothing if
    /// this emit already has a result, or already failed with a budget of the same magnitude.
    pub(super) fn matches(
        &mut self,
        filter: u32,
        document: &Document<'_>,
        emit: u32,
        budget: &CostBudget,
    ) -> Option<bool> {
        if filter == NONE {
            return Some(true);
        }
        let filter = &mut self.interner[filter];
        let magnitude = (usize::BITS - budget.limit().leading_zeros()) as u8;
        if filter.emit != emit || (filter.result.is_none() && filter.tried_magnitude < magnitude) {
            filter.emit = emit;
            filter.tried_magnitude = magnitude;
            filter.result = filter.condition.matches(document, budget);
        }
        filter.result
    }

    /// Resets the emit numbers of all filters.
    pub(super) fn forget_emits(&mut self) {
        self.interner.iter_mut().for_each(|filter| filter.emit = 0);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.interner.len()
    }
}

impl Filter {
    fn new(residual: &[&Expression]) -> Filter {
        Filter {
            condition: Condition { root: Expression::And(residual.iter().map(|&item| item.clone()).collect()) },
            emit: 0,
            result: None,
            tried_magnitude: 0,
        }
    }

    fn items(&self) -> &[Expression] {
        match &self.condition.root {
            Expression::And(items) => items,
            other => std::slice::from_ref(other),
        }
    }
}

impl Hash for Filter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.items().hash(state);
    }
}

/// A filter that is not stored yet. Its hash equals that of the stored filter: a reference hashes like its target.
#[derive(Hash)]
struct Residual<'a>(&'a [&'a Expression]);

impl Equivalent<Filter> for Residual<'_> {
    fn equivalent(&self, filter: &Filter) -> bool {
        self.0.iter().copied().eq(filter.items())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_residuals_share_one_filter() {
        let items = [Expression::And([].into()), Expression::Or([].into())];
        let residual: Vec<&Expression> = items.iter().collect();
        let mut filters = Filters::default();
        let first = filters.acquire(&residual);
        assert_eq!(filters.acquire(&residual), first);
        assert_ne!(filters.acquire(&residual[..1]), first);
        assert_eq!(filters.find(&residual), Some(first));
        assert_eq!(filters.acquire(&[]), NONE);
        assert_eq!(filters.len(), 2);
    }
}
