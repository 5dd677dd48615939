//! The subscription index, compared with a plain loop over all subscriptions, and its other guarantees.

mod cost_limits;
mod model;
mod random;

use super::*;

fn session(slot: u32) -> SessionRef {
    SessionRef { worker: 1, slot, generation: 7 }
}

fn condition(text: &str) -> Option<Condition> {
    Some(Condition::parse(text).expect("a condition"))
}

const CHANNEL: ChannelId = ChannelId(3);
const DELIVERY: DeliveryId = DeliveryId(5);

/// An index with one subscription per condition. The slot of each session is the position of its condition.
fn index_of(conditions: &[&str]) -> SubscriptionIndex {
    let mut index = SubscriptionIndex::default();
    for (slot, text) in (0..).zip(conditions) {
        index.insert(CHANNEL, condition(text), DELIVERY, session(slot));
    }
    index
}

/// The slots of the matching sessions, in the order in which they are reported.
fn matching_slots(index: &mut SubscriptionIndex, data: &str) -> Vec<u32> {
    let document = Document::parse(data).expect("event data");
    let mut slots = Vec::new();
    let undecided = index.find(CHANNEL, &document, &mut |_, target| slots.push(target.slot));
    assert!(undecided.is_empty());
    slots
}

fn holds_nothing(index: &SubscriptionIndex) -> bool {
    let parts =
        [index.lookups.is_empty(), index.groups.is_empty(), index.subscriptions.is_empty(), index.filters.len() == 0];
    parts.iter().all(|&empty| empty)
}

