//! Ordered range bounds: finds the `$gt`, `$gte`, `$lt` and `$lte` bounds on a path that event data matches, without
//! looking at the others.

use super::terms::Side;
use crate::condition::Literal;
use crate::condition::document::Value;
use crate::condition::number::Number;
use std::collections::BTreeMap;
use std::ops::Bound::Included;
use std::sync::Arc;

/// One bound of a range lookup. In sort order, the bounds of one lookup, side and type are adjacent.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BoundKey {
    /// The range lookup (channel and path) that the bound belongs to.
    pub(super) lookup: u32,
    side: Side,
    bound: Scalar,
    /// Orders the two bounds at one value: `>` after `>=`, and `<=` after `<`.
    above: bool,
}

/// The value of a bound, and markers for the ends of each type's section of the order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scalar {
    NumbersBegin,
    Number(Number),
    StringsBegin,
    String(Box<str>),
    StringsEnd,
}

impl BoundKey {
    /// `None` for a bound that is neither a number nor a string.
    pub(super) fn new(lookup: u32, side: Side, inclusive: bool, bound: &Literal) -> Option<BoundKey> {
        Some(BoundKey { lookup, side, bound: Scalar::of(bound.clone())?, above: (side == Side::Upper) == inclusive })
    }
}

impl Scalar {
    fn of(literal: Literal) -> Option<Scalar> {
        match literal {
            Literal::Number(number) => Some(Scalar::Number(number)),
            Literal::String(text) => Some(Scalar::String(text)),
            _ => None,
        }
    }
}

/// The least and the greatest number and string at a path. They are enough: some value matches a lower bound exactly if
/// the greatest value does. So an array of 100,000 elements takes one scan of the bounds.
#[derive(Default)]
pub(super) struct Extremes {
    numbers: Option<(Number, Number)>,
    strings: Option<(Box<str>, Box<str>)>,
}

impl Extremes {
    /// Adds a value.
    pub(super) fn add(&mut self, value: Value<'_>) {
        match value.ordered() {
            Some(Literal::Number(number)) => widen(&mut self.numbers, number),
            Some(Literal::String(text)) => widen(&mut self.strings, text),
            _ => (),
        }
    }

    /// Calls `on_bound` once for each bound of `lookup` that some value matches.
    pub(super) fn for_each_matching(
        self,
        lookup: u32,
        bounds: &BTreeMap<Arc<BoundKey>, u32>,
        on_bound: &mut dyn FnMut(u32),
    ) {
        let mut scan = |side, from, to| {
            let end = |bound, above| BoundKey { lookup, side, bound, above };
            // The least value matches `<=` but not `<`, and the greatest matches `>=` but not `>`. The other end of the
            // scan is a marker, not a bound.
            let (from, to) = (end(from, side == Side::Upper), end(to, false));
            let matching = bounds.range::<BoundKey, _>((Included(&from), Included(&to)));
            matching.for_each(|(_, &bound)| on_bound(bound));
        };
        if let Some((least, greatest)) = self.numbers {
            scan(Side::Lower, Scalar::NumbersBegin, Scalar::Number(greatest));
            scan(Side::Upper, Scalar::Number(least), Scalar::StringsBegin);
        }
        if let Some((least, greatest)) = self.strings {
            scan(Side::Lower, Scalar::StringsBegin, Scalar::String(greatest));
            scan(Side::Upper, Scalar::String(least), Scalar::StringsEnd);
        }
    }
}

fn widen<T: Ord + Clone>(extremes: &mut Option<(T, T)>, value: T) {
    match extremes {
        None => *extremes = Some((value.clone(), value)),
        Some((least, _)) if value < *least => *least = value,
        Some((_, greatest)) if value > *greatest => *greatest = value,
        Some(_) => (),
    }
}
