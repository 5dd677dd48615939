//! Dotted paths in criteria.

use super::super::{ConditionError, Path, Segment, bounds};
use super::problems::too_large;

/// Reads a dotted path. Every text is a path: names may be empty (`a..b`), as in MongoDB.
pub(in crate::condition) fn read_path(text: &str) -> Result<Path, ConditionError> {
    if text.split('.').count() > bounds::PATH_SEGMENTS {
        return Err(too_large(bounds::PATH_SEGMENTS, "segments in one path"));
    }
    let segments = text.split('.').map(|name| Segment { index: read_index(name), name: name.into() });
    Ok(Path { segments: segments.collect() })
}

fn read_index(name: &str) -> Option<u32> {
    let canonical = name.bytes().all(|byte| byte.is_ascii_digit()) && (name == "0" || !name.starts_with('0'));
    canonical.then(|| name.parse().ok()).flatten()
}
