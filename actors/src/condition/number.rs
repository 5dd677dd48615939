//! Exact decimal numbers: JSON numbers compared by value, beyond 2^53 and across `1`, `1.0` and `1e0`.

/// A number in canonical form, so that equal values are equal, hash alike and order by value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number;
