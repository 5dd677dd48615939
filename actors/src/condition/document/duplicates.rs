//! Duplicate keys of an object: the last one counts, the others are hidden.

use super::node::{Node, Tag};
use std::borrow::Cow;

/// Hides all but the last of equal keys of the object at `index`, whose nodes are complete.
///
/// Almost no object has duplicates. One pass over cheap fingerprints shows this. If two fingerprints are equal, the
/// keys are sorted and compared, so that a malicious object with 100,000 keys stays cheap too.
pub(super) fn hide_duplicates(text: &str, nodes: &mut [Node], index: usize) {
    debug_assert_eq!(nodes[index].tag, Tag::Object);
    if !may_have_duplicates(text, nodes, index) {
        return;
    }
    let mut keys: Vec<(Cow<'_, str>, usize)> = keys_of(nodes, index).map(|at| (nodes[at].content(text), at)).collect();
    keys.sort_unstable();
    for pair in keys.windows(2) {
        if pair[0].0 == pair[1].0 {
            nodes[pair[0].1].hidden = true;
        }
    }
}

fn may_have_duplicates(text: &str, nodes: &[Node], index: usize) -> bool {
    let bytes = text.as_bytes();
    let mut seen = 0_u64;
    for at in keys_of(nodes, index) {
        let key = &nodes[at];
        // For an empty key, these are the quotes.
        let first = bytes[key.start as usize + 1];
        let last = bytes[key.end as usize - 2];
        let mixed = u32::from(first)
            .wrapping_mul(31)
            .wrapping_add(u32::from(last).wrapping_mul(7))
            .wrapping_add(key.end - key.start);
        let bit = 1_u64 << (mixed % 64);
        if key.escaped || seen & bit != 0 {
            return true;
        }
        seen |= bit;
    }
    false
}

/// The indices of an object's keys, including hidden ones.
fn keys_of(nodes: &[Node], index: usize) -> impl Iterator<Item = usize> {
    // `close` has set `next`: every node after the object's own is inside it.
    let end = nodes[index].next as usize;
    let mut at = index + 1;
    std::iter::from_fn(move || {
        let key = at;
        if key >= end {
            return None;
        }
        at = nodes[key + 1].next as usize;
        Some(key)
    })
}
