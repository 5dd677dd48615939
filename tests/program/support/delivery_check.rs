//! Checks that every accepted emit was delivered once and in order, or is covered by a gap.

use std::collections::BTreeMap;
use std::time::Instant;

/// A message that a client received.
#[derive(Clone, Debug)]
pub struct Received {
    pub at: Instant,
    pub message: Message,
}

/// The part of a message that the check needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Notification { publisher: u64, number: u64 },
    Gap { reason: String },
}

/// The accepted emits of publishers: publisher, number, and the moment before the call.
pub type Accepted = Vec<(u64, u64, Instant)>;

/// Asserts that every accepted emit was delivered to this listener, or that a gap arrived after it was emitted. Returns
/// the numbers of delivered and missed emits, and prints them.
pub fn check_deliveries(title: &str, accepted: &Accepted, received: &[Received]) -> (usize, usize) {
    let mut times_delivered: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    let mut gaps: BTreeMap<String, usize> = BTreeMap::new();
    let mut last_gap = None;
    for Received { at, message } in received {
        match message {
            Message::Notification { publisher, number } => {
                *times_delivered.entry((*publisher, *number)).or_default() += 1;
            }
            Message::Gap { reason } => {
                *gaps.entry(reason.clone()).or_default() += 1;
                last_gap = Some(*at);
            }
        }
    }
    assert!(times_delivered.values().all(|times| *times == 1), "{title}: an emit was delivered twice");
    let missing: Vec<_> =
        accepted.iter().filter(|(publisher, n, _)| !times_delivered.contains_key(&(*publisher, *n))).collect();
    let uncovered: Vec<_> = missing.iter().filter(|(.., at)| last_gap.is_none_or(|gap| gap < *at)).collect();
    let delivered = accepted.len() - missing.len();
    println!(
        "{title}: accepted {} = delivered {delivered} + covered by a gap {}; refused but delivered {}; gaps {gaps:?}",
        accepted.len(),
        missing.len() - uncovered.len(),
        times_delivered.len() - delivered,
    );
    assert!(
        uncovered.is_empty(),
        "{title}: {} accepted emits were lost, the first: {:?}",
        uncovered.len(),
        uncovered[0]
    );
    assert_in_order(title, received);
    (delivered, missing.len())
}

fn assert_in_order(title: &str, received: &[Received]) {
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for received in received {
        if let Message::Notification { publisher, number } = received.message {
            let before = last.insert(publisher, number);
            assert!(before.is_none_or(|before| before < number), "{title}: {number} after {before:?}");
        }
    }
}
