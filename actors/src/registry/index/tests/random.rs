//! Random criteria and event data as text. There are few paths and values, so that they often match.

use proptest::prelude::*;
use proptest::sample::select;

fn path() -> impl Strategy<Value = &'static str> {
    prop_oneof![2 => select(vec!["a", "b"]), 1 => select(vec!["a.b", "a.0", "a.0.b", "b.a.1", "c", "a.c"])]
}

fn scalar() -> impl Strategy<Value = &'static str> {
    select(vec![
        "0",
        "1",
        "2",
        "1.0",
        "1.5",
        "-1",
        "9007199254740993",
        r#""""#,
        r#""x""#,
        r#""y""#,
        r#""xy""#,
        "null",
        "true",
        "false",
    ])
}

/// A value, often with arrays and objects inside.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![scalar().prop_map(str::to_owned), list(scalar().prop_map(str::to_owned), 0..4), nested_value()]
}

fn nested_value() -> impl Strategy<Value = String> {
    scalar().prop_map(str::to_owned).prop_recursive(3, 12, 4, |inner| {
        let member = (select(vec!["a", "b", "c", "0"]), inner.clone());
        prop_oneof![
            list(inner, 0..4),
            list(member.prop_map(|(key, value)| format!(r#""{key}":{value}"#)), 0..3)
                .prop_map(|members| format!("{{{}}}", &members[1..members.len() - 1])),
        ]
    })
}

fn list(item: impl Strategy<Value = String>, size: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(item, size).prop_map(|items| format!("[{}]", items.join(",")))
}

fn small_value() -> impl Strategy<Value = String> {
    prop_oneof![6 => scalar().prop_map(str::to_owned), 1 => value()]
}

/// An operator with its operand, without braces.
fn operator() -> impl Strategy<Value = String> {
    let simple = (select(vec!["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), small_value());
    let listed = (select(vec!["$in", "$nin", "$all", "$in", "$all"]), list(small_value(), 0..4));
    let fixed = select(vec![
        r#""$exists":true"#,
        r#""$exists":false"#,
        r#""$type":"number""#,
        r#""$type":["string","null"]"#,
        r#""$type":"array""#,
        r#""$size":2"#,
        r#""$size":0"#,
        r#""$mod":[2,1]"#,
        r#""$regex":"^x""#,
        r#""$regex":"Y","$options":"i""#,
    ]);
    let leaf = prop_oneof![
        6 => simple.prop_map(|(name, operand)| format!(r#""{name}":{operand}"#)),
        2 => listed.prop_map(|(name, operand)| format!(r#""{name}":{operand}"#)),
        2 => fixed.prop_map(str::to_owned),
    ]
    .boxed();
    let nested = leaf.clone().prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!(r#""$not":{{{inner}}}"#)),
            inner.clone().prop_map(|inner| format!(r#""$elemMatch":{{{inner}}}"#)),
            (path(), inner).prop_map(|(path, inner)| format!(r#""$elemMatch":{{"{path}":{{{inner}}}}}"#)),
        ]
    });
    prop_oneof![2 => leaf, 1 => nested]
}

/// Criteria as text. Some of them are not valid conditions.
pub(super) fn criteria() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        3 => (path(), small_value()).prop_map(|(path, value)| format!(r#""{path}":{value}"#)),
        3 => (path(), operator()).prop_map(|(path, operator)| format!(r#""{path}":{{{operator}}}"#)),
        1 => (path(), small_value(), small_value())
            .prop_map(|(path, from, to)| format!(r#""{path}":{{"$gte":{from},"$lt":{to}}}"#)),
    ];
    let field = field.boxed();
    let fields = prop::collection::vec(field, 1..3).prop_map(|fields| format!("{{{}}}", fields.join(","))).boxed();
    let nested = fields.clone().prop_recursive(3, 12, 3, |inner| {
        let branches = (select(vec!["$and", "$or", "$or", "$nor"]), list(inner.clone(), 1..4));
        let branches = branches.prop_map(|(name, branches)| format!(r#"{{"{name}":{branches}}}"#));
        let both = (inner.clone(), inner).prop_map(|(one, other)| format!(r#"{{"$and":[{one},{other}]}}"#));
        prop_oneof![branches, both]
    });
    prop_oneof![fields, nested]
}

pub(super) fn data() -> impl Strategy<Value = String> {
    let members = (value(), value(), value());
    prop_oneof![
        7 => members.prop_map(|(a, b, c)| format!(r#"{{"a":{a},"b":{b},"c":{c}}}"#)),
        2 => (path(), value()).prop_map(|(path, value)| format!(r#"{{"{path}":{value}}}"#)),
        1 => value(),
    ]
}
