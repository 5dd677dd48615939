//! `$regex` with its `$options`.
//!
//! Patterns are those of the `regex` crate, which run in time linear in the text. Where it differs from MongoDB's
//! PCRE: no look-around, no backreferences, and with `i` neither `\p` nor more than some thousand letters in brackets; `$` does not match before a line feed at the end; a `{` that begins no
//! repetition must be escaped, and so must a `[` inside brackets; `\b` knows all letters. As in PCRE, `\d`, `\s` and
//! `\w` know ASCII only.

use super::super::document::Value;
use super::super::{ConditionError, Pattern, bounds};
use super::folding;
use super::literal::unexpected_key;
use super::{Budget, invalid, too_large};
use regex::{Regex, RegexBuilder};

/// The pattern in an object that has `$regex` and perhaps `$options`, and may have other operators.
pub(super) fn read_regex(object: Value<'_>, budget: &mut Budget) -> Result<Pattern, ConditionError> {
    let pattern = object
        .field("$regex")
        .and_then(|value| value.as_str())
        .ok_or_else(|| invalid("$regex takes a string".into()))?;
    let options = match object.field("$options") {
        Some(value) => value.as_str().ok_or_else(|| invalid("$options takes a string".into()))?,
        None => "".into(),
    };
    compile(&pattern, &options, budget)
}

/// A pattern among values: an object that has nothing but `$regex` and `$options`.
pub(super) fn read_pattern(object: Value<'_>, budget: &mut Budget) -> Result<Pattern, ConditionError> {
    for (key, _) in object.fields() {
        budget.take_operator()?;
        let name = key.as_str().unwrap_or_default();
        if !matches!(&*name, "$regex" | "$options") {
            return Err(unexpected_key(&name));
        }
    }
    read_regex(object, budget)
}

fn compile(pattern: &str, options: &str, budget: &mut Budget) -> Result<Pattern, ConditionError> {
    if let Some(unknown) = options.chars().find(|option| !"imsx".contains(*option)) {
        return Err(invalid(format!("unknown option {} in $options: there are i, m, s and x", unknown.escape_debug())));
    }
    let flags: String = "imsx".chars().filter(|flag| options.contains(*flag)).collect();
    let prefix = if flags.is_empty() { String::new() } else { format!("(?{flags})") };
    let spelled = format!("{prefix}{}", with_ascii_classes(pattern));
    folding::charge(&spelled, budget)?;
    let (regex, bytes) = build(&spelled, budget)?;
    let weight = bytes.div_ceil(bounds::PATTERN_COST_BYTES);
    Ok(Pattern { text: format!("{prefix}{pattern}").into(), regex, weight })
}

/// Why the crate takes no such pattern.
pub(super) fn not_a_pattern() -> ConditionError {
    invalid("$regex is not a pattern without look-around and backreferences".into())
}

/// Compiles within what is left of the budget; answers also how many bytes that took. The crate does not say, so it is
/// the smallest of a few limits that the pattern stays within.
fn build(pattern: &str, budget: &mut Budget) -> Result<(Regex, usize), ConditionError> {
    // What a pattern takes is known only after its Unicode classes were expanded; each of them takes this much anyway.
    const UNICODE_CLASS_BYTES: usize = 6 * 1024;
    let too_big = || too_large("bytes of compiled patterns", bounds::PATTERN_BYTES);
    let classes = pattern.matches("\\p").count() + pattern.matches("\\P").count();
    if classes * UNICODE_CLASS_BYTES > budget.pattern_bytes {
        return Err(too_big());
    }
    // Each limit that is tried reads the pattern again: a long one begins where it may fit.
    let mut limit = bounds::PATTERN_COST_BYTES.max(4 * pattern.len());
    loop {
        let allowed = limit.min(budget.pattern_bytes);
        let built = RegexBuilder::new(pattern).size_limit(allowed).dfa_size_limit(bounds::PATTERN_BYTES).build();
        match built {
            Ok(regex) => {
                budget.pattern_bytes -= allowed;
                return Ok((regex, allowed));
            }
            Err(regex::Error::CompiledTooBig(_)) if allowed == budget.pattern_bytes => return Err(too_big()),
            Err(regex::Error::CompiledTooBig(_)) => limit *= 2,
            Err(_) => return Err(not_a_pattern()),
        }
    }
}

/// Spells `\d`, `\s` and `\w` out: as PCRE has them, and a tenth of the memory. Brackets may stand in brackets, so
/// what is around an escape does not matter.
fn with_ascii_classes(pattern: &str) -> String {
    let mut spelled = String::with_capacity(pattern.len() + 16);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            spelled.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => spelled.push_str("[0-9]"),
            Some('D') => spelled.push_str("[^0-9]"),
            Some('s') => spelled.push_str(r"[\x09-\x0D\x20]"),
            Some('S') => spelled.push_str(r"[^\x09-\x0D\x20]"),
            Some('w') => spelled.push_str("[0-9A-Za-z_]"),
            Some('W') => spelled.push_str("[^0-9A-Za-z_]"),
            Some(other) => spelled.extend(['\\', other]),
            None => spelled.push('\\'),
        }
    }
    spelled
}
