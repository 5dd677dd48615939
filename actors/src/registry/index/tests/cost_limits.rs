//! Conditions that exceed the cost limits: they stay undecided, and all others still match.

use super::*;
use std::collections::BTreeSet;

/// The slots that match, and those that stay undecided. Each is reported once.
fn find(index: &mut SubscriptionIndex, data: &str) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let document = Document::parse(data).expect("event data");
    let (mut matched, mut undecided) = (BTreeSet::new(), BTreeSet::new());
    let result = index.find(CHANNEL, &document, &mut |_, target| assert!(matched.insert(target.slot)));
    index.for_each_undecided(&result, &mut |_, target| assert!(undecided.insert(target.slot)));
    assert!(matched.is_disjoint(&undecided));
    (matched, undecided)
}

/// Event data with a long array `a` and `"b":1`.
fn wide(element: &str, elements: usize) -> String {
    format!("{{\"a\":[{}],\"b\":1}}", vec![element; elements].join(","))
}

/// A condition that looks at every element of `a` `times` times. Different values of `own` give different conditions.
fn costly(own: usize, times: usize) -> String {
    let parts: Vec<String> = (0..times).map(|n| format!(r#"{{"a":{{"$gt":{}}}}}"#, own * 100 + n + 2)).collect();
    format!(r#"{{"$nor":[{}]}}"#, parts.join(","))
}

#[test]
fn a_condition_above_its_cost_limit_stays_undecided_and_the_others_match() {
    let mut index = index_of(&[&costly(0, 39), r#"{"b":1}"#, r#"{"b":{"$ne":2}}"#, &costly(1, 2), r#"{"b":2}"#]);
    let (matched, undecided) = find(&mut index, &wide("1", 100_000));
    assert_eq!((matched, undecided), (BTreeSet::from([1, 2, 3]), BTreeSet::from([0])));
    let (matched, undecided) = find(&mut index, &wide("1", 10));
    assert_eq!((matched, undecided), (BTreeSet::from([0, 1, 2, 3]), BTreeSet::new()));
}

#[test]
fn expensive_conditions_together_stay_within_the_emit_limit_and_cheap_ones_match() {
    let hostile: Vec<String> = (0..100).map(|own| costly(own, 3)).collect();
    let mut conditions: Vec<&str> = hostile.iter().map(String::as_str).collect();
    conditions.extend([r#"{"b":1}"#, r#"{"b":{"$ne":2}}"#, r#"{"b":{"$gt":0},"c":null}"#]);
    let mut index = index_of(&conditions);
    let (matched, undecided) = find(&mut index, &wide("1", 100_000));
    assert!([100, 101, 102].iter().all(|cheap| matched.contains(cheap)));
    // Each costs about 300,000 units.
    assert_eq!((matched.len(), undecided.len()), (4, 99), "{matched:?}");
}

#[test]
fn an_expensive_condition_with_many_deliveries_is_evaluated_once() {
    let mut index = SubscriptionIndex::default();
    let hostile = costly(0, 39);
    for slot in 0..1000 {
        index.insert(CHANNEL, condition(&hostile), DeliveryId(slot), session(slot));
    }
    index.insert(CHANNEL, condition(&costly(1, 3)), DELIVERY, session(1000));
    let (matched, undecided) = find(&mut index, &wide("1", 100_000));
    assert_eq!((matched, undecided.len()), (BTreeSet::from([1000]), 1000));
}

#[test]
fn lookups_above_their_cost_limit_leave_only_their_own_subscriptions_undecided() {
    for asked in [r#"7"#, r#"{"$gt":7}"#, r#"{"$regex":"x"}"#] {
        let paths: Vec<String> = (0..100).map(|own| format!(r#"{{"a.p{own}":{asked}}}"#)).collect();
        let mut conditions: Vec<&str> = paths.iter().map(String::as_str).collect();
        conditions.extend([r#"{"b":1}"#, r#"{"b":2}"#, r#"{"$or":[{"b":1},{"a.p0":7}]}"#, r#"{"a.p1":7,"b":1}"#]);
        let mut index = index_of(&conditions);
        let (matched, undecided) = find(&mut index, &wide("{}", 80_000));
        assert_eq!(matched, BTreeSet::from([100, 102]), "{asked}");
        // Following one of these paths costs about 85,000 units.
        let decided = (0..100).filter(|path| !undecided.contains(path)).count();
        assert!((5..10).contains(&decided), "{decided} {asked}");
        let (matched, undecided) = find(&mut index, r#"{"a":[{}],"b":1}"#);
        assert_eq!((matched, undecided), (BTreeSet::from([100, 102]), BTreeSet::new()));
    }
}

#[test]
fn a_cheap_lookup_runs_before_expensive_ones() {
    let mut index = SubscriptionIndex::default();
    index.insert(CHANNEL, condition(r#"{"to":"u999"}"#), DELIVERY, session(0));
    for own in 1..200 {
        index.insert(CHANNEL, condition(&format!(r#"{{"a.p{own}":7}}"#)), DELIVERY, session(own));
    }
    let to: Vec<String> = (0..1000).map(|number| format!(r#""u{number}""#)).collect();
    let data = format!(r#"{{"to":[{}],"a":[{}]}}"#, to.join(","), vec!["{}"; 50_000].join(","));
    let (matched, undecided) = find(&mut index, &data);
    assert_eq!(matched, BTreeSet::from([0]));
    assert!(undecided.len() > 100, "{}", undecided.len());
}
