use super::*;
use crate::condition::Literal;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

fn nested(levels: usize) -> String {
    format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
}

fn path(text: &str) -> Path {
    crate::condition::parse::read_path(text).expect("a short path")
}

fn candidates(data: &str, at: &str) -> Vec<String> {
    let document = Document::parse(data).expect("valid data");
    let mut found = Vec::new();
    document.for_each_candidate(&path(at), &CostBudget::default(), &mut |value| found.push(format!("{value:?}")));
    found
}

fn hash_of(write: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    write(&mut hasher);
    hasher.finish()
}

fn value_hash(text: &str) -> u64 {
    let document = Document::parse(text).expect("valid data");
    hash_of(|hasher| document.root().hash_canonical(hasher))
}

#[test]
fn a_depth_of_128_is_accepted_and_129_is_refused() {
    assert!(Document::parse(&nested(128)).is_ok());
    assert_eq!(Document::parse(&nested(129)).err(), Some(DocumentError::TooDeep));
    assert_eq!(Document::parse(&"[".repeat(100_000)).err(), Some(DocumentError::TooDeep));
    assert_eq!(Document::parse(&"{\"a\":".repeat(100_000)).err(), Some(DocumentError::TooDeep));
    let wide = format!("[{}]", vec!["[]"; 1000].join(","));
    assert!(Document::parse(&wide).is_ok(), "adjacent brackets are not nested");
}

#[test]
fn invalid_json_is_refused_with_the_position_of_the_error() {
    for (text, at) in [
        ("", 0),
        ("  ", 2),
        ("{", 1),
        ("[1,]", 3),
        ("[,1]", 1),
        ("{,}", 1),
        ("{\"a\"}", 4),
        ("{\"a\":}", 5),
        ("{\"a\":1,}", 7),
        ("{1:2}", 1),
        ("[1}", 2),
        ("{\"a\":1]", 6),
        ("1 2", 2),
        ("]", 0),
        ("nul", 0),
        ("tru e", 0),
        ("\"a", 2),
        ("\"\t\"", 1),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 5),
        ("01", 1),
        ("-", 1),
        ("1.", 2),
        ("1e+", 3),
        ("\u{feff}1", 0),
    ] {
        assert_eq!(Document::parse(text).err(), Some(DocumentError::Syntax(at)), "{text:?}");
    }
}

