//! Which known name somebody meant who wrote an unknown one.

/// The one of `known` that is most like `name`; for a key that stands in the wrong section, the key of that name elsewhere.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> &'a str {
    let (_, nearest) = known.fold((-1.0, ""), |best, candidate| {
        let likeness = likeness(name, candidate);
        if likeness > best.0 { (likeness, candidate) } else { best }
    });
    nearest
}

/// From 0 (nothing in common) to 1 (equal, but for the section).
fn likeness(name: &str, candidate: &str) -> f64 {
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
    fn a_typing_mistake_leads_to_the_key_it_resembles() {
        assert_eq!(nearest("http.bnid", KNOWN.into_iter()), "http.bind");
        assert_eq!(nearest("htpp.worker", KNOWN.into_iter()), "http.workers");
    }

    #[test]
    fn a_key_in_the_wrong_section_leads_to_its_section() {
        assert_eq!(nearest("http.ping_seconds", KNOWN.into_iter()), "session.ping_seconds");
        assert_eq!(nearest("bind", KNOWN.into_iter()), "http.bind");
    }
}
