//! Where a dotted path leads in event data, through arrays as MongoDB goes.
//!
//! - In an object, a segment names a field.
//! - In an array, the path goes on into every element that is an object (not into arrays in arrays), and a numeric
//!   segment also into the element at that index.
//! - At the end, an array stands for itself and for its elements, unless the last segment was an index.
//! - A way that ends at an object without the field, or at a scalar, yields one missing value, which equals null.
//!   An array without objects yields none.

use super::{Kind, Value};
use crate::condition::{CostBudget, Segment};
use std::collections::HashSet;

/// What an array at the end of a path stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Its elements, then itself: equality, comparison, patterns.
    Elements,
    /// Only itself: `$size`, `$elemMatch`.
    Whole,
}

/// Calls `on_value` for the values at `segments` from `root` until it answers true; answers whether it did. Ends early,
/// with true, once `budget` is spent.
pub(crate) fn any_at<'d>(
    root: Value<'d>,
    segments: &[Segment],
    leaf: Leaf,
    budget: &CostBudget,
    on_value: &mut dyn FnMut(Value<'d>) -> bool,
) -> bool {
    Walk::new(segments, leaf, budget, on_value).at(root, 0)
}

/// As [`any_at`], but a `root` that is an array is read as an object whose fields are its indices, which is how
/// `$elemMatch` sees an array in an array.
pub(crate) fn any_in_element<'d>(
    root: Value<'d>,
    segments: &[Segment],
    leaf: Leaf,
    budget: &CostBudget,
    on_value: &mut dyn FnMut(Value<'d>) -> bool,
) -> bool {
    let mut walk = Walk::new(segments, leaf, budget, on_value);
    if root.kind() != Kind::Array {
        return walk.at(root, 0);
    }
    let child = segments.first().and_then(|segment| root.element(segment.index?));
    match child {
        Some(child) => walk.at(child, 1),
        None => walk.missing(root),
    }
}

struct Walk<'d, 'w> {
    segments: &'w [Segment],
    leaf: Leaf,
    /// With several numeric segments one place may be reached on exponentially many ways (by an index here or a
    /// field there); each (place, segment) is gone through once. Only arrays and what an index names are asked for:
    /// the elements of a wide array are reached from it alone.
    visited: Option<HashSet<(u32, usize)>>,
    budget: &'w CostBudget,
    on_value: &'w mut dyn FnMut(Value<'d>) -> bool,
}

// Recursion goes one level into the document with each call, and documents are at most `DOCUMENT_DEPTH` deep.
impl<'d, 'w> Walk<'d, 'w> {
    fn new(
        segments: &'w [Segment],
        leaf: Leaf,
        budget: &'w CostBudget,
        on_value: &'w mut dyn FnMut(Value<'d>) -> bool,
    ) -> Walk<'d, 'w> {
        let numeric = segments.iter().filter(|segment| segment.index.is_some());
        Walk { segments, leaf, visited: (numeric.count() > 1).then(HashSet::new), budget, on_value }
    }

    /// `value` lies behind the first `taken` segments.
    fn at(&mut self, value: Value<'d>, taken: usize) -> bool {
        if taken == self.segments.len() {
            return self.end(value);
        }
        match value.kind() {
            Kind::Object => self.in_object(value, taken),
            Kind::Array => self.through_array(value, taken),
            _ => self.missing(value),
        }
    }

    fn end(&mut self, value: Value<'d>) -> bool {
        let elements = self.leaf == Leaf::Elements && value.kind() == Kind::Array;
        (elements && value.elements().any(|element| self.look_at(element))) || self.look_at(value)
    }

    fn in_object(&mut self, object: Value<'d>, taken: usize) -> bool {
        for (key, child) in object.fields() {
            if self.budget.is_exhausted_by_step() {
                return true;
            }
            if key.is_text(&self.segments[taken].name) {
                return self.at(child, taken + 1);
            }
        }
        self.missing(object)
    }

    fn through_array(&mut self, array: Value<'d>, taken: usize) -> bool {
        if !self.is_first_visit(array, taken) {
            return false;
        }
        let wanted = self.segments[taken].index;
        let named_before = taken.checked_sub(1).and_then(|before| self.segments[before].index);
        for (index, element) in (0_u32..).zip(array.elements()) {
            if self.budget.is_exhausted_by_step() {
                return true;
            }
            if element.kind() == Kind::Object
                && (named_before != Some(index) || self.is_first_visit(element, taken))
                && self.in_object(element, taken)
            {
                return true;
            }
            if wanted == Some(index) && self.at_index(element, taken + 1) {
                return true;
            }
        }
        false
    }

    /// `element` was reached by its index: neither is it opened at the end of the path, nor missing when a scalar.
    fn at_index(&mut self, element: Value<'d>, taken: usize) -> bool {
        if taken == self.segments.len() {
            return self.look_at(element);
        }
        match element.kind() {
            Kind::Object => self.is_first_visit(element, taken) && self.in_object(element, taken),
            Kind::Array => self.through_array(element, taken),
            _ => false,
        }
    }

    fn missing(&mut self, near: Value<'d>) -> bool {
        self.look_at(near.missing())
    }

    fn look_at(&mut self, value: Value<'d>) -> bool {
        let is_exhausted = match self.leaf {
            Leaf::Elements => self.budget.is_exhausted_by_value(&value),
            Leaf::Whole => self.budget.is_exhausted_by(1),
        };
        is_exhausted || (self.on_value)(value)
    }

    fn is_first_visit(&mut self, value: Value<'d>, taken: usize) -> bool {
        match &mut self.visited {
            Some(visited) => !self.budget.is_exhausted_by(1) && visited.insert((value.position(), taken)),
            None => true,
        }
    }
}
