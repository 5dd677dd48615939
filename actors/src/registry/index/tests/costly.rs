//! Conditions that ask for too much: they are left open, and their neighbours are told.

use super::*;
use std::collections::BTreeSet;

/// Whom a find tells, and whom it leaves open; each once.
fn find(index: &mut SubscriptionIndex, data: &str) -> (BTreeSet<u32>, BTreeSet<u32>) {
    let document = Document::parse(data).expect("event data");
    let (mut told, mut open) = (BTreeSet::new(), BTreeSet::new());
    let undecided = index.find(CHANNEL, &document, &mut |_, target| assert!(told.insert(target.slot)));
    index.for_each_undecided(&undecided, &mut |_, target| assert!(open.insert(target.slot)));
    assert!(told.is_disjoint(&open));
    (told, open)
}

/// Event data with a wide array `a` and `"b":1`.
fn wide(element: &str, elements: usize) -> String {
    format!("{{\"a\":[{}],\"b\":1}}", vec![element; elements].join(","))
}

/// Looks at every element of `a`, `times` over, in its own way.
fn costly(own: usize, times: usize) -> String {
    let parts: Vec<String> = (0..times).map(|n| format!(r#"{{"a":{{"$gt":{}}}}}"#, own * 100 + n + 2)).collect();
    format!(r#"{{"$nor":[{}]}}"#, parts.join(","))
}

#[test]
fn a_condition_that_takes_too_many_steps_is_left_open_and_its_neighbours_are_told() {
    let mut index = index_of(&[&costly(0, 39), r#"{"b":1}"#, r#"{"b":{"$ne":2}}"#, &costly(1, 2), r#"{"b":2}"#]);
    let (told, open) = find(&mut index, &wide("1", 100_000));
    assert_eq!((told, open), (BTreeSet::from([1, 2, 3]), BTreeSet::from([0])));
    let (told, open) = find(&mut index, &wide("1", 10));
    assert_eq!((told, open), (BTreeSet::from([0, 1, 2, 3]), BTreeSet::new()));
}

#[test]
fn many_costly_conditions_together_take_no_more_than_an_emit_may_and_cheap_ones_are_told() {
    let hostile: Vec<String> = (0..100).map(|own| costly(own, 3)).collect();
    let mut conditions: Vec<&str> = hostile.iter().map(String::as_str).collect();
    conditions.extend([r#"{"b":1}"#, r#"{"b":{"$ne":2}}"#, r#"{"b":{"$gt":0},"c":null}"#]);
    let mut index = index_of(&conditions);
    let (told, open) = find(&mut index, &wide("1", 100_000));
    assert!([100, 101, 102].iter().all(|cheap| told.contains(cheap)));
    // Each takes some 300,000 steps.
    assert_eq!((told.len(), open.len()), (4, 99), "{told:?}");
}

#[test]
fn a_costly_condition_of_many_who_are_told_differently_is_tried_once() {
    let mut index = SubscriptionIndex::default();
    let hostile = costly(0, 39);
    for slot in 0..1000 {
        index.insert(CHANNEL, condition(&hostile), DeliveryId(slot), session(slot));
    }
    index.insert(CHANNEL, condition(&costly(1, 3)), DELIVERY, session(1000));
    let (told, open) = find(&mut index, &wide("1", 100_000));
    assert_eq!((told, open.len()), (BTreeSet::from([1000]), 1000));
}

#[test]
fn look_ups_that_take_too_many_steps_leave_open_what_hangs_at_them_and_nothing_else() {
    for asked in [r#"7"#, r#"{"$gt":7}"#, r#"{"$regex":"x"}"#] {
        let paths: Vec<String> = (0..100).map(|own| format!(r#"{{"a.p{own}":{asked}}}"#)).collect();
        let mut conditions: Vec<&str> = paths.iter().map(String::as_str).collect();
        conditions.extend([r#"{"b":1}"#, r#"{"b":2}"#, r#"{"$or":[{"b":1},{"a.p0":7}]}"#, r#"{"a.p1":7,"b":1}"#]);
        let mut index = index_of(&conditions);
        let (told, open) = find(&mut index, &wide("{}", 80_000));
        assert_eq!(told, BTreeSet::from([100, 102]), "{asked}");
        // To walk one of these paths takes some 85,000 steps.
        let decided = (0..100).filter(|path| !open.contains(path)).count();
        assert!((5..10).contains(&decided), "{decided} {asked}");
        let (told, open) = find(&mut index, r#"{"a":[{}],"b":1}"#);
        assert_eq!((told, open), (BTreeSet::from([100, 102]), BTreeSet::new()));
    }
}

#[test]
fn an_honest_look_up_goes_before_dearer_ones() {
    let mut index = SubscriptionIndex::default();
    index.insert(CHANNEL, condition(r#"{"to":"u999"}"#), DELIVERY, session(0));
    for own in 1..200 {
        index.insert(CHANNEL, condition(&format!(r#"{{"a.p{own}":7}}"#)), DELIVERY, session(own));
    }
    let to: Vec<String> = (0..1000).map(|number| format!(r#""u{number}""#)).collect();
    let data = format!(r#"{{"to":[{}],"a":[{}]}}"#, to.join(","), vec!["{}"; 50_000].join(","));
    let (told, open) = find(&mut index, &data);
    assert_eq!(told, BTreeSet::from([0]));
    assert!(open.len() > 100, "{}", open.len());
}
