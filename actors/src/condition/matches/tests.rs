use super::naive;
use crate::condition::document::Document;
use crate::condition::{Condition, CostBudget};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn matches(criteria: &str, data: &str) -> bool {
    decide(criteria, data).unwrap_or_else(|| panic!("{criteria} exceeds the cost limit"))
}

fn decide(criteria: &str, data: &str) -> Option<bool> {
    let condition = Condition::parse(criteria).unwrap_or_else(|error| panic!("{criteria}: {error}"));
    condition.matches(&Document::parse(data).expect("valid data"), &CostBudget::default())
}

// Cases that tests/conditions/cases.jsonl cannot contain, because mingo reads numbers and keys as JavaScript does.
#[test]
fn numbers_are_compared_exactly_and_the_last_duplicate_key_counts() {
    for (criteria, data, expected) in [
        (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#, false),
        (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740993.000}"#, true),
        (r#"{"a":{"$gt":9007199254740992}}"#, r#"{"a":9007199254740993}"#, true),
        (r#"{"a":{"$lt":1e999999999}}"#, r#"{"a":1e999999998}"#, true),
        (r#"{"a":{"$mod":[10,3]}}"#, r#"{"a":9007199254740993}"#, true),
        (r#"{"a":{"$mod":[-1,0]}}"#, r#"{"a":-9223372036854775808}"#, true),
        (r#"{"a":{"$mod":[2,0]}}"#, r#"{"a":1e999999999}"#, false),
        (r#"{"a":2}"#, r#"{"a":1,"a":2}"#, true),
        (r#"{"a":1}"#, r#"{"a":1,"a":2}"#, false),
        (r#"{"a":{"b":2}}"#, r#"{"a":{"b":1,"b":2}}"#, true),
        (r#"{"a":{"$size":1}}"#, r#"{"a":[1,2],"a":[1]}"#, true),
        (r#"{"a":"é"}"#, r#"{"\u0061":"\u00e9"}"#, true),
        (r#"{"a":{"$type":"int"}}"#, r#"{"a":1.0}"#, false),
        (r#"{"a":{"$type":"double"}}"#, r#"{"a":1.0}"#, true),
        (r#"{"a":{"$type":"double"}}"#, r#"{"a":9223372036854775808}"#, true),
        (r#"{"a":{"$type":18}}"#, r#"{"a":-2147483649}"#, true),
        (r#"{"a":{"$in":[{"$regex":"^x","$options":"i"},3]}}"#, r#"{"a":["y","Xa"]}"#, true),
        (r#"{"a":{"$nin":[{"$regex":"^x"}]}}"#, r#"{"a":["y","xa"]}"#, false),
        (r#"{"a":{"$all":[{"$regex":"^x"},{"$regex":"z$"},3]}}"#, r#"{"a":[3,"xz"]}"#, true),
        (r#"{"a":{"$all":[{"$regex":"^x"},{"$regex":"z$"},3]}}"#, r#"{"a":[3,"x"]}"#, false),
        (r#"{"a":null}"#, r#""scalar""#, true),
        (r#"{"a":{"$exists":true}}"#, "5", false),
        (r#"{"a":{"$elemMatch":{"b":null}}}"#, r#"{"a":[[]]}"#, true),
    ] {
        assert_eq!(matches(criteria, data), expected, "{criteria} {data}");
    }
}

#[test]
fn all_with_a_hundred_values_reads_a_wide_array_once() {
    let list: Vec<u32> = (0..100).collect();
    let data = format!("{{\"a\":[{}]}}", (0..40_000).map(|at| at.to_string()).collect::<Vec<_>>().join(","));
    assert!(matches(&json!({"a": {"$all": list}}).to_string(), &data));
    assert!(!matches(&json!({"a": {"$all": [0, 40_000]}}).to_string(), &data));
}

#[test]
fn a_condition_over_its_cost_limit_has_no_result() {
    let data = format!("{{\"a\":[{}],\"b\":1}}", vec!["1"; 100_000].join(","));
    let unmet: Vec<Value> = (2..40).map(|number| json!({ "a": number })).collect();
    assert!(matches(&json!({ "$nor": unmet[..3] }).to_string(), &data));
    assert_eq!(decide(&json!({ "$nor": unmet }).to_string(), &data), None);
    assert_eq!(decide(&json!({ "$or": [{ "$or": unmet }, { "b": 1 }] }).to_string(), &data), None);
    let passing: Vec<Value> = (0..60).map(|number| json!({ format!("a.b.{number}"): 1 })).collect();
    assert_eq!(decide(&json!({ "$or": passing }).to_string(), &data), Some(false));
    let wide = format!("{{{},\"a\":1}}", (0..40_000).map(|at| format!("\"{at}\":0")).collect::<Vec<_>>().join(","));
    assert_eq!(decide(r#"{"a":1}"#, &wide), Some(true));
    let elements = json!({ "a": { "$not": { "$elemMatch": { "$nin": [1] } } } });
    assert!(matches(&elements.to_string(), &data));
}

#[test]
fn an_expensive_pattern_reaches_the_cost_limit_on_shorter_texts() {
    let text = |length: usize| json!({ "a": "ab".repeat(length / 2) }).to_string();
    let cheap = json!({ "a": { "$regex": "b$" } }).to_string();
    assert!(matches(&cheap, &text(256 * 1024)));
    let expensive = json!({ "a": { "$regex": "a(?:a?b?){60}$" } }).to_string();
    assert!(matches(&expensive, &text(5_000)));
    assert_eq!(decide(&expensive, &text(100_000)), None);
}

#[test]
fn a_wide_array_that_many_ways_lead_to_is_read_once_per_segment() {
    let (open, close) = ("[{\"0\":".repeat(60), "}]".repeat(60));
    let data = format!("{open}[{}]{close}", vec!["{}"; 10_000].join(","));
    let path = vec!["0"; 100].join(".");
    let path = crate::condition::parse::read_path(&path).expect("short");
    let mut visited = 0;
    let budget = CostBudget::new(usize::MAX);
    Document::parse(&data).expect("valid").for_each_candidate(&path, &budget, &mut |_| visited += 1);
    assert!(visited <= 100 * 10_100, "{visited}");
}

// Few values, so that criteria often match.
fn scalar() -> impl Strategy<Value = Value> {
    select(vec![json!(null), json!(true), json!(0), json!(1), json!(2.5), json!("a"), json!("ab")])
}

fn value(depth: u32) -> impl Strategy<Value = Value> {
    scalar().prop_recursive(depth, 12, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            2 => prop::collection::vec((select(vec!["a", "b", "0", "1"]), inner), 0..4).prop_map(object),
        ]
    })
}

fn object(fields: Vec<(&'static str, Value)>) -> Value {
    Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Several event data for each condition. Most of them have values at the paths.
fn data() -> impl Strategy<Value = Vec<Value>> {
    let fields = prop::collection::vec((select(vec!["a", "a", "b", "0"]), value(4)), 0..3).prop_map(object);
    prop::collection::vec(prop_oneof![9 => fields, 1 => value(3)], 24)
}

fn operator() -> impl Strategy<Value = Value> {
    let operand = || prop_oneof![3 => scalar(), 1 => value(2)];
    let leaf = prop_oneof![
        (select(vec!["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), operand())
            .prop_map(|(name, operand)| json!({ name: operand })),
        (select(vec!["$in", "$nin", "$all"]), prop::collection::vec(operand(), 0..3))
            .prop_map(|(name, list)| json!({ name: list })),
        any::<bool>().prop_map(|wanted| json!({ "$exists": wanted })),
        select(vec!["null", "bool", "number", "string", "array", "object"]).prop_map(|name| json!({ "$type": name })),
        (0..3).prop_map(|size| json!({ "$size": size })),
        (select(vec![-2, 2, 3]), -1..2).prop_map(|(divisor, remainder)| json!({ "$mod": [divisor, remainder] })),
        select(vec!["a", "b", ""]).prop_map(|pattern| json!({ "$regex": pattern })),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| json!({ "$not": inner })),
            inner.clone().prop_map(|inner| json!({ "$elemMatch": inner })),
            (select(PATHS.to_vec()), inner.clone()).prop_map(|(path, inner)| json!({ "$elemMatch": { path: inner } })),
            (inner.clone(), inner).prop_map(|(left, right)| {
                let mut both = left.as_object().cloned().expect("an object");
                both.extend(right.as_object().cloned().expect("an object"));
                Value::Object(both)
            }),
        ]
    })
}

const PATHS: [&str; 9] = ["a", "b", "0", "a.b", "a.0", "a.a", "a.0.b", "0.1", "a.b.1"];

fn criteria() -> impl Strategy<Value = Value> {
    let field = (select(PATHS.to_vec()), prop_oneof![3 => operator(), 1 => value(2)])
        .prop_map(|(path, asked)| json!({ path: asked }));
    field.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            (select(vec!["$and", "$or", "$nor"]), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(name, parts)| json!({ name: parts })),
            (inner.clone(), inner).prop_map(|(left, right)| {
                let mut both = left.as_object().cloned().expect("an object");
                both.extend(right.as_object().cloned().expect("an object"));
                Value::Object(both)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn conditions_match_exactly_if_the_naive_matcher_does(criteria in criteria(), data in data()) {
        for data in data {
            let expected = naive::matches(&criteria, &data);
            prop_assert_eq!(matches(&criteria.to_string(), &data.to_string()), expected, "{} {}", criteria, data);
        }
    }

    #[test]
    fn not_and_nor_are_negations(path in select(PATHS.to_vec()), asked in operator(), data in data()) {
        for data in data {
            let data = data.to_string();
            let plain = matches(&json!({ path: asked }).to_string(), &data);
            prop_assert_eq!(matches(&json!({ path: { "$not": asked } }).to_string(), &data), !plain);
            prop_assert_eq!(matches(&json!({ "$nor": [{ path: asked }] }).to_string(), &data), !plain);
        }
    }

    #[test]
    fn an_equality_matches_exactly_if_it_equals_a_candidate(path in select(PATHS.to_vec()), wanted in value(2), data in data()) {
        let wanted = wanted.to_string();
        let literal = Document::parse(&wanted).expect("valid").root().to_literal();
        let parsed_path = crate::condition::parse::read_path(path).expect("short");
        for data in data {
            let data = data.to_string();
            let document = Document::parse(&data).expect("valid");
            let mut found = false;
            let mut compare = |value: crate::condition::document::Value<'_>| found |= value.equals(&literal);
            document.for_each_candidate(&parsed_path, &CostBudget::default(), &mut compare);
            prop_assert_eq!(matches(&format!("{{\"{path}\":{{\"$eq\":{wanted}}}}}"), &data), found);
        }
    }
}
