//! Conditions and selections on event data. Nothing panics, the index finds exactly the conditions that match, a second
//! matcher agrees, and a selection of valid data is valid JSON.

#![no_main]

#[path = "../../actors/src/condition/matches/naive.rs"]
mod naive;

use actors::condition::document::Document;
use actors::condition::selection::Selection;
use actors::condition::{Condition, CostBudget};
use actors::ids::SessionRef;
use actors::registry::index::{ChannelId, DeliveryId, SubscriptionIndex};
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

/// Valid criteria that the naive matcher supports, and data that they may match.
#[derive(Arbitrary, Debug)]
struct Generated {
    criteria: Criteria,
    data: Vec<(Key, Data)>,
}

#[derive(Arbitrary, Debug)]
enum Criteria {
    Fields(Vec<(Path, FieldCriteria)>),
    And(Vec<Criteria>),
    Or(Vec<Criteria>),
    Nor(Vec<Criteria>),
}

#[derive(Arbitrary, Debug)]
enum FieldCriteria {
    Value(Data),
    Operators(Vec<Operator>),
}

#[derive(Arbitrary, Debug)]
enum Operator {
    Compare(Comparison, Data),
    In(Vec<Data>),
    Nin(Vec<Data>),
    All(Vec<Data>),
    Exists(bool),
    Type(Type),
    Size(u8),
    Mod(i8, i8),
    Regex(Pattern),
    Not(Vec<Operator>),
    ElemMatch(Vec<Operator>),
    ElemMatchCriteria(Box<Criteria>),
}

#[derive(Arbitrary, Debug)]
enum Comparison {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
}

#[derive(Arbitrary, Debug)]
enum Type {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

#[derive(Arbitrary, Debug)]
enum Pattern {
    Empty,
    A,
    B,
    Both,
}

#[derive(Arbitrary, Debug)]
enum Data {
    Null,
    Bool(bool),
    Small(i8),
    Half(i8),
    Text(Pattern),
    Array(Vec<Data>),
    Object(Vec<(Key, Data)>),
}

#[derive(Arbitrary, Debug)]
enum Key {
    A,
    B,
    Zero,
    One,
}

#[derive(Arbitrary, Debug)]
struct Path(Key, Option<Key>, Option<Key>);

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(b"{") {
        // Text: a line with criteria or a selection, then the data.
        let text = String::from_utf8_lossy(bytes);
        let (query, data) = text.split_once('\n').unwrap_or((&text, "{}"));
        check(query, data);
    } else if let Ok(generated) = Generated::arbitrary_take_rest(Unstructured::new(bytes)) {
        let (criteria, data) = (Value::Object(criteria(&generated.criteria)), object(&generated.data));
        if let Some(matches) = check(&criteria.to_string(), &data.to_string()) {
            assert_eq!(matches, naive::matches(&criteria, &data), "{criteria} {data}");
        }
    }
});

/// Whether the condition matches. `None` if it is not a valid condition, or the data is not JSON.
fn check(query: &str, data: &str) -> Option<bool> {
    let condition = Condition::parse(query);
    let selection = Selection::parse(query);
    let Ok(document) = Document::parse(data) else {
        // We accept what serde_json accepts, except for deep nesting.
        assert!(serde_json::from_str::<Value>(data).is_err() || data.matches(['[', '{']).count() > 100);
        return None;
    };
    if let Ok(selection) = selection {
        let mut out = Vec::new();
        selection.apply(&document, &mut out);
        let text = std::str::from_utf8(&out).expect("UTF-8");
        assert!(Document::parse(text).is_ok(), "not JSON: {text}");
    }
    let condition = condition.ok()?;
    let matches = condition.matches(&document, &CostBudget::default())?;
    assert_eq!(found(&[condition.clone()], &document), usize::from(matches), "the index and the matcher differ");
    // The condition twice, next to one that matches everything.
    let together = [condition.clone(), Condition::parse("{}").expect("valid"), condition];
    assert_eq!(found(&together, &document), 1 + 2 * usize::from(matches));
    Some(matches)
}

