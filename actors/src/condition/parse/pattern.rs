//! `$regex` with its `$options`.
//!
//! Patterns are those of the `regex` crate, which match in time linear in the text. Differences from MongoDB's PCRE:
//!
//! - There is no look-around and there are no backreferences.
//! - With option `i`, there is no `\p`, and brackets may contain at most [`bounds::FOLDED_CHARACTERS`] characters.
//! - `$` does not match before a line feed at the end of the text.
//! - A `{` that does not begin a repetition must be escaped, and so must a `[` inside brackets.
//! - `\b` considers all letters. As in PCRE, `\d`, `\s` and `\w` are ASCII only.

use super::super::document::Value;
use super::super::{ConditionError, Pattern, bounds};
use super::budget::ParseBudget;
use super::case_folding;
use super::problems::{invalid, invalid_pattern, too_large, unexpected_key};
use regex::{Regex, RegexBuilder};

/// Reads the pattern of an object with `$regex`, perhaps `$options`, and perhaps other operators.
pub(super) fn read_regex(object: Value<'_>, budget: &mut ParseBudget) -> Result<Pattern, ConditionError> {
    let pattern =
        object.field("$regex").and_then(|value| value.as_str()).ok_or_else(|| invalid("$regex takes a string"))?;
    let options = match object.field("$options") {
        Some(value) => value.as_str().ok_or_else(|| invalid("$options takes a string"))?,
        None => "".into(),
    };
    compile(&pattern, &options, budget)
}

/// Reads a pattern in a list of values: an object with only `$regex` and `$options`.
pub(super) fn read_pattern(object: Value<'_>, budget: &mut ParseBudget) -> Result<Pattern, ConditionError> {
    for (key, _) in object.fields() {
        budget.take_operator()?;
        let name = key.as_str().unwrap_or_default();
        if !matches!(&*name, "$regex" | "$options") {
            return Err(unexpected_key(&name));
        }
    }
    read_regex(object, budget)
}

fn compile(pattern: &str, options: &str, budget: &mut ParseBudget) -> Result<Pattern, ConditionError> {
    if let Some(unknown) = options.chars().find(|option| !"imsx".contains(*option)) {
        return Err(invalid(format!("unknown option {} in $options; use i, m, s or x", unknown.escape_debug())));
    }
    let flags: String = "imsx".chars().filter(|flag| options.contains(*flag)).collect();
    let prefix = if flags.is_empty() { String::new() } else { format!("(?{flags})") };
    let expanded = format!("{prefix}{}", with_ascii_classes(pattern));
    case_folding::charge(&expanded, budget)?;
    let (regex, bytes) = build(&expanded, budget)?;
    let cost_per_byte = bytes.div_ceil(bounds::PATTERN_COST_BYTES);
    Ok(Pattern { text: format!("{prefix}{pattern}").into(), regex, cost_per_byte })
}

/// Compiles a pattern within the rest of the budget. Also returns its size in bytes. The crate does not report the
/// size, so it is the smallest of a few limits that the pattern fits in.
fn build(pattern: &str, budget: &mut ParseBudget) -> Result<(Regex, usize), ConditionError> {
    // The size is known only after Unicode classes were expanded. Each class takes at least this much.
    const UNICODE_CLASS_BYTES: usize = 6 * 1024;
    let too_big = || too_large(bounds::PATTERN_BYTES, "bytes of compiled patterns");
    let classes = pattern.matches("\\p").count() + pattern.matches("\\P").count();
    if classes * UNICODE_CLASS_BYTES > budget.pattern_bytes {
        return Err(too_big());
    }
    // Each attempt parses the pattern again, so a long pattern begins with a limit that it may fit in.
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
            Err(_) => return Err(invalid_pattern()),
        }
    }
}

/// Expands `\d`, `\s` and `\w` to ASCII classes, as in PCRE. This takes a tenth of the memory. Classes may be nested,
/// so the context of an escape does not matter.
fn with_ascii_classes(pattern: &str) -> String {
    let mut expanded = String::with_capacity(pattern.len() + 16);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            expanded.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => expanded.push_str("[0-9]"),
            Some('D') => expanded.push_str("[^0-9]"),
            Some('s') => expanded.push_str(r"[\x09-\x0D\x20]"),
            Some('S') => expanded.push_str(r"[^\x09-\x0D\x20]"),
            Some('w') => expanded.push_str("[0-9A-Za-z_]"),
            Some('W') => expanded.push_str("[^0-9A-Za-z_]"),
            Some(other) => expanded.extend(['\\', other]),
            None => expanded.push('\\'),
        }
    }
    expanded
}
