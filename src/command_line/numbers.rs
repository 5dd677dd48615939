//! Whole numbers on the command line, with error messages in words.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Returns a parser of whole numbers in `range`. Its error says what is wrong and which numbers are accepted.
pub(super) fn whole_number<N>(
    range: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let accepted = format!("give {} to {}", range.start(), range.end());
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("'{text}' is not a whole number, {accepted}"));
        }
        // A text of digits that does not parse is too large for the type, or negative.
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("{text} is out of range, {accepted}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_inside_the_range_are_accepted() {
        let parse = whole_number(1_u64..=65_535);
        assert_eq!([parse("1"), parse("0080"), parse("65535")], [Ok(1), Ok(80), Ok(65_535)]);
    }

    #[test]
    fn errors_say_what_is_wrong_and_what_is_accepted() {
        let parse = whole_number(1_u16..=100);
        for text in ["abc", "", "-", "1.5", "1e3", " 1", "+1", "१"] {
            assert_eq!(parse(text), Err(format!("'{text}' is not a whole number, give 1 to 100")));
        }
        for text in ["0", "101", "-1", "65536", "99999999999999999999999"] {
            assert_eq!(parse(text), Err(format!("{text} is out of range, give 1 to 100")));
        }
    }
}
