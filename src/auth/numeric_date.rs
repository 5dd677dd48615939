//! Dates of tokens (NumericDate, RFC 7519 §2) and the period in which a token is valid.

use std::time::Duration;

use super::TokenError;

/// Seconds since 1970 with fractions, from 0 to the end of the year 9999. An `f64` is exact to less than a microsecond
/// for today's dates.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct NumericDate(f64);

impl NumericDate {
    /// 9999-12-31T23:59:59Z. A later date is milliseconds mistaken for seconds, or an attack on arithmetic.
    pub const MAX_SECONDS: u64 = 253_402_300_799;

    /// Reads the text of a JSON value. `None` if it is not a number or out of range.
    pub fn parse(json: &str) -> Option<Self> {
        let is_number = json.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let seconds = json.parse::<f64>().ok().filter(|_| is_number)?;
        (0.0..=Self::MAX_SECONDS as f64).contains(&seconds).then_some(NumericDate(seconds))
    }

    /// The date rounded up to a whole second.
    pub fn whole_seconds(self) -> u64 {
        self.0.ceil() as u64
    }
}

/// The period in which a token is valid.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validity {
    pub not_before: Option<NumericDate>,
    pub expires: Option<NumericDate>,
}

impl Validity {
    /// Refuses a token outside its period, which `leeway` extends at both ends.
    ///
    /// At `exp` itself a token is expired (RFC 7519 §4.1.4: "on or after"), at `nbf` itself it is valid (§4.1.5).
    pub fn check(&self, now: Duration, leeway: Duration) -> Result<(), TokenError> {
        let (now, leeway) = (now.as_secs_f64(), leeway.as_secs_f64());
        if self.expires.is_some_and(|date| now >= date.0 + leeway) {
            Err(TokenError::Expired)
        } else if self.not_before.is_some_and(|date| now + leeway < date.0) {
            Err(TokenError::NotYetValid)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_fractions_and_exponents_are_dates() {
        for (json, seconds) in [
            ("0", 0),
            ("-0", 0),
            ("1790000000", 1_790_000_000),
            ("1790000000.0", 1_790_000_000),
            ("1790000000.001", 1_790_000_001),
            ("1.79e9", 1_790_000_000),
            ("179E+7", 1_790_000_000),
            ("253402300799", 253_402_300_799),
            ("1e-400", 0),
        ] {
            assert_eq!(NumericDate::parse(json).unwrap().whole_seconds(), seconds, "{json}");
        }
    }

    #[test]
    fn other_values_are_not_dates() {
        for json in [
            "-1",
            "-0.5",
            "1e400",
            "-1e400",
            "253402300800",
            "1790000000000",
            "1e300",
            "null",
            "true",
            "\"1790000000\"",
            "[1]",
            "{}",
            "inf",
            "nan",
            "NaN",
            "infinity",
            "-inf",
            "+1",
            "",
            "18446744073709551616",
        ] {
            assert_eq!(NumericDate::parse(json), None, "{json}");
        }
    }

    #[test]
    fn leeway_extends_both_ends_exactly() {
        let validity = Validity { not_before: NumericDate::parse("1000.5"), expires: NumericDate::parse("2000.25") };
        let leeway = Duration::from_secs(5);
        let at = |milliseconds| validity.check(Duration::from_millis(milliseconds), leeway);
        assert_eq!(at(995_499), Err(TokenError::NotYetValid));
        assert_eq!(at(995_500), Ok(()));
        assert_eq!(at(2_005_249), Ok(()));
        assert_eq!(at(2_005_250), Err(TokenError::Expired));
    }

    #[test]
    fn a_token_without_dates_is_always_valid() {
        for seconds in [0, u64::MAX] {
            let now = Duration::from_secs(seconds);
            assert_eq!(Validity::default().check(now, Duration::MAX), Ok(()));
        }
    }
}
