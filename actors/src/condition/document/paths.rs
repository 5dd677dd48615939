//! Finds the values at a dotted path in event data, through arrays as in MongoDB.
//!
//! - In an object, a segment names a field.
//! - In an array, the path continues in every element that is an object (not in arrays in arrays). A numeric segment
//!   also continues in the element at that index.
//! - At the end of the path, an array yields itself and its elements, unless the last segment was an index.
//! - If the path ends early at an object without the field, or at a scalar, it yields one missing value, which equals
//!   null. An array without objects yields nothing.

use super::{Kind, Value};
use crate::condition::{CostBudget, Segment};
use std::collections::HashSet;

/// What an array at the end of a path yields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Its elements, then itself. For equality, comparison and patterns.
    Elements,
    /// Only itself. For `$size` and `$elemMatch`.
    Whole,
}

/// Calls `on_value` for the values at a path from `root`, until it returns true. Returns whether it did. Also stops
/// with true once `budget` is exhausted.
pub(crate) fn any_at<'d>(
    root: Value<'d>,
    segments: &[Segment],
    leaf: Leaf,
    budget: &CostBudget,
    on_value: &mut dyn FnMut(Value<'d>) -> bool,
) -> bool {
    Traversal::new(segments, leaf, budget, on_value).follow(root, 0)
}

/// Like [`any_at`], but an array as `root` is treated as an object whose fields are its indices, as `$elemMatch` treats
/// an array in an array.
pub(crate) fn any_in_element<'d>(
    root: Value<'d>,
    segments: &[Segment],
    leaf: Leaf,
    budget: &CostBudget,
    on_value: &mut dyn FnMut(Value<'d>) -> bool,
) -> bool {
    let mut traversal = Traversal::new(segments, leaf, budget, on_value);
    if root.kind() != Kind::Array {
        return traversal.follow(root, 0);
    }
    let child = segments.first().and_then(|segment| root.element(segment.index?));
    match child {
        Some(child) => traversal.follow(child, 1),
        None => traversal.visit_missing(root),
    }
}

struct Traversal<'d, 'w> {
    segments: &'w [Segment],
    leaf: Leaf,
    /// The pairs of a value and a segment that were followed. With several numeric segments, exponentially many ways
    /// can lead to one value, through an index or a field at each level. Each pair is followed once. Elements of an
    /// array that no index names are not recorded, because only the array leads to them.
    visited: Option<HashSet<(u32, usize)>>,
    budget: &'w CostBudget,
    on_value: &'w mut dyn FnMut(Value<'d>) -> bool,
}

// Each call goes one level deeper into the document, so recursion is bounded by `bounds::DOCUMENT_DEPTH`.
impl<'d, 'w> Traversal<'d, 'w> {
    fn new(
        segments: &'w [Segment],
        leaf: Leaf,
        budget: &'w CostBudget,
        on_value: &'w mut dyn FnMut(Value<'d>) -> bool,
    ) -> Traversal<'d, 'w> {
        let numeric = segments.iter().filter(|segment| segment.index.is_some());
        Traversal { segments, leaf, visited: (numeric.count() > 1).then(HashSet::new), budget, on_value }
    }

    /// Follows the path from `value`, at the segment `next`.
    fn follow(&mut self, value: Value<'d>, next: usize) -> bool {
        if next == self.segments.len() {
            return self.visit_end(value);
        }
        match value.kind() {
            Kind::Object => self.in_object(value, next),
            Kind::Array => self.through_array(value, next),
            _ => self.visit_missing(value),
        }
    }

    fn visit_end(&mut self, value: Value<'d>) -> bool {
        let elements = self.leaf == Leaf::Elements && value.kind() == Kind::Array;
        (elements && value.elements().any(|element| self.visit(element))) || self.visit(value)
    }

    fn in_object(&mut self, object: Value<'d>, next: usize) -> bool {
        for (key, child) in object.fields() {
            if self.budget.is_exhausted_by_step() {
                return true;
            }
            if key.is_text(&self.segments[next].name) {
                return self.follow(child, next + 1);
            }
        }
        self.visit_missing(object)
    }

    fn through_array(&mut self, array: Value<'d>, next: usize) -> bool {
        if !self.is_first_visit(array, next) {
            return false;
        }
        let wanted = self.segments[next].index;
        let previous_index = next.checked_sub(1).and_then(|previous| self.segments[previous].index);
        for (index, element) in (0_u32..).zip(array.elements()) {
            if self.budget.is_exhausted_by_step() {
                return true;
            }
            if element.kind() == Kind::Object
                && (previous_index != Some(index) || self.is_first_visit(element, next))
                && self.in_object(element, next)
            {
                return true;
            }
            if wanted == Some(index) && self.at_index(element, next + 1) {
                return true;
            }
        }
        false
    }

    /// Follows the path from an element that an index named. At the end of the path it yields only itself, and a scalar
    /// before the end yields nothing.
    fn at_index(&mut self, element: Value<'d>, next: usize) -> bool {
        if next == self.segments.len() {
            return self.visit(element);
        }
        match element.kind() {
            Kind::Object => self.is_first_visit(element, next) && self.in_object(element, next),
            Kind::Array => self.through_array(element, next),
            _ => false,
        }
    }

    fn visit_missing(&mut self, near: Value<'d>) -> bool {
        self.visit(near.missing())
    }

    fn visit(&mut self, value: Value<'d>) -> bool {
        let is_exhausted = match self.leaf {
            Leaf::Elements => self.budget.is_exhausted_by_value(&value),
            Leaf::Whole => self.budget.is_exhausted_by(1),
        };
        is_exhausted || (self.on_value)(value)
    }

    fn is_first_visit(&mut self, value: Value<'d>, next: usize) -> bool {
        match &mut self.visited {
            Some(visited) => !self.budget.is_exhausted_by(1) && visited.insert((value.position(), next)),
            None => true,
        }
    }
}
