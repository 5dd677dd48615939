//! The lifetime of a token on the command line: a whole number and a unit, such as `90s` or `7d`.

use std::time::Duration;

/// Maximum lifetime: ten years. Anything longer is a typing error; a token can also have no expiry at all.
const MAX_LIFETIME: Duration = Duration::from_secs(3_650 * SECONDS_PER_DAY);

const SECONDS_PER_DAY: u64 = 86_400;

/// Reads a lifetime of one second to ten years.
///
/// # Errors
/// A message for the user.
pub(super) fn parse_lifetime(text: &str) -> Result<Duration, String> {
    let malformed = || "give a whole number and a unit, such as 90s, 15m, 1h or 7d".to_owned();
    let unit = text.chars().next_back().ok_or_else(malformed)?;
    let seconds_per_unit = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => SECONDS_PER_DAY,
        _ => return Err(malformed()),
    };
    let digits = &text[..text.len() - unit.len_utf8()];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed());
    }
    // A text of digits fails to parse only if it is too large.
    let seconds = digits.parse().ok().and_then(|count: u64| count.checked_mul(seconds_per_unit));
    match seconds.map(Duration::from_secs) {
        Some(Duration::ZERO) => Err("the minimum is 1s".to_owned()),
        Some(lifetime) if lifetime <= MAX_LIFETIME => Ok(lifetime),
        _ => Err("the maximum is 3650d".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_read() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1h", 3_600), ("7d", 604_800), ("3650d", 315_360_000)] {
            assert_eq!(parse_lifetime(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn malformed_lifetimes_are_refused() {
        for text in ["", "s", "1", "1 h", " 1h", "1.5h", "-1h", "+1h", "1w", "1H", "h1", "1hh", "1é", "१h"] {
            assert!(parse_lifetime(text).unwrap_err().contains("such as 90s"), "{text}");
        }
    }

    #[test]
    fn zero_and_too_long_lifetimes_are_refused() {
        assert!(parse_lifetime("0s").unwrap_err().contains("the minimum"));
        assert!(parse_lifetime("00d").unwrap_err().contains("the minimum"));
        for text in ["3651d", "87601h", "18446744073709551615d", "99999999999999999999999s"] {
            assert_eq!(parse_lifetime(text), Err("the maximum is 3650d".to_owned()), "{text}");
        }
    }
}
