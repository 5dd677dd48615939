//! Random conditions, event data and comings and goings: the index must tell whom the plain loop tells.

use super::*;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;

/// One subscription as the plain loop knows it.
struct Plain {
    id: SubscriptionId,
    channel: ChannelId,
    condition: Option<Condition>,
    delivery: DeliveryId,
    target: SessionRef,
}

#[derive(Clone, Debug)]
enum Step {
    Subscribe { channel: u32, condition: Option<String>, delivery: u32 },
    Unsubscribe(Index),
    Emit { channel: u32, data: String },
}

fn path() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "a.b", "a.0", "a.0.b", "b.a.1", "c", "a.c"])
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
        "9007199254740992",
        r#""""#,
        r#""x""#,
        r#""y""#,
        r#""xy""#,
        "null",
        "true",
        "false",
    ])
}

/// A value with arrays and objects inside.
fn value() -> impl Strategy<Value = String> {
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
    let listed = (select(vec!["$in", "$nin", "$all", "$in"]), list(small_value(), 0..4));
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
        4 => simple.prop_map(|(name, operand)| format!(r#""{name}":{operand}"#)),
        2 => listed.prop_map(|(name, operand)| format!(r#""{name}":{operand}"#)),
        2 => fixed.prop_map(str::to_owned),
    ];
    leaf.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!(r#""$not":{{{inner}}}"#)),
            inner.clone().prop_map(|inner| format!(r#""$elemMatch":{{{inner}}}"#)),
            (path(), inner).prop_map(|(path, inner)| format!(r#""$elemMatch":{{"{path}":{{{inner}}}}}"#)),
        ]
    })
}

/// Criteria as text; one in a while is none that `parse` takes.
fn criteria() -> impl Strategy<Value = String> {
    let field = prop_oneof![
        3 => (path(), small_value()).prop_map(|(path, value)| format!(r#""{path}":{value}"#)),
        3 => (path(), operator()).prop_map(|(path, operator)| format!(r#""{path}":{{{operator}}}"#)),
        1 => (path(), small_value(), small_value())
            .prop_map(|(path, from, to)| format!(r#""{path}":{{"$gte":{from},"$lt":{to}}}"#)),
    ];
    field.prop_map(|field| format!("{{{field}}}")).prop_recursive(3, 12, 3, |inner| {
        let branches = (select(vec!["$and", "$or", "$or", "$nor"]), list(inner.clone(), 1..4));
        let branches = branches.prop_map(|(name, branches)| format!(r#"{{"{name}":{branches}}}"#));
        let both = (inner.clone(), inner).prop_map(|(one, other)| format!(r#"{{"$and":[{one},{other}]}}"#));
        prop_oneof![branches, both]
    })
}

fn data() -> impl Strategy<Value = String> {
    let members = (value(), value(), value());
    prop_oneof![
        6 => members.prop_map(|(a, b, c)| format!(r#"{{"a":{a},"b":{b},"c":{c}}}"#)),
        2 => (path(), value()).prop_map(|(path, value)| format!(r#"{{"{path}":{value}}}"#)),
        1 => value(),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let subscribe = (0..3u32, prop::option::weighted(0.95, criteria()), 0..2u32);
    prop_oneof![
        5 => subscribe.prop_map(|(channel, condition, delivery)| Step::Subscribe { channel, condition, delivery }),
        2 => any::<Index>().prop_map(Step::Unsubscribe),
        5 => (0..3u32, data()).prop_map(|(channel, data)| Step::Emit { channel, data }),
    ]
}

/// The index and the loop, side by side.
#[derive(Default)]
struct Both {
    index: SubscriptionIndex,
    plain: Vec<Plain>,
    sessions: u32,
}

impl Both {
    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Subscribe { channel, condition, delivery } => {
                self.subscribe(ChannelId(*channel), condition.as_deref(), DeliveryId(*delivery));
                Ok(())
            }
            Step::Unsubscribe(_) if self.plain.is_empty() => Ok(()),
            Step::Unsubscribe(which) => self.unsubscribe(which.index(self.plain.len())),
            Step::Emit { channel, data } => self.emit(ChannelId(*channel), data),
        }
    }

    fn subscribe(&mut self, channel: ChannelId, text: Option<&str>, delivery: DeliveryId) {
        let condition = match text.map(Condition::parse) {
            Some(Err(_)) => return,
            Some(Ok(condition)) => Some(condition),
            None => None,
        };
        self.sessions += 1;
        let target = session(self.sessions);
        let id = self.index.insert(channel, condition.clone(), delivery, target);
        self.plain.push(Plain { id, channel, condition, delivery, target });
    }

    fn unsubscribe(&mut self, position: usize) -> Result<(), TestCaseError> {
        let gone = self.plain.swap_remove(position);
        let stranger = session(0);
        prop_assert_eq!(self.index.remove(gone.id, stranger), None);
        let removed = self.index.remove(gone.id, gone.target);
        prop_assert_eq!(removed, Some((gone.channel, gone.delivery)));
        Ok(())
    }

    fn emit(&mut self, channel: ChannelId, data: &str) -> Result<(), TestCaseError> {
        let document = Document::parse(data).expect("made valid");
        let mut found = Vec::new();
        self.index.find(channel, &document, &mut |delivery, target| found.push((target, delivery.0)));
        found.sort_unstable();
        let meets = |plain: &&Plain| {
            let condition = plain.condition.as_ref();
            plain.channel == channel && condition.is_none_or(|condition| condition.matches(&document))
        };
        let expected = self.plain.iter().filter(meets).map(|plain| (plain.target, plain.delivery.0));
        let mut expected: Vec<_> = expected.collect();
        expected.sort_unstable();
        prop_assert_eq!(found, expected, "event data {}", data);
        prop_assert_eq!(self.index.len(), self.plain.len());
        Ok(())
    }
}

proptest! {
    #[test]
    fn the_index_tells_whom_the_plain_loop_tells(steps in prop::collection::vec(step(), 1..60)) {
        let mut both = Both::default();
        for step in &steps {
            both.take(step)?;
        }
        while !both.plain.is_empty() {
            both.unsubscribe(0)?;
        }
        prop_assert!(holds_nothing(&both.index));
    }
}

#[test]
fn most_random_criteria_are_conditions() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let parsed = (0..500).filter(|_| {
        let text = criteria().new_tree(&mut runner).expect("a strategy without filters").current();
        Condition::parse(&text).is_ok()
    });
    assert!(parsed.count() > 300);
}