#[test]
fn the_last_duplicate_key_counts_and_the_others_are_hidden() {
    let document = Document::parse(r#"{"a":1,"b":2,"\u0061":3,"b":{"c":4,"c":5}}"#).expect("valid");
    let root = document.root();
    assert_eq!(root.field("a").map(|value| value.raw()), Some("3"));
    let fields: Vec<_> = root.fields().map(|(key, value)| (key.as_str().expect("key"), value.raw())).collect();
    assert_eq!(fields, [("a".into(), "3"), ("b".into(), r#"{"c":4,"c":5}"#)]);
    assert_eq!(value_hash(r#"{"a":1,"a":2}"#), value_hash(r#"{"a":2}"#));
    assert_eq!(document.duplicate_key().as_deref(), Some("a"));
}

#[test]
fn many_duplicate_keys_in_one_object_are_found() {
    let fields: Vec<String> = (0..5000).map(|at| format!("\"k{}\":{at}", at % 100)).collect();
    let text = format!("{{{}}}", fields.join(","));
    let document = Document::parse(&text).expect("valid");
    assert_eq!(document.root().fields().count(), 100);
    assert_eq!(document.root().field("k7").map(|value| value.raw()), Some("4907"));
}

#[test]
fn strings_are_decoded_and_lone_surrogates_are_replaced() {
    for (text, decoded) in [
        (r#""plain é""#, "plain é"),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u00e9\u0000x""#, "é\0x"),
        (r#""\ud83d\ude00!""#, "😀!"),
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (r#""\ud83dx""#, "\u{fffd}x"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""""#, ""),
    ] {
        let document = Document::parse(text).expect("valid");
        assert_eq!(document.root().as_str().as_deref(), Some(decoded), "{text}");
        assert!(document.root().is_text(decoded));
    }
}

#[test]
fn candidates_are_the_values_that_an_equality_compares() {
    for (data, at, expected) in [
        (r#"{"a":1}"#, "a", &["1"][..]),
        (r#"{"a":[1,[2]]}"#, "a", &["1", "[2]", "[1,[2]]"]),
        (r#"{"a":[{"b":1},{"b":[2]},3,{}]}"#, "a.b", &["1", "2", "[2]", "missing"]),
        (r#"{"a":[5,[2,4],3]}"#, "a.1", &["[2,4]"]),
        (r#"{"a":[5,{"1":4},3]}"#, "a.1", &["4", r#"{"1":4}"#]),
        (r#"{"a":[5,{"b":4},3]}"#, "a.1.b", &["missing", "4"]),
        (r#"{"a":[5,[{"b":4}],3]}"#, "a.1.b", &["4"]),
        (r#"{"a":[]}"#, "a.b", &[]),
        (r#"{"a":[1,2]}"#, "a.b", &[]),
        (r#"{"a":1}"#, "a.b", &["missing"]),
        (r#"{}"#, "a.b.c", &["missing"]),
        (r#"[{"a":1},{"a":2}]"#, "a", &["1", "2"]),
        (r#""scalar""#, "a", &["missing"]),
        (r#"{"":{"":1}}"#, ".", &["1"]),
        (r#"{"a":{"":{"b":1}}}"#, "a..b", &["1"]),
    ] {
        assert_eq!(candidates(data, at), expected, "{at} in {data}");
    }
}

#[test]
fn a_malicious_path_of_indices_takes_polynomial_time() {
    // At each level, both the index and the field lead on: 2^63 ways to few values.
    let data = format!("{}1{}", "[{\"0\":".repeat(63), "}]".repeat(63));
    let document = Document::parse(&data).expect("126 levels");
    for segments in [32, 63, 64, 100, 126] {
        let mut calls = 0_u64;
        let malicious = path(&vec!["0"; segments].join("."));
        document.for_each_candidate(&malicious, &CostBudget::default(), &mut |_| calls += 1);
        assert!(calls < 20_000, "{calls} calls for {segments} segments");
    }
}

#[test]
fn a_path_exists_if_it_leads_to_a_value() {
    for (data, at, expected) in [
        (r#"{"a":null}"#, "a", true),
        (r#"{"a":[]}"#, "a", true),
        (r#"{}"#, "a", false),
        (r#"{"a":[{},{"b":1}]}"#, "a.b", true),
        (r#"{"a":[1]}"#, "a.1", false),
        (r#"{"a":[1]}"#, "a.0", true),
    ] {
        let document = Document::parse(data).expect("valid");
        assert_eq!(document.has(&path(at), &CostBudget::default()), expected, "{at} in {data}");
    }
}

#[test]
fn a_missing_value_hashes_as_null_and_different_values_hash_differently() {
    let document = Document::parse("{}").expect("valid");
    document.for_each_candidate(&path("a"), &CostBudget::default(), &mut |value| {
        assert!(value.is_missing());
        assert_eq!(
            hash_of(|hasher| value.hash_canonical(hasher)),
            hash_of(|hasher| Literal::Null.hash_canonical(hasher))
        );
    });
    let different = ["null", "0", "false", "\"\"", "[]", "{}", "[null]", "[[]]", "\"0\"", "true", "[1,2]", "[[1],2]"];
    let hashes: std::collections::HashSet<u64> = different.iter().map(|text| value_hash(text)).collect();
    assert_eq!(hashes.len(), different.len());
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,2})?([eE][+-]?[0-9]{1,2})?",
        "\"([a-c]|\\\\n|\\\\u00e9|\\\\u0061|é){0,3}\"",
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|all| format!("[{}]", all.join(", "))),
            prop::collection::vec(("\"(a|b|\\\\u0061)?\"", inner), 0..4).prop_map(|all| {
                let fields: Vec<_> = all.iter().map(|(key, value)| format!("{key} :{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_text_is_accepted_exactly_if_serde_json_accepts_it(text in "[\\[\\]{}:,\"\\\\0-9a-fnrtuls.eE+\\- \t]{0,24}") {
        prop_assert_eq!(Document::parse(&text).is_ok(), serde_json::from_str::<IgnoredAny>(&text).is_ok());
    }

    #[test]
    fn mutated_json_is_accepted_exactly_if_serde_json_accepts_it(text in json(), at: prop::sample::Index, with in "[\\[\\]{}:,\"\\\\0-9u. e]?") {
        prop_assert!(Document::parse(&text).is_ok());
        let mut characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        characters.splice(at..=at, with.chars());
        let mutated: String = characters.into_iter().collect();
        prop_assert_eq!(Document::parse(&mutated).is_ok(), serde_json::from_str::<IgnoredAny>(&mutated).is_ok());
    }

    #[test]
    fn values_equal_those_of_serde_json(text in json()) {
        let document = Document::parse(&text).expect("valid");
        let expected: serde_json::Value = serde_json::from_str(&text).expect("valid");
        prop_assert!(is_same(document.root(), &expected), "{}", text);
    }

    #[test]
    fn values_are_equal_exactly_if_their_canonical_hashes_are(left in json(), right in json()) {
        let (left_document, right_document) = (Document::parse(&left).expect("valid"), Document::parse(&right).expect("valid"));
        let literal = right_document.root().to_literal();
        prop_assert_eq!(value_hash(&right), hash_of(|hasher| literal.hash_canonical(hasher)));
        prop_assert!(right_document.root().equals(&literal));
        let equal = left_document.root().equals(&literal);
        prop_assert_eq!(equal, left_document.root().to_literal() == literal);
        prop_assert_eq!(equal, value_hash(&left) == value_hash(&right));
        prop_assert_eq!(left_document.root().order(&literal), left_document.root().to_literal().order(&literal));
    }
}

fn is_same(value: Value<'_>, expected: &serde_json::Value) -> bool {
    match expected {
        serde_json::Value::Null => value.kind() == Kind::Null,
        serde_json::Value::Bool(expected) => value.as_bool() == Some(*expected),
        serde_json::Value::Number(expected) => {
            // Both are rounded, possibly in different ways.
            let (read, expected) = (value.raw().parse::<f64>(), expected.as_f64().unwrap_or(f64::NAN));
            read.is_ok_and(|read| (read - expected).abs() <= expected.abs() * 1e-9)
        }
        serde_json::Value::String(expected) => value.as_str().as_deref() == Some(expected),
        serde_json::Value::Array(expected) => {
            value.elements().count() == expected.len()
                && value.elements().zip(expected).all(|(value, expected)| is_same(value, expected))
        }
        serde_json::Value::Object(expected) => {
            value.fields().count() == expected.len()
                && expected.iter().all(|(key, expected)| value.field(key).is_some_and(|value| is_same(value, expected)))
        }
    }
}
