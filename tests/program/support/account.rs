//! The account of what was accepted: told, or covered by a gap, and nothing else.

use std::collections::BTreeMap;
use std::time::Instant;

/// One thing that a client was told.
#[derive(Clone, Debug)]
pub struct Heard {
    pub at: Instant,
    pub what: What,
}

/// What a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Told { publisher: u64, number: u64 },
    Gap { reason: String },
}

/// What a publisher was answered: each accepted number, with the moment before its call.
pub type Accepted = Vec<(u64, u64, Instant)>;

/// Holds that all that was accepted was told to this listener, or covered by a gap that was told after it was emitted.
/// Prints the three numbers.
pub fn account(title: &str, accepted: &Accepted, heard: &[Heard]) -> (usize, usize) {
    let mut told: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    let mut gaps: BTreeMap<String, usize> = BTreeMap::new();
    let mut last_gap = None;
    for Heard { at, what } in heard {
        match what {
            What::Told { publisher, number } => *told.entry((*publisher, *number)).or_default() += 1,
            What::Gap { reason } => {
                *gaps.entry(reason.clone()).or_default() += 1;
                last_gap = Some(*at);
            }
        }
    }
    assert!(told.values().all(|times| *times == 1), "{title}: something was told twice");
    let missing: Vec<_> = accepted.iter().filter(|(publisher, n, _)| !told.contains_key(&(*publisher, *n))).collect();
    let uncovered: Vec<_> = missing.iter().filter(|(.., at)| last_gap.is_none_or(|gap| gap < *at)).collect();
    let told_of_them = accepted.len() - missing.len();
    let refused_but_told = told.len() - told_of_them;
    println!(
        "{title}: accepted {} = told {told_of_them} + covered by a gap {}; told though refused {refused_but_told}; gaps {gaps:?}",
        accepted.len(),
        missing.len() - uncovered.len(),
    );
    assert!(
        uncovered.is_empty(),
        "{title}: {} accepted emits were lost, the first: {:?}",
        uncovered.len(),
        uncovered[0]
    );
    assert_in_order(title, heard);
    (told_of_them, missing.len())
}

fn assert_in_order(title: &str, heard: &[Heard]) {
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for heard in heard {
        if let What::Told { publisher, number } = heard.what {
            let before = last.insert(publisher, number);
            assert!(before.is_none_or(|before| before < number), "{title}: {number} after {before:?}");
        }
    }
}
