use super::*;
use proptest::prelude::*;

fn selected(select: &str, data: &str) -> String {
    let selection = Selection::parse(select).unwrap_or_else(|error| panic!("{select}: {error}"));
    let mut out = Vec::new();
    selection.apply(&Document::parse(data).expect("valid data"), &mut out);
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn fields_are_kept_or_dropped_through_arrays() {
    for (select, data, expected) in [
        (r#"{}"#, r#" {"a": 1} "#, r#" {"a": 1} "#),
        (r#"{"a":1}"#, r#"{"b":1,"a":1.10}"#, r#"{"a":1.10}"#),
        (r#"{"b":1,"a":true}"#, r#"{"a":9007199254740993,"c":0,"b":[1, 2]}"#, r#"{"a":9007199254740993,"b":[1, 2]}"#),
        (r#"{"a":0}"#, r#"{"b":1,"a":2,"c":3e0}"#, r#"{"b":1,"c":3e0}"#),
        (r#"{"a":1}"#, r#"{"b":1}"#, r#"{}"#),
        (r#"{"a.b":1}"#, r#"{"a":{"b":1,"c":2},"d":3}"#, r#"{"a":{"b":1}}"#),
        (r#"{"a.b":1}"#, r#"{"a":5}"#, r#"{}"#),
        (r#"{"a.b":1}"#, r#"{"a":{"c":2}}"#, r#"{"a":{}}"#),
        (r#"{"a.b":1}"#, r#"{"a":[{"b":1,"c":2},5,{"c":3},[{"b":4}],null]}"#, r#"{"a":[{"b":1},{},[{"b":4}]]}"#),
        (r#"{"a.b":0}"#, r#"{"a":[{"b":1,"c":2},5,{"c":3},[{"b":4}],null]}"#, r#"{"a":[{"c":2},5,{"c":3},[{}],null]}"#),
        (r#"{"a.b":0}"#, r#"{"a":5}"#, r#"{"a":5}"#),
        (r#"{"a.0":1}"#, r#"{"a":[1,2]}"#, r#"{"a":[]}"#),
        (r#"{"a":{"b":1},"c":1}"#, r#"{"a":{"b":1,"d":2},"c":3}"#, r#"{"a":{"b":1},"c":3}"#),
        (r#"{"a":1}"#, r#"{"\u0061":"\u00e9"}"#, r#"{"\u0061":"\u00e9"}"#),
        (r#"{"a":1}"#, r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3}"#),
        (r#"{"b":0}"#, r#"{"a":1,"b":2,"a":3,"b":4}"#, r#"{"a":3}"#),
        (r#"{"_id":0}"#, r#"{"_id":1,"a":2}"#, r#"{"a":2}"#),
        (r#"{"a":-0.0}"#, r#"{"a":1,"b":2}"#, r#"{"b":2}"#),
        (r#"{"a":2.5}"#, r#"{"a":1,"b":2}"#, r#"{"a":1}"#),
        (r#"{"a":1}"#, r#"[{"a":1,"b":2},3]"#, r#"[{"a":1}]"#),
        (r#"{"a":1}"#, r#""text""#, r#"{}"#),
        (r#"{"a":0}"#, r#""text""#, r#""text""#),
    ] {
        assert_eq!(selected(select, data), expected, "{select} of {data}");
    }
}

#[test]
fn invalid_selections_are_refused() {
    let deep = format!(r#"{{"{}":1}}"#, vec!["a"; 17].join("."));
    let nested = format!("{}1{}", r#"{"a":"#.repeat(17), "}".repeat(17));
    let malicious = r#"{"a":"#.repeat(100_000);
    let many = format!("{{{}}}", (0..65).map(|at| format!("\"f{at}\":1")).collect::<Vec<_>>().join(","));
    let long = format!(r#"{{"{}":1}}"#, "x".repeat(4096));
    for select in [
        "",
        "null",
        "[]",
        "1",
        r#"{"a":1,"b":0}"#,
        r#"{"a":true,"b":false}"#,
        r#"{"a":{"b":1},"c":0}"#,
        r#"{"a":1,"a.b":1}"#,
        r#"{"a.b":1,"a":1}"#,
        r#"{"a.b":0,"a":{"b":0}}"#,
        r#"{"a":1,"a":1}"#,
        r#"{"a":"x"}"#,
        r#"{"a":null}"#,
        r#"{"a":[]}"#,
        r#"{"a":{}}"#,
        r#"{"":1}"#,
        r#"{"a.":1}"#,
        r#"{".a":1}"#,
        r#"{"a..b":1}"#,
        r#"{"$a":1}"#,
        r#"{"a":{"$slice":1}}"#,
        r#"{"a.$":1}"#,
        &deep,
        &nested,
        &malicious,
        &many,
        &long,
    ] {
        assert!(Selection::parse(select).is_err(), "{}", &select[..select.len().min(60)]);
    }
}

#[test]
fn a_selection_at_each_limit_is_accepted() {
    assert!(Selection::parse(&format!(r#"{{"{}":1}}"#, vec!["a"; 16].join("."))).is_ok());
    let many = format!("{{{}}}", (0..64).map(|at| format!("\"f{at}\":1")).collect::<Vec<_>>().join(","));
    assert!(Selection::parse(&many).is_ok());
    assert!(Selection::parse(&format!(r#"{{"{}":1}}"#, "x".repeat(4096 - 6))).is_ok());
}

#[test]
fn equal_selections_are_equal_values() {
    let parse = |text| Selection::parse(text).expect("valid");
    assert_eq!(parse(r#"{"a":1,"b.c":1,"b.d":true}"#), parse(r#"{"b":{"d":1,"c":2},"a":1}"#));
    assert_ne!(parse(r#"{"a":1}"#), parse(r#"{"a":0}"#));
    assert!(parse("{}").is_everything());
    assert!(!parse(r#"{"a":0}"#).is_everything());
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,100}") {
        let _ = Selection::parse(&text);
    }

    #[test]
    fn the_result_is_json_and_each_field_is_either_kept_or_dropped(
        fields in prop::collection::vec(("[ab]", "(1|\"x\"|\\[\\{\"a\":1,\"b\":2\\},3\\]|\\{\"a\":\\{\"b\":5\\}\\})"), 0..4),
        path in "[ab](\\.[ab]){0,2}",
    ) {
        let fields: Vec<_> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        let data = format!("{{{}}}", fields.join(","));
        for mode in [0, 1] {
            let result = selected(&format!("{{\"{path}\":{mode}}}"), &data);
            prop_assert!(Document::parse(&result).is_ok());
            prop_assert_eq!(selected(&format!("{{\"{path}\":{mode}}}"), &result), result);
        }
        let name = &path[..1];
        let kept = selected(&format!("{{\"{name}\":1}}"), &data);
        let dropped = selected(&format!("{{\"{name}\":0}}"), &data);
        let count = |text: &str| Document::parse(text).expect("valid").root().fields().count();
        prop_assert_eq!(count(&kept) + count(&dropped), count(&data));
    }
}