/// How many of the conditions an index finds. Afterwards, removes them and checks that the index is empty.
fn found(conditions: &[Condition], document: &Document<'_>) -> usize {
    let mut index = SubscriptionIndex::default();
    let target = SessionRef { worker: 0, slot: 0, generation: 1 };
    let insert = |condition: &Condition| index.insert(ChannelId(0), Some(condition.clone()), DeliveryId(0), target);
    let ids: Vec<_> = conditions.iter().map(insert).collect();
    let mut found = 0;
    let undecided = index.find(ChannelId(0), document, &mut |_, _| found += 1);
    assert!(undecided.is_empty(), "the index has decided every condition");
    for id in ids {
        assert!(index.remove(id, target).is_some());
    }
    assert!(index.is_empty());
    found
}

fn criteria(generated: &Criteria) -> Map<String, Value> {
    let list = |name: &str, parts: &[Criteria]| {
        let parts: Vec<Value> = parts.iter().map(|part| Value::Object(criteria(part))).collect();
        Map::from_iter([(name.to_owned(), Value::from(parts))])
    };
    match generated {
        Criteria::Fields(fields) => fields.iter().map(|(at, criteria)| (path(at), field(criteria))).collect(),
        Criteria::And(parts) => list("$and", parts),
        Criteria::Or(parts) => list("$or", parts),
        Criteria::Nor(parts) => list("$nor", parts),
    }
}

fn field(criteria: &FieldCriteria) -> Value {
    match criteria {
        FieldCriteria::Value(data) => value(data),
        FieldCriteria::Operators(all) => operators(all),
    }
}

fn operators(all: &[Operator]) -> Value {
    let list = |items: &[Data]| items.iter().map(value).collect::<Vec<Value>>();
    let named = all.iter().map(|operator| match operator {
        Operator::Compare(comparison, operand) => (comparison_name(comparison), value(operand)),
        Operator::In(items) => ("$in", json!(list(items))),
        Operator::Nin(items) => ("$nin", json!(list(items))),
        Operator::All(items) => ("$all", json!(list(items))),
        Operator::Exists(wanted) => ("$exists", json!(wanted)),
        Operator::Type(wanted) => ("$type", json!(type_name(wanted))),
        Operator::Size(size) => ("$size", json!(size)),
        Operator::Mod(divisor, remainder) => ("$mod", json!([divisor, remainder])),
        Operator::Regex(pattern) => ("$regex", json!(text(pattern))),
        Operator::Not(inner) => ("$not", operators(inner)),
        Operator::ElemMatch(inner) => ("$elemMatch", operators(inner)),
        Operator::ElemMatchCriteria(inner) => ("$elemMatch", Value::Object(criteria(inner))),
    });
    named.map(|(name, operand)| (name.to_owned(), operand)).collect::<Map<_, _>>().into()
}

fn comparison_name(comparison: &Comparison) -> &'static str {
    match comparison {
        Comparison::Eq => "$eq",
        Comparison::Ne => "$ne",
        Comparison::Gt => "$gt",
        Comparison::Gte => "$gte",
        Comparison::Lt => "$lt",
        Comparison::Lte => "$lte",
    }
}

fn type_name(wanted: &Type) -> &'static str {
    match wanted {
        Type::Null => "null",
        Type::Bool => "bool",
        Type::Number => "number",
        Type::String => "string",
        Type::Array => "array",
        Type::Object => "object",
    }
}

fn value(data: &Data) -> Value {
    match data {
        Data::Null => Value::Null,
        Data::Bool(truth) => json!(truth),
        Data::Small(number) => json!(number),
        Data::Half(number) => json!(f64::from(*number) / 2.0),
        Data::Text(pattern) => json!(text(pattern)),
        Data::Array(elements) => elements.iter().map(value).collect(),
        Data::Object(fields) => object(fields),
    }
}

fn object(fields: &[(Key, Data)]) -> Value {
    fields.iter().map(|(name, data)| (key(name).to_owned(), value(data))).collect::<Map<_, _>>().into()
}

fn text(pattern: &Pattern) -> &'static str {
    match pattern {
        Pattern::Empty => "",
        Pattern::A => "a",
        Pattern::B => "b",
        Pattern::Both => "ab",
    }
}

fn path(path: &Path) -> String {
    let rest = [&path.1, &path.2].into_iter().flatten();
    std::iter::once(&path.0).chain(rest).map(key).collect::<Vec<_>>().join(".")
}

fn key(key: &Key) -> &'static str {
    match key {
        Key::A => "a",
        Key::B => "b",
        Key::Zero => "0",
        Key::One => "1",
    }
}