#[test]
fn equal_array_elements_report_a_subscription_once() {
    let mut index = index_of(&[r#"{"a":1}"#, r#"{"a":{"$in":[1,2,1.0]}}"#, r#"{"a":3}"#]);
    let mut slots = matching_slots(&mut index, r#"{"a":[1,1.0,2,1e0,2]}"#);
    slots.sort_unstable();
    assert_eq!(slots, [0, 1]);
}

#[test]
fn for_each_visits_every_subscription_of_the_selected_channels_once() {
    let conditions =
        [r#"{"a":1}"#, r#"{"a":{"$in":[1,2,3]}}"#, r#"{"$or":[{"a":1},{"b":{"$gt":2}}]}"#, r#"{"c":{"$gt":1}}"#];
    let mut index = index_of(&conditions);
    index.insert(CHANNEL, None, DELIVERY, session(4));
    index.insert(ChannelId(8), condition(conditions[1]), DELIVERY, session(5));
    for (channels, expected) in
        [(vec![3], vec![0, 1, 2, 3, 4]), (vec![8], vec![5]), (vec![3, 8], vec![0, 1, 2, 3, 4, 5]), (vec![], vec![])]
    {
        let mut slots = Vec::new();
        index.for_each(&|channel| channels.contains(&channel.0), &mut |_, target| slots.push(target.slot));
        slots.sort_unstable();
        assert_eq!(slots, expected);
    }
}

#[test]
fn subscriptions_with_equal_conditions_are_reported_consecutively() {
    let pair = r#"{"a":1,"b":2}"#;
    let mut index = index_of(&[pair, r#"{"b":2,"c":1}"#, pair, r#"{"a":1,"c":1}"#, pair, r#"{"a":1}"#, pair]);
    let slots = matching_slots(&mut index, r#"{"a":1,"b":2,"c":1}"#);
    assert_eq!(slots.len(), 7);
    let first = slots.iter().position(|&slot| slot == 0).expect("a match");
    assert_eq!(slots[first..first + 4], [0, 2, 4, 6]);
}

#[test]
fn a_single_equality_needs_no_filter_and_equal_residuals_share_one() {
    let mut index = SubscriptionIndex::default();
    for slot in 0..100 {
        let own = format!(r#"{{"recipientId":"u{slot}"}}"#);
        index.insert(CHANNEL, condition(&own), DELIVERY, session(slot));
    }
    assert_eq!(index.filters.len(), 0);
    for slot in 100..200 {
        let own = format!(r#"{{"recipientId":"u{slot}","total":{{"$gte":100}}}}"#);
        index.insert(CHANNEL, condition(&own), DELIVERY, session(slot));
    }
    assert_eq!(index.filters.len(), 1);
    assert_eq!(matching_slots(&mut index, r#"{"recipientId":"u150","total":100}"#), [150]);
    assert!(matching_slots(&mut index, r#"{"recipientId":"u150","total":99}"#).is_empty());
    assert_eq!(matching_slots(&mut index, r#"{"recipientId":"u50"}"#), [50]);
}

#[test]
fn the_equality_with_fewer_groups_is_planned() {
    let mut index = SubscriptionIndex::default();
    for slot in 0..1000 {
        let own = format!(r#"{{"kind":"order","recipientId":"u{slot}"}}"#);
        index.insert(CHANNEL, condition(&own), DELIVERY, session(slot));
    }
    let kind = condition(r#"{"kind":"order"}"#).expect("a condition");
    let terms = plan_condition(&kind, &|terms, _| terms.len());
    let lookup = index.lookups.find(CHANNEL, &terms[0].term).expect("the lookup of the first subscription");
    let key = index.term_key(lookup, &terms[0].term);
    assert_eq!(index.groups.count(key, 1000), 1);
    assert_eq!(matching_slots(&mut index, r#"{"kind":"order","recipientId":"u500"}"#), [500]);
}

#[test]
fn range_bounds_are_exact() {
    let mut index = index_of(&[
        r#"{"a":{"$gt":5}}"#,
        r#"{"a":{"$gte":5}}"#,
        r#"{"a":{"$lt":5}}"#,
        r#"{"a":{"$lte":5}}"#,
        r#"{"a":{"$gt":"m"}}"#,
        r#"{"a":{"$lte":"m"}}"#,
        r#"{"a":{"$gt":4,"$lt":6}}"#,
    ]);
    let cases: [(&str, &[u32]); 6] = [
        (r#"{"a":5.0}"#, &[1, 3, 6]),
        (r#"{"a":5.0000000000000000001}"#, &[0, 1, 6]),
        (r#"{"a":-1e400}"#, &[2, 3]),
        (r#"{"a":["m",7]}"#, &[0, 1, 5]),
        (r#"{"a":"n"}"#, &[4]),
        (r#"{"a":null}"#, &[]),
    ];
    for (data, expected) in cases {
        let mut slots = matching_slots(&mut index, data);
        slots.sort_unstable();
        assert_eq!(slots, expected, "{data}");
    }
}

#[test]
fn missing_data_matches_null() {
    let mut index = index_of(&[r#"{"a":null}"#, r#"{"a":{"$in":[null,1]}}"#, r#"{"a":{"$all":[null]}}"#]);
    let mut slots = matching_slots(&mut index, "{}");
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2]);
}

#[test]
fn a_subscription_is_removed_only_for_the_session_that_owns_it() {
    let mut index = SubscriptionIndex::default();
    let target = session(1);
    let id = index.insert(CHANNEL, None, DELIVERY, target);
    let successor = SessionRef { generation: 8, ..target };
    assert_eq!(index.remove(id, successor), None);
    assert_eq!(index.remove(SubscriptionId(id.0 + 1), target), None);
    assert_eq!(index.remove(id, target), Some((CHANNEL, DELIVERY)));
    assert_eq!(index.remove(id, target), None);
    assert!(index.is_empty() && holds_nothing(&index));
}

#[test]
fn members_are_removed_in_any_order_and_leave_nothing_behind() {
    let mut index = SubscriptionIndex::default();
    let mut live: Vec<(SubscriptionId, u32)> = Vec::new();
    for slot in 0..5000 {
        let text = [r#"{"a":1}"#, r#"{"a":1,"b":2}"#, r#"{"$or":[{"a":1},{"b":2}]}"#][slot as usize % 3];
        live.push((index.insert(CHANNEL, condition(text), DELIVERY, session(slot)), slot));
    }
    for (round, step) in [(0, 7), (1, 3), (2, 2)] {
        let (removed, kept): (Vec<_>, Vec<_>) = live.iter().partition(|(_, slot)| slot % step == 0);
        for (id, slot) in removed {
            assert_eq!(index.remove(id, session(slot)), Some((CHANNEL, DELIVERY)), "round {round}");
        }
        live = kept;
        let mut slots = matching_slots(&mut index, r#"{"a":1,"b":2}"#);
        slots.sort_unstable();
        assert_eq!(slots, live.iter().map(|(_, slot)| *slot).collect::<Vec<_>>());
    }
    for (id, slot) in live {
        assert!(index.remove(id, session(slot)).is_some());
    }
    assert!(holds_nothing(&index));
}

#[test]
fn searches_still_match_after_their_counter_wraps() {
    let mut index = index_of(&[r#"{"a":1}"#, r#"{"a":1,"b":{"$ne":1}}"#, r#"{"a":{"$in":[1,2]}}"#]);
    for _ in 0..3 {
        assert_eq!(matching_slots(&mut index, r#"{"a":1}"#).len(), 3);
    }
    index.emit = u32::MAX - 1;
    for _ in 0..3 {
        assert_eq!(matching_slots(&mut index, r#"{"a":1}"#).len(), 3);
    }
    assert_eq!(index.emit, 2);
}

#[test]
fn a_condition_with_too_many_values_is_checked_on_every_emit() {
    let values = |from: u32| (from..from + 90).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
    let text = format!(r#"{{"$or":[{{"a":{{"$in":[{}]}}}},{{"b":{{"$in":[{}]}}}}]}}"#, values(0), values(100));
    let mut index = index_of(&[&text]);
    assert_eq!(index.lookups.of_channel(CHANNEL).count(), 1);
    assert_eq!(matching_slots(&mut index, r#"{"b":111}"#), [0]);
    assert!(matching_slots(&mut index, r#"{"a":111}"#).is_empty());
}

#[test]
fn a_disjunction_next_to_other_parts_shares_one_filter() {
    let parts = |name: &str| (0..30).map(|n| format!(r#"{{"{name}{n}":{{"$ne":1}}}}"#)).collect::<Vec<_>>().join(",");
    let branches = (0..30).map(|n| format!(r#"{{"a":{n}}}"#)).collect::<Vec<_>>().join(",");
    let mut index = index_of(&[&format!(r#"{{"$and":[{{"$or":[{branches}]}},{}]}}"#, parts("b"))]);
    assert_eq!(index.filters.len(), 1);
    assert_eq!(matching_slots(&mut index, r#"{"a":[7,8],"b1":2}"#), [0]);
    assert!(matching_slots(&mut index, r#"{"a":7,"b1":1}"#).is_empty());
}

#[test]
fn an_emit_matches_only_its_own_channel() {
    let mut index = index_of(&[r#"{"a":1}"#]);
    let other = ChannelId(u32::MAX);
    let id = index.insert(other, condition(r#"{"a":1}"#), DELIVERY, session(9));
    assert_eq!(matching_slots(&mut index, r#"{"a":1}"#), [0]);
    assert_eq!(index.remove(id, session(9)), Some((other, DELIVERY)));
    assert_eq!((index.len(), matching_slots(&mut index, r#"{"a":1}"#)), (1, vec![0]));
}
