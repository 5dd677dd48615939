//! Duplicate keys of one object: the last one counts, the others are hidden.

use super::reader::{Node, Tag};
use super::text::decode;
use std::borrow::Cow;

/// Hides all but the last of each key of the object at `index`, whose nodes are all there.
///
/// Nearly every object has none: one pass over cheap fingerprints shows it. Only where two of them fall together
/// are the keys compared, by sorting, so that 100,000 keys of one hostile object stay cheap too.
pub(super) fn hide_duplicates(text: &str, nodes: &mut [Node], index: usize) {
    debug_assert_eq!(nodes[index].tag, Tag::Object);
    if !may_have_duplicates(text, nodes, index) {
        return;
    }
    let mut keys: Vec<(Cow<'_, str>, usize)> =
        keys_of(nodes, index).map(|at| (key_text(text, &nodes[at]), at)).collect();
    keys.sort_unstable();
    for pair in keys.windows(2) {
        if pair[0].0 == pair[1].0 {
            nodes[pair[0].1].hidden = true;
        }
    }
}

/// What a key says, escapes read.
pub(super) fn key_text<'a>(text: &'a str, key: &Node) -> Cow<'a, str> {
    decode(&text[key.start as usize + 1..key.end as usize - 1], key.escaped)
}

fn may_have_duplicates(text: &str, nodes: &[Node], index: usize) -> bool {
    let bytes = text.as_bytes();
    let mut seen = 0_u64;
    for at in keys_of(nodes, index) {
        let key = &nodes[at];
        // The quote that opens it stands in for the first byte of an empty key.
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

/// The nodes of an object's keys, hidden ones too.
fn keys_of(nodes: &[Node], index: usize) -> impl Iterator<Item = usize> {
    // Its `next` is set before: everything behind the object's node so far is inside it.
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
