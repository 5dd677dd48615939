//! Exact decimal numbers. JSON numbers are compared by value, also beyond 2^53 and in different notations (`1`, `1.0`,
//! `1e0`).
//!
//! A number is stored as `digits × 10^exponent`, without leading and trailing zeros in its digits. So equal values have
//! equal representations. An exponent is never expanded: `1e999999999` costs as much as `1`.

use std::cmp::Ordering;

/// The largest exponent. Numbers beyond `10^±MAX_EXPONENT` with the same digits are treated as equal.
const MAX_EXPONENT: i64 = 1 << 60;

/// A number in canonical form: equal values are equal and have equal hashes, and the order is that of the values.
///
/// Takes 16 bytes. Numbers of up to 18 significant digits, and most of 19, need no more memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(Canonical);

/// Invariant: `Long` is used only for values that do not fit into `Compact`, so that each value has one representation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Canonical {
    /// `mantissa × 10^exponent`. The mantissa does not end with 0. Zero is `0 × 10^0`.
    Compact {
        mantissa: i64,
        exponent: i32,
    },
    Long(Box<LongNumber>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LongNumber {
    negative: bool,
    /// The power of ten of the last digit.
    exponent: i64,
    /// ASCII digits. Neither the first nor the last one is 0.
    digits: Box<[u8]>,
}

/// The absolute value in a form that can be compared for both representations.
struct Magnitude<'n> {
    /// The position of the decimal point, counted from the first digit.
    point: i64,
    digits: &'n [u8],
}

