//! The cost that one lookup or condition may still spend, in the units of [`bounds::CONDITION_COST`].

use super::bounds;
use super::document::Value;
use std::cell::Cell;

/// Array elements and object keys that one cost unit pays for while a path is followed: each takes a few nanoseconds.
const STEPS_PER_UNIT: usize = 16;

/// A cost budget. Once it is exhausted, evaluation stops and its result means nothing.
#[derive(Debug)]
pub struct CostBudget {
    limit: usize,
    /// `None` once a charge was higher than what was left.
    left: Cell<Option<usize>>,
    steps: Cell<usize>,
}

impl CostBudget {
    /// A budget of `limit` cost units.
    pub const fn new(limit: usize) -> CostBudget {
        CostBudget { limit, left: Cell::new(Some(limit)), steps: Cell::new(0) }
    }

    /// The cost units it started with.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The cost units used so far; all of them once the budget is exhausted.
    pub fn spent(&self) -> usize {
        self.limit - self.left.get().unwrap_or_default()
    }

    /// Whether the budget was too small.
    pub fn is_exhausted(&self) -> bool {
        self.left.get().is_none()
    }

    /// Charges `cost`; true if the budget cannot pay for it.
    pub(super) fn is_exhausted_by(&self, cost: usize) -> bool {
        let left = self.left.get().and_then(|left| left.checked_sub(cost));
        self.left.set(left);
        left.is_none()
    }

    /// Charges for evaluating a value; true if the budget cannot pay for it.
    pub(super) fn is_exhausted_by_value(&self, value: &Value<'_>) -> bool {
        self.is_exhausted_by(1 + value.raw().len() / 8)
    }

    /// Charges for stepping over one array element or object key; true if the budget cannot pay for it.
    pub(super) fn is_exhausted_by_step(&self) -> bool {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        self.is_exhausted_by(usize::from(steps.is_multiple_of(STEPS_PER_UNIT)))
    }
}

impl Default for CostBudget {
    /// The budget of one condition for one emit.
    fn default() -> CostBudget {
        CostBudget::new(bounds::CONDITION_COST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_above_the_rest_exhausts_the_budget() {
        let budget = CostBudget::new(10);
        assert!(!budget.is_exhausted_by(10) && !budget.is_exhausted());
        let budget = CostBudget::new(10);
        assert!(budget.is_exhausted_by(11) && budget.is_exhausted_by(0) && budget.is_exhausted());
        assert_eq!(budget.spent(), 10);
    }

    #[test]
    fn sixteen_steps_cost_one_unit() {
        let budget = CostBudget::new(2);
        let steps = (0..100).take_while(|_| !budget.is_exhausted_by_step()).count();
        assert_eq!(steps, 3 * STEPS_PER_UNIT - 1);
    }
}
