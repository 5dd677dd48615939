use super::*;
use proptest::prelude::*;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
}

#[test]
fn different_notations_of_a_value_are_equal() {
    for (value, notations) in [
        ("1", &["1.0", "1e0", "10e-1", "0.1E+1", "1.000e00", "0.001e3"][..]),
        ("0", &["-0", "0.0", "-0.00", "0e5", "0e-99999999999999999999", "0e99999999999999999999"]),
        ("-1200", &["-1.2e3", "-12E2", "-1200.0", "-120000e-2"]),
        ("9007199254740993", &["9007199254740993.0", "9.007199254740993e15"]),
        ("123456789012345678901234567890", &["1.23456789012345678901234567890e29"]),
        ("1e999999999", &["10e999999998", "0.1e1000000000"]),
    ] {
        for notation in notations {
            assert_eq!(number(value), number(notation), "{value} = {notation}");
            assert_eq!(number(value).cmp(&number(notation)), Ordering::Equal);
        }
    }
}

#[test]
fn numbers_are_ordered_by_value() {
    let ascending = [
        "-1e99999999999999999999999",
        "-1e999999999",
        "-123456789012345678901234567891",
        "-123456789012345678901234567890",
        "-9223372036854775809",
        "-9223372036854775808",
        "-9223372036854775807",
        "-2",
        "-1.5",
        "-1",
        "-1e-999999999",
        "0",
        "1e-99999999999999999999999",
        "1e-999999999",
        "0.1",
        "0.1000000000000000055511151231257827",
        "1",
        "1.5",
        "2",
        "10",
        "9007199254740992",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "1e400",
        "1e999999999",
        "1e99999999999999999999999",
    ];
    for (left_at, left) in ascending.iter().enumerate() {
        for (right_at, right) in ascending.iter().enumerate() {
            assert_eq!(number(left).cmp(&number(right)), left_at.cmp(&right_at), "{left} <=> {right}");
        }
    }
}

#[test]
fn numbers_of_four_hundred_digits_are_compared_to_the_last_digit() {
    let (low, high) = (format!("{}1", "7".repeat(400)), format!("{}2", "7".repeat(400)));
    assert!(number(&low) < number(&high));
    assert!(number(&format!("-{low}")) > number(&format!("-{high}")));
    assert_eq!(number(&format!("{low}000")), number(&format!("{low}e3")));
}

#[test]
fn text_that_is_not_a_json_number_is_refused() {
    for text in ["", "-", "01", "-01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 ", "NaN", "1.e5", "1e5.0", "--1", "٣"]
    {
        assert_eq!(Number::parse(text), None, "{text}");
    }
}

#[test]
fn truncation_returns_none_beyond_64_bits() {
    for (text, whole) in [
        ("5.9", Some(5)),
        ("-5.9", Some(-5)),
        ("0.999", Some(0)),
        ("1e-999999999", Some(0)),
        ("12e3", Some(12_000)),
        ("9223372036854775807", Some(i64::MAX)),
        ("9223372036854775807.9", Some(i64::MAX)),
        ("9223372036854775808", None),
        ("-9223372036854775808", Some(i64::MIN)),
        ("-9223372036854775808.5", Some(i64::MIN)),
        ("-9223372036854775809", None),
        ("1e18", Some(1_000_000_000_000_000_000)),
        ("1e19", None),
        ("1e999999999", None),
        ("0e999999999", Some(0)),
        ("123456789012345678901234567890e-20", Some(1_234_567_890)),
        ("1e99999999999999999999999", None),
    ] {
        assert_eq!(number(text).to_i64_truncated(), whole, "{text}");
    }
}

#[test]
fn a_number_takes_16_bytes() {
    assert_eq!(size_of::<Number>(), 16);
}

proptest! {
    #[test]
    fn integers_are_ordered_as_integers(left: i64, right: i64) {
        let (parsed_left, parsed_right) = (number(&left.to_string()), number(&right.to_string()));
        prop_assert_eq!(&parsed_left, &Number::from(left));
        prop_assert_eq!(parsed_left.cmp(&parsed_right), left.cmp(&right));
        prop_assert_eq!(parsed_left.to_i64_truncated(), Some(left));
    }

    #[test]
    fn decimals_are_ordered_as_scaled_integers(left: i64, right: i64, left_scale in 0_u32..19, right_scale in 0_u32..19) {
        let parsed_left = number(&format!("{left}e-{left_scale}"));
        let parsed_right = number(&format!("{right}e-{right_scale}"));
        let scaled_left = i128::from(left) * 10_i128.pow(18 - left_scale);
        let scaled_right = i128::from(right) * 10_i128.pow(18 - right_scale);
        prop_assert_eq!(parsed_left.cmp(&parsed_right), scaled_left.cmp(&scaled_right));
        prop_assert_eq!(parsed_left == parsed_right, scaled_left == scaled_right);
        prop_assert_eq!(parsed_left.to_i64_truncated(), Some((scaled_left / 10_i128.pow(18)) as i64));
    }

    #[test]
    fn arbitrary_text_is_a_number_exactly_if_it_is_one_in_json(text in "-?[0-9]{0,4}(\\.[0-9]{0,3})?([eE][+-]?[0-9]{0,3})?") {
        let accepted = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(Number::parse(&text).is_some(), accepted);
    }
}
