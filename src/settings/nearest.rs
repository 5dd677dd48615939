//! Suggests a known name for an unknown one.

/// The name in `known` that is most similar to `name`. For a key in the wrong section, it is the same key in its
/// section.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> &'a str {
    let (_, nearest) = known.fold((-1.0, ""), |best, candidate| {
        let similarity = similarity(name, candidate);
        if similarity > best.0 { (similarity, candidate) } else { best }
    });
    nearest
}

/// From 0 (nothing in common) to 1 (equal except for the section).
fn similarity(name: &str, candidate: &str) -> f64 {
    if last_segment(name) == last_segment(candidate) {
        return 1.0;
    }
    strsim::normalized_damerau_levenshtein(name, candidate)
}

fn last_segment(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["http.bind", "http.workers", "session.ping_seconds", "limits.sessions"];

    #[test]
    fn a_typo_leads_to_the_most_similar_key() {
        assert_eq!(nearest("http.bnid", KNOWN.into_iter()), "http.bind");
        assert_eq!(nearest("htpp.worker", KNOWN.into_iter()), "http.workers");
    }

    #[test]
    fn a_key_in_the_wrong_section_leads_to_its_section() {
        assert_eq!(nearest("http.ping_seconds", KNOWN.into_iter()), "session.ping_seconds");
        assert_eq!(nearest("bind", KNOWN.into_iter()), "http.bind");
    }
}
