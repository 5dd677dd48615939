//! `/metrics`: its two text formats, and which one a client gets.

use crate::support::{Node, request};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The content type and the page that a client with this `Accept` header gets.
fn page(node: &Node, accept: Option<&str>) -> (String, String) {
    let headers: Vec<_> = accept.map(|accept| ("Accept", accept)).into_iter().collect();
    let answer = request(node.address(), "GET", "/metrics", &headers, b"");
    assert_eq!((answer.status, answer.header("vary")), (200, Some("Accept")), "{accept:?}");
    (answer.header("content-type").unwrap_or_default().to_owned(), answer.text())
}

/// Every series of a page without its value.
fn series(page: &str) -> Vec<&str> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let mut series: Vec<_> = lines.filter_map(|line| line.rsplit_once(' ')).map(|(series, _)| series).collect();
    series.sort_unstable();
    series
}

/// The type of every family of a page.
fn types(page: &str) -> BTreeMap<&str, &str> {
    page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect()
}

/// The value of a series, which has no labels.
fn value(page: &str, name: &str) -> f64 {
    let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in\n{page}"))
}

#[test]
fn a_client_gets_prometheus_text_unless_it_prefers_openmetrics() {
    let node = Node::start(&[]);
    let cases = [
        (None, PROMETHEUS),
        (Some("*/*"), PROMETHEUS),
        (Some("text/plain"), PROMETHEUS),
        (Some("application/openmetrics-text"), OPEN_METRICS),
        (
            Some("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
            OPEN_METRICS,
        ),
        (Some("application/openmetrics-text;q=0.4,text/plain;q=0.5"), PROMETHEUS),
        (Some("application/openmetrics-text;q=0.9,*/*"), PROMETHEUS),
        (Some("application/openmetrics-text;q=0"), PROMETHEUS),
        (Some(";;q=,,"), PROMETHEUS),
    ];
    for (accept, expected) in cases {
        let (content_type, page) = page(&node, accept);
        assert_eq!(content_type, expected, "{accept:?}");
        assert_eq!(page.ends_with("# EOF\n"), expected == OPEN_METRICS, "{accept:?}");
    }
}

#[test]
fn both_formats_have_the_same_series_and_their_own_counter_names() {
    let node = Node::start(&[]);
    let prometheus = page(&node, None).1;
    let open_metrics = page(&node, Some("application/openmetrics-text")).1;
    let whole_numbers = |page: &str| page.replace("le=\"1.0\"", "le=\"1\"").replace("le=\"5.0\"", "le=\"5\"");
    assert_eq!(series(&whole_numbers(&open_metrics)), series(&prometheus));
    let (named, unnamed) = (types(&prometheus), types(&open_metrics));
    assert_eq!(named.len(), unnamed.len());
    for (name, kind) in named {
        let help = |page: &str, name: &str| page.contains(&format!("# HELP {name} "));
        assert!(help(&prometheus, name), "{name} has no help");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
        let family = name.trim_end_matches("_total").trim_end_matches("_info");
        let expected = if name.ends_with("_info") { "info" } else { kind };
        assert!(unnamed.get(family) == Some(&expected) && help(&open_metrics, family), "{family}");
    }
}

#[test]
fn the_process_and_the_build_are_described() {
    let before = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs_f64();
    let node = Node::start(&[]);
    let page = page(&node, None).1;
    let version = concat!("carillon_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\",rustc=\"1.");
    assert!(page.lines().any(|line| line.starts_with(version) && line.ends_with("} 1")), "{page}");
    assert!((value(&page, "process_start_time_seconds") - before).abs() < 60.0);
    let resident = value(&page, "process_resident_memory_bytes");
    assert!((1e6..value(&page, "process_virtual_memory_bytes")).contains(&resident), "{resident}");
    let open = value(&page, "process_open_fds");
    assert!(open > 3.0 && open < value(&page, "process_max_fds"), "{open}");
    assert!(value(&page, "process_threads") >= 2.0);
    let used = value(&page, "process_cpu_seconds_total");
    assert!((0.0..=node.processor_time().as_secs_f64() + 0.1).contains(&used), "{used}");
}
