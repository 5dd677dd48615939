//! Parts of a client's input in error messages.

/// A key of the input as an error message may repeat it: at most 40 characters, on one line.
pub(super) fn excerpt(key: &str) -> String {
    const MAX_CHARACTERS: usize = 40;
    let mut excerpt: String = key.chars().take(MAX_CHARACTERS).flat_map(char::escape_debug).collect();
    if key.chars().nth(MAX_CHARACTERS).is_some() {
        excerpt.push('…');
    }
    excerpt
}
