//! Bounds in order: of all `$gt`, `$gte`, `$lt`, `$lte` on a path, those that event data meets, without looking at the others.

use super::terms::Side;
use crate::condition::Literal;
use crate::condition::document::Value;
use crate::condition::number::Number;
use std::collections::BTreeMap;
use std::ops::Bound::Included;
use std::sync::Arc;

/// One bound on the values of one place. In order, those of one place, side and type stand together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BoundKey {
    /// The place (channel and path) that the bound belongs to.
    pub(super) place: u32,
    side: Side,
    bound: Scalar,
    /// Of two at one value, whether the one that lies further up: `>` after `>=`, `<=` after `<`.
    above: bool,
}

/// What bounds compare with, and the ends of each type's part of the order.
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
    pub(super) fn new(place: u32, side: Side, inclusive: bool, bound: &Literal) -> Option<BoundKey> {
        Some(BoundKey { place, side, bound: Scalar::of(bound.clone())?, above: (side == Side::Upper) == inclusive })
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

/// The least and the greatest number and string at a path. They decide: a lower bound is met by some value exactly
/// if the greatest meets it, so that an array of 100,000 elements still costs one walk.
#[derive(Default)]
pub(super) struct Extremes {
    numbers: Option<(Number, Number)>,
    strings: Option<(Box<str>, Box<str>)>,
}

impl Extremes {
    /// Takes one more value into account.
    pub(super) fn add(&mut self, value: Value<'_>) {
        match value.ordered() {
            Some(Literal::Number(number)) => widen(&mut self.numbers, number),
            Some(Literal::String(text)) => widen(&mut self.strings, text),
            _ => (),
        }
    }

    /// Calls `on_bound` for each bound on `place` that some value meets, once.
    pub(super) fn for_each_met(self, place: u32, bounds: &BTreeMap<Arc<BoundKey>, u32>, on_bound: &mut dyn FnMut(u32)) {
        let mut walk = |side, from, to| {
            let end = |bound, above| BoundKey { place, side, bound, above };
            // At the least value `<=` is met and `<` is not, at the greatest `>=` is met and `>` is not. The walk's
            // other end is no real bound.
            let (from, to) = (end(from, side == Side::Upper), end(to, false));
            let met = bounds.range::<BoundKey, _>((Included(&from), Included(&to)));
            met.for_each(|(_, &bound)| on_bound(bound));
        };
        if let Some((least, greatest)) = self.numbers {
            walk(Side::Lower, Scalar::NumbersBegin, Scalar::Number(greatest));
            walk(Side::Upper, Scalar::Number(least), Scalar::StringsBegin);
        }
        if let Some((least, greatest)) = self.strings {
            walk(Side::Lower, Scalar::StringsBegin, Scalar::String(greatest));
            walk(Side::Upper, Scalar::String(least), Scalar::StringsEnd);
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
