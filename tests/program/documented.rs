//! Compares docs/operations.md with the program: every metric with each label value, every limit and setting with its
//! default.

use crate::support::{Node, request};
use std::collections::BTreeSet;

const OPERATIONS: &str = include_str!("../../docs/operations.md");
const DEFAULTS: &str = include_str!("../../config/default.toml");

/// The section of the page with this heading.
fn section(heading: &str) -> &'static str {
    let start = OPERATIONS.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let rest = &OPERATIONS[start + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

/// The cells of all table rows of a section, without headings.
fn rows(section: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = section.lines().filter(|line| line.starts_with('|')).collect();
    let headings = lines.iter().skip(1).map(|next| next.starts_with("| ---")).chain([false]);
    let rows = lines.iter().zip(headings).filter(|(line, is_heading)| !is_heading && !line.starts_with("| ---"));
    rows.map(|(line, _)| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

fn metrics_page() -> String {
    let node = Node::start(&[]);
    request(node.address(), "GET", "/metrics", &[], b"").text()
}

#[test]
fn every_metric_and_each_of_its_labels_has_a_documented_row_with_threshold_and_remedy() {
    let page = metrics_page();
    let documented = rows(section("Metrics"));
    let mut names = BTreeSet::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').expect("a name and its type");
        let name = format!("`{name}`");
        let row = documented.iter().find(|row| row[0].starts_with(&name));
        let row = row.unwrap_or_else(|| panic!("{name} has no row"));
        assert!(row.len() == 4 && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        assert!(row[0].contains(kind), "{name} is a {kind}");
        names.insert(name);
    }
    for Label { metric, label, value } in page.lines().flat_map(labels_of) {
        let row = documented.iter().find(|row| row[0].starts_with(&format!("`{metric}`"))).expect("checked above");
        assert!(row[1].contains(&format!("`{label}`")), "{metric} does not explain its label {label}");
        // The values of a version change with each release.
        let is_listed = metric == "carillon_build_info" || row[1].contains(&format!("`{value}`"));
        assert!(is_listed, "{metric} does not list {value}");
    }
    for row in documented {
        let name = row[0].split_inclusive('`').take(2).collect::<String>();
        assert!(names.contains(&name), "{name} is no metric");
    }
}

/// A label of a series.
struct Label<'a> {
    metric: &'a str,
    label: &'a str,
    value: &'a str,
}

/// The labels of a line of the page, except the bounds of histograms.
fn labels_of(line: &str) -> Vec<Label<'_>> {
    let Some((metric, rest)) = line.split_once('{') else {
        return Vec::new();
    };
    let (labels, _) = rest.rsplit_once('}').expect("a list of labels");
    let pairs = labels.trim_end_matches('"').split("\",").map(|pair| pair.split_once("=\"").expect("a label"));
    let labels = pairs.map(|(label, value)| Label { metric, label, value });
    labels.filter(|label| label.label != "le").collect()
}

#[test]
fn every_setting_has_a_documented_row_with_its_default() {
    let defaults: toml::Table = DEFAULTS.parse().expect("settings");
    let documented = rows(section("Settings"));
    for (key, value) in flat(&defaults, "") {
        let row = documented.iter().find(|row| row[0] == format!("`{key}`"));
        let row = row.unwrap_or_else(|| panic!("{key} has no row"));
        assert_eq!(row[1], format!("`{value}`"), "{key}");
    }
}

#[test]
fn every_limit_has_a_documented_row_with_default_answer_metric_and_effect() {
    let defaults: toml::Table = DEFAULTS.parse().expect("settings");
    let documented = rows(section("Limits"));
    for row in &documented {
        assert!(row.len() == 5 && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
    let limits = flat(&defaults, "").into_iter();
    for (key, value) in limits.filter(|(key, _)| key.starts_with("limits.") || key.starts_with("session.")) {
        let row = documented.iter().find(|row| row[0] == format!("`{key}`"));
        let row = row.unwrap_or_else(|| panic!("{key} has no row"));
        assert_eq!(row[1], format!("`{value}`"), "{key}");
    }
    let page = metrics_page();
    let counted = page.lines().flat_map(labels_of).filter(|label| label.metric == "carillon_limits_total");
    for Label { value, .. } in counted {
        let label = format!("`{value}`");
        assert!(documented.iter().any(|row| row[3].contains(&label)), "no row is counted as {value}");
    }
}

/// Every key with its value. Nested tables become dotted keys.
fn flat(table: &toml::Table, prefix: &str) -> Vec<(String, toml::Value)> {
    let entries = table.iter().map(|(key, value)| (format!("{prefix}{key}"), value));
    entries
        .flat_map(|(key, value)| match value {
            toml::Value::Table(nested) => flat(nested, &format!("{key}.")),
            value => vec![(key, value.clone())],
        })
        .collect()
}