impl Number {
    /// Parses a JSON number (RFC 8259 §6). `None` for any other text.
    pub fn parse(text: &str) -> Option<Number> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (decimal, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], parse_exponent(&unsigned[at + 1..])?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = match decimal.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (decimal, ""),
        };
        let well_formed = !whole.is_empty()
            && (whole.len() == 1 || !whole.starts_with('0'))
            && is_digits(whole)
            && is_digits(fraction);
        well_formed.then(|| canonical(negative, whole.as_bytes(), fraction.as_bytes(), exponent))
    }

    /// The integer part, if it fits into 64 bits. For `$mod` and `$size`.
    pub fn to_i64_truncated(&self) -> Option<i64> {
        let (negative, digits, exponent) = match &self.0 {
            Canonical::Compact { mantissa, exponent } => {
                return truncate(i128::from(*mantissa), i64::from(*exponent));
            }
            Canonical::Long(long) => (long.negative, &long.digits, long.exponent),
        };
        let length = usize::try_from(digits.len() as i64 + exponent.min(0)).unwrap_or(0);
        if length > 20 {
            return None;
        }
        let magnitude = fold_digits(&digits[..length]);
        truncate(if negative { -magnitude } else { magnitude }, exponent.max(0))
    }

    /// Whether the value is a whole number, such as `1.0`.
    pub fn is_whole(&self) -> bool {
        match &self.0 {
            Canonical::Compact { exponent, .. } => *exponent >= 0,
            Canonical::Long(long) => long.exponent >= 0,
        }
    }

    fn signum(&self) -> i64 {
        match &self.0 {
            Canonical::Compact { mantissa, .. } => mantissa.signum(),
            Canonical::Long(long) if long.negative => -1,
            Canonical::Long(_) => 1,
        }
    }

    /// The absolute value. `buffer` stores the digits of a compact number.
    fn magnitude<'n>(&'n self, buffer: &'n mut [u8; 20]) -> Magnitude<'n> {
        match &self.0 {
            Canonical::Compact { mantissa, exponent } => {
                let digits = write_digits(mantissa.unsigned_abs(), buffer);
                Magnitude { point: i64::from(*exponent) + digits.len() as i64, digits }
            }
            Canonical::Long(long) => {
                Magnitude { point: long.exponent + long.digits.len() as i64, digits: &long.digits }
            }
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        let digits = value.unsigned_abs().to_string();
        canonical(value < 0, digits.as_bytes(), b"", 0)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        if let Some(order) = order_compact(&self.0, &other.0) {
            return order;
        }
        let sign = self.signum();
        let by_sign = sign.cmp(&other.signum());
        if by_sign.is_ne() || sign == 0 {
            return by_sign;
        }
        let (mut left_buffer, mut right_buffer) = ([0; 20], [0; 20]);
        let left = self.magnitude(&mut left_buffer);
        let right = other.magnitude(&mut right_buffer);
        // Without trailing zeros, digits with the same position of the point have the order of their text.
        let by_magnitude = left.point.cmp(&right.point).then_with(|| left.digits.cmp(right.digits));
        if sign < 0 { by_magnitude.reverse() } else { by_magnitude }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of two compact numbers by integer arithmetic. `None` if their exponents are too far apart, which is rare.
fn order_compact(left: &Canonical, right: &Canonical) -> Option<Ordering> {
    let (
        Canonical::Compact { mantissa: left, exponent: left_exponent },
        Canonical::Compact { mantissa: right, exponent: right_exponent },
    ) = (left, right)
    else {
        return None;
    };
    // A mantissa has at most 19 digits. With 18 more, it fits into 128 bits.
    let scaled = |mantissa: i64, digits: u32| i128::from(mantissa) * 10_i128.pow(digits);
    match i64::from(*left_exponent) - i64::from(*right_exponent) {
        0 => Some(left.cmp(right)),
        digits @ 1..=18 => Some(scaled(*left, digits as u32).cmp(&i128::from(*right))),
        digits @ -18..=-1 => Some(i128::from(*left).cmp(&scaled(*right, digits.unsigned_abs() as u32))),
        _ => None,
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses an exponent. Larger ones become [`MAX_EXPONENT`]. `None` if the text is not an exponent.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !is_digits(digits) {
        return None;
    }
    let magnitude = digits
        .bytes()
        .fold(0_i64, |sum, digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(MAX_EXPONENT));
    Some(if negative { -magnitude } else { magnitude })
}

fn canonical(negative: bool, whole: &[u8], fraction: &[u8], exponent: i64) -> Number {
    let mut whole = whole;
    let mut exponent = exponent;
    let fraction = trim_end_zeros(fraction);
    if fraction.is_empty() {
        let trimmed = trim_end_zeros(whole);
        exponent += (whole.len() - trimmed.len()) as i64;
        whole = trimmed;
    }
    exponent -= fraction.len() as i64;
    let whole = trim_start_zeros(whole);
    let fraction = if whole.is_empty() { trim_start_zeros(fraction) } else { fraction };
    let digits = whole.len() + fraction.len();
    if digits == 0 {
        return compact(0, 0);
    }
    if digits <= 19
        && let Ok(exponent) = i32::try_from(exponent)
        && let Ok(magnitude) = i64::try_from(fold_parts(whole, fraction))
    {
        return compact(if negative { -magnitude } else { magnitude }, exponent);
    }
    Number(Canonical::Long(Box::new(LongNumber {
        negative,
        exponent,
        digits: [whole, fraction].concat().into_boxed_slice(),
    })))
}

fn compact(mantissa: i64, exponent: i32) -> Number {
    Number(Canonical::Compact { mantissa, exponent })
}

fn trim_end_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().rev().take_while(|&&digit| digit == b'0');
    &digits[..digits.len() - zeros.count()]
}

fn trim_start_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&digit| digit == b'0');
    &digits[zeros.count()..]
}

/// The value of at most 19 digits, which always fit.
fn fold_parts(whole: &[u8], fraction: &[u8]) -> u64 {
    whole.iter().chain(fraction).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
}

/// The value of at most 20 digits, which always fit.
fn fold_digits(digits: &[u8]) -> i128 {
    digits.iter().fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'))
}

/// The integer part of `mantissa × 10^exponent`, if it fits. The mantissa has at most 20 digits.
fn truncate(mantissa: i128, exponent: i64) -> Option<i64> {
    match exponent {
        ..-20 => Some(0),
        -20..0 => i64::try_from(mantissa / 10_i128.pow(exponent.unsigned_abs() as u32)).ok(),
        // A 20-digit mantissa with 18 more digits fits into the 38 digits of 128 bits.
        0..=18 => i64::try_from(mantissa.checked_mul(10_i128.pow(exponent as u32))?).ok(),
        _ => (mantissa == 0).then_some(0),
    }
}

fn write_digits(mut magnitude: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (magnitude % 10) as u8;
        magnitude /= 10;
        if magnitude == 0 {
            return &buffer[at..];
        }
    }
}

#[cfg(test)]
mod tests;
