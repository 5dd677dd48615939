use super::*;
use proptest::prelude::*;

fn refused(text: &str) -> String {
    match Condition::parse(text) {
        Err(ConditionError::Invalid(message)) => message,
        other => panic!("{text} gives {other:?}"),
    }
}

fn is_too_large(text: &str) -> bool {
    matches!(Condition::parse(text), Err(ConditionError::TooLarge(_)))
}

fn parsed(text: &str) -> Condition {
    Condition::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn unknown_operators_are_named_at_any_depth() {
    for (text, name) in [
        (r#"{"$foo":1}"#, "$foo"),
        (r#"{"a":{"$foo":1}}"#, "$foo"),
        (r#"{"a":{"$gt":1,"$foo":1}}"#, "$foo"),
        (r#"{"a":{"$not":{"$foo":1}}}"#, "$foo"),
        (r#"{"a":{"$elemMatch":{"b":{"$foo":1}}}}"#, "$foo"),
        (r#"{"$and":[{"$or":[{"a":{"$foo":1}}]}]}"#, "$foo"),
        (r#"{"a":{"$in":[1,{"$foo":1}]}}"#, "$foo"),
        (r#"{"a":{"$eq":[{"b":{"$foo":1}}]}}"#, "$foo"),
        (r#"{"a":{"$gt":{"$date":"2020-01-01"}}}"#, "$date"),
        (r#"{"a":{"\u0024foo":1}}"#, "$foo"),
        (r#"{"$where":"1"}"#, "$where"),
        (r#"{"a":{"$":1}}"#, "$"),
    ] {
        assert!(refused(text).contains(&format!("unknown operator {name};")), "{text}");
    }
}

#[test]
fn messages_truncate_long_names_and_escape_control_characters() {
    let message = refused(&format!(r#"{{"${}":1}}"#, "x".repeat(3000)));
    assert!(message.len() < 300 && message.contains("xxx…"), "{message}");
    assert!(!refused(r#"{"$a\nb\u0000":1}"#).contains(['\n', '\0']));
}

#[test]
fn the_message_about_a_misplaced_operator_says_what_to_write() {
    assert!(refused(r#"{"$gt":1}"#).contains("inside a field"));
    assert!(refused(r#"{"a":{"$or":[{"b":1}]}}"#).contains("outside of a field"));
    assert!(refused(r#"{"a":{"b":{"$gt":1}}}"#).contains("path with dots"));
    assert!(refused(r#"{"a":{"$gt":1,"b":2}}"#).contains("next to operators"));
    assert!(refused(r#"{"a":{"b":2,"$gt":1}}"#).contains("$gt"));
}

#[test]
fn a_message_names_the_innermost_field() {
    assert_eq!(refused(r#"{"a":{"$size":-1}}"#), "in field \"a\": $size takes a whole number from 0");
    let nested = r#"{"a":{"$elemMatch":{"b":{"$not":{"$exists":"yes"}}}}}"#;
    assert_eq!(refused(nested), "in field \"b\": $exists takes true or false");
}

#[test]
fn invalid_criteria_are_refused() {
    for text in
        ["", "null", "[]", "1", "{", r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"\u0062":2}}"#, r#"{"a":{"$gt":1,"$gt":2}}"#]
    {
        refused(text);
    }
}

#[test]
fn each_limit_accepts_its_maximum_and_refuses_one_more() {
    let nested = |levels: usize| format!("{}{{\"a\":1}}{}", "{\"$and\":[".repeat(levels), "]}".repeat(levels));
    parsed(&nested(7));
    assert!(is_too_large(&nested(8)), "17 levels");
    let value = |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    parsed(&value(15));
    assert!(is_too_large(&value(16)));
    let fields =
        |count: usize| format!("{{{}}}", (0..count).map(|at| format!("\"f{at}\":{at}")).collect::<Vec<_>>().join(","));
    parsed(&fields(64));
    assert!(is_too_large(&fields(65)));
    let list = |count: usize| format!("{{\"a\":{{\"$in\":{:?}}}}}", (0..count).collect::<Vec<_>>());
    parsed(&list(100));
    assert!(is_too_large(&list(101)));
    let text = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length - 8));
    parsed(&text(4096));
    assert!(is_too_large(&text(4097)));
    let path = |segments: usize| format!("{{\"{}\":1}}", vec!["a"; segments].join("."));
    parsed(&path(128));
    assert!(is_too_large(&path(129)));
}

#[test]
fn a_hundred_thousand_levels_are_refused_without_a_stack_overflow() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("{\"$and\":[", "]}"), ("{\"$not\":", "}")] {
        let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(is_too_large(&text));
    }
}

#[test]
fn the_memory_of_patterns_is_limited_for_one_and_for_all_together() {
    let one = |pattern: &str| format!(r#"{{"a":{{"$regex":"{pattern}"}}}}"#);
    assert!(is_too_large(&one("(a{1000}){1000}")));
    assert!(is_too_large(&one("((((a{10}){10}){10}){10}){10}")));
    parsed(&one("^[\\\\w.+-]+@[\\\\w-]+\\\\.[a-z]{2,}$"));
    parsed(&one("^\\\\p{L}+$"));
    parsed(&one("^.{1,20}$"));
    assert!(is_too_large(&one(&"\\\\p{L}".repeat(9))));
    let many = |count: usize| {
        let all: Vec<String> = (0..count).map(|at| format!(r#"{{"a":{{"$regex":"[a-z]{{100}}{at}"}}}}"#)).collect();
        format!(r#"{{"$or":[{}]}}"#, all.join(","))
    };
    parsed(&many(2));
    assert!(is_too_large(&many(63)));
}

#[test]
fn patterns_that_are_invalid_or_not_linear_are_refused() {
    for pattern in ["(?=a)", "(?!a)", "(?<=a)b", "(a)\\\\1", "(", "a**{", "[", "\\\\", "(?<n>a)\\\\k<n>", "[b-a]"] {
        refused(&format!(r#"{{"a":{{"$regex":"{pattern}"}}}}"#));
    }
}

#[test]
fn case_insensitive_brackets_are_charged_by_their_characters() {
    let with =
        |pattern: &str, options: &str| serde_json::json!({"a": {"$regex": pattern, "$options": options}}).to_string();
    for wide in ["[!-\u{10FFFF}]", "[a[^b]]", "[a[[^b]]]", "\\p{Any}", "[\\p{L}]", "[[:^alpha:]]", "[\\W_]"] {
        parsed(&with(wide, ""));
        for (pattern, options) in
            [(wide.to_owned(), "i"), (format!("(?i){wide}"), ""), (format!("(?s-m:(?x)(?i:{wide}))"), "")]
        {
            assert!(is_too_large(&with(&pattern, options)), "{pattern}");
        }
    }
    for narrow in ["[^b]", "[\\s\\S]", "[^\\w\\s.]", "[a-z[:digit:]]", "[\u{4E00}-\u{9FFF}]", "[[[a-z]]]", "\\W"] {
        parsed(&with(narrow, "i"));
    }
    assert!(is_too_large(&with("[\u{4E00}-\u{9FFF}]{0}[\u{4E00}-\u{9FFF}]", "i")), "together");
}

#[test]
fn set_operations_in_brackets_are_refused_because_mongodb_reads_them_as_characters() {
    for pattern in ["[a&&b]", "[a-z--b]", "[ab~~bc]", "[x[a&&b]]"] {
        refused(&format!(r#"{{"a":{{"$regex":"{pattern}"}}}}"#));
    }
    parsed(r#"{"a":{"$regex":"[a\\&\\&b&~-]"}}"#);
}

#[test]
fn equal_conditions_are_equal_values() {
    for (left, right) in [
        (r#"{"a":1}"#, r#" { "a" : { "$eq" : 1.0 } } "#),
        (r#"{"a":1,"b":2}"#, r#"{"$and":[{"a":1},{"$and":[{"b":2}]}]}"#),
        (r#"{"a":{"$gt":1,"$lt":5}}"#, r#"{"$and":[{"a":{"$gt":1}},{"a":{"$lt":5e0}}]}"#),
        (r#"{"a":{"$in":[2,1,1.0,"x"]}}"#, r#"{"a":{"$in":["x",1,2]}}"#),
        (r#"{"a":{"$regex":"x","$options":"mi"}}"#, r#"{"a":{"$options":"imm","$regex":"x"}}"#),
        (r#"{}"#, r#"{"$and":[{}]}"#),
    ] {
        assert_eq!(parsed(left), parsed(right), "{left} {right}");
    }
    assert_ne!(parsed(r#"{"a":{"b":1,"c":2}}"#), parsed(r#"{"a":{"c":2,"b":1}}"#));
}

#[test]
fn segments_are_indices_only_in_canonical_form() {
    let path = read_path("a.0.17.01.-1.4294967295.4294967296..x").expect("short");
    let indices: Vec<_> = path.segments.iter().map(|segment| segment.index).collect();
    assert_eq!(indices, [None, Some(0), Some(17), None, None, Some(u32::MAX), None, None, None]);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = Condition::parse(&text);
    }

    #[test]
    fn arbitrary_operators_never_panic(text in "(\\{|\\}|\\[|\\]|,|:|\"a\"|\"\\$(and|or|not|in|all|elemMatch|regex|options|mod|size|type|gt|exists)\"|1|-1|1e999999999|null|true|\"i\"|\"\\(\"){0,30}") {
        let _ = Condition::parse(&text);
    }

    #[test]
    fn arbitrary_patterns_never_panic(pattern in "\\PC{0,40}", options in "[imsxu]{0,3}") {
        let text = serde_json::json!({"a": {"$regex": pattern, "$options": options}}).to_string();
        let _ = Condition::parse(&text);
    }

    #[test]
    fn arbitrary_operands_never_panic(name in "\\$(eq|ne|gt|in|nin|all|elemMatch|regex|options|mod|size|type|exists|not)", operand in "(-?[0-9]{1,25}(e-?[0-9]{1,25})?|\"[a-z]{0,6}\"|\\[\\]|\\{\\}|null|true|\\[-?[0-9]{1,25},-?[0-9]{1,25}\\])") {
        if let Ok(condition) = Condition::parse(&format!("{{\"a\":{{\"{name}\":{operand}}}}}")) {
            let data = format!("{{\"a\":{operand}}}");
            let document = Document::parse(&data).expect("valid");
            condition.matches(&document, &crate::condition::CostBudget::default());
        }
    }
}
