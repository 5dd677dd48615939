//! Checks the values of settings. Every number has a lower and an upper bound, so that a typo is refused at the start
//! and does not cause a strange failure later.

use std::ops::RangeInclusive;

use super::{MongodbSettings, Problem, RedisSettings, Settings};

/// Upper bound of every limit of sessions: more than a machine has ever held.
const MAX_SESSIONS: u64 = 10_000_000;

/// Upper bound of every limit of JSON texts: 16 MiB.
const MAX_JSON_BYTES: u64 = 16 << 20;

/// The longest name of a database that every MongoDB accepts, including hosted ones.
const DATABASE_NAME_BYTES: usize = 38;
/// The longest prefix of channels and keys. Each of them repeats it.
const PREFIX_BYTES: usize = 64;

/// The value of a number and its allowed range.
pub(super) struct Bound {
    pub(super) key: &'static str,
    value: u64,
    pub(super) allowed: RangeInclusive<u64>,
}

impl Settings {
    /// Checks the values. Every problem names its `section.key`.
    pub fn validate(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.numbers().into_iter().filter_map(Bound::check).collect();
        problems.extend(self.check_texts());
        problems.extend(self.check_combinations());
        problems
    }

    /// Every setting that is a number, with its bounds.
    pub(super) fn numbers(&self) -> Vec<Bound> {
        let Settings { http, catalogue, auth, session, limits, shutdown, .. } = self;
        vec![
            bound("http.workers", http.workers as u64, 0..=512),
            bound("http.backlog", http.backlog.into(), 1..=65_535),
            bound("http.write_timeout_seconds", http.write_timeout_seconds, 1..=600),
            bound("catalogue.cache_seconds", catalogue.cache_seconds, 1..=86_400),
            bound("auth.leeway_seconds", auth.leeway_seconds, 0..=300),
            bound("session.ping_seconds", session.ping_seconds, 1..=3_600),
            bound("session.send_buffer_bytes", session.send_buffer_bytes as u64, 1_024..=1 << 30),
            bound("session.kernel_send_buffer_bytes", session.kernel_send_buffer_bytes as u64, 0..=16 << 20),
            bound("session.write_timeout_seconds", session.write_timeout_seconds, 1..=600),
            bound("session.close_seconds", session.close_seconds, 1..=60),
            bound("limits.message_bytes", limits.message_bytes as u64, 1_024..=MAX_JSON_BYTES),
            bound("limits.subscriptions", limits.subscriptions as u64, 1..=10_000),
            bound("limits.messages_per_second", limits.messages_per_second.into(), 1..=1_000_000),
            bound("limits.register_milliseconds", limits.register_milliseconds.into(), 1..=60_000),
            bound("limits.sessions", limits.sessions as u64, 0..=MAX_SESSIONS),
            bound("limits.sessions_per_user", limits.sessions_per_user as u64, 0..=MAX_SESSIONS),
            bound("limits.sessions_per_address", limits.sessions_per_address as u64, 0..=MAX_SESSIONS),
            bound("limits.emit_bytes", limits.emit_bytes as u64, 1_024..=MAX_JSON_BYTES),
            bound("limits.emit_batch", limits.emit_batch as u64, 1..=10_000),
            bound("limits.emits_per_second", limits.emits_per_second.into(), 0..=10_000_000),
            bound("limits.idempotency_keys", limits.idempotency_keys as u64, 1..=100_000_000),
            bound("limits.idempotency_keys_per_project", limits.idempotency_keys_per_project as u64, 1..=100_000_000),
            bound("limits.idempotency_seconds", limits.idempotency_seconds, 1..=86_400),
            bound("limits.queued_bytes", limits.queued_bytes as u64, 65_536..=u32::MAX.into()),
            bound("limits.tcp_memory_percent", limits.tcp_memory_percent.into(), 0..=75),
            bound("shutdown.seconds", shutdown.seconds, 2..=600),
            bound("shutdown.notice_seconds", shutdown.notice_seconds, 0..=600),
        ]
    }

    fn check_texts(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.data.dir.as_os_str().is_empty() {
            problems.push(out_of_bounds("data.dir", "must name a folder, such as ./data".to_owned()));
        }
        problems.extend(self.catalogue.mongodb.check());
        problems.extend(self.bus.redis.check());
        let is_cors_origin = |origin: &str| origin == "*" || is_origin(origin);
        problems.extend(check_origins("http.allowed_origins", &self.http.allowed_origins, is_origin));
        problems.extend(check_origins("http.cors_origins", &self.http.cors_origins, is_cors_origin));
        problems
    }

    /// Invariant: the longest emit fits into a session's send buffer and into the queue. Otherwise it could never be
    /// delivered.
    fn check_combinations(&self) -> Vec<Problem> {
        let emit_bytes = self.limits.emit_bytes;
        [
            ("session.send_buffer_bytes", self.session.send_buffer_bytes),
            ("limits.queued_bytes", self.limits.queued_bytes),
        ]
        .into_iter()
        .filter(|(_, bytes)| *bytes < emit_bytes)
        .map(|(key, bytes)| {
            out_of_bounds(key, format!("must be at least limits.emit_bytes, which is {emit_bytes}, not {bytes}"))
        })
        .collect()
    }
}

impl MongodbSettings {
    fn check(&self) -> Vec<Problem> {
        let address = self.uri.expose().split_once("://").filter(|(_, rest)| !rest.is_empty());
        let is_uri = matches!(address, Some(("mongodb" | "mongodb+srv", _)));
        let is_name_character = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let is_name = (1..=DATABASE_NAME_BYTES).contains(&self.database.len());
        let is_database = is_name && self.database.bytes().all(is_name_character);
        let uri = "must begin with mongodb:// or mongodb+srv:// and name a host".to_owned();
        let database = format!("must be 1 to {DATABASE_NAME_BYTES} letters, digits, _ and -, not {:?}", self.database);
        failed_checks([(is_uri, "catalogue.mongodb.uri", uri), (is_database, "catalogue.mongodb.database", database)])
    }
}

impl RedisSettings {
    fn check(&self) -> Vec<Problem> {
        let scheme = self.url.expose().split_once("://").filter(|(_, rest)| !rest.is_empty()).map(|(scheme, _)| scheme);
        let is_url = matches!(scheme, Some("redis" | "rediss"));
        let is_printable = self.prefix.bytes().all(|byte| byte.is_ascii_graphic());
        let is_prefix = (1..=PREFIX_BYTES).contains(&self.prefix.len()) && is_printable;
        let url = "must begin with redis:// or rediss:// and name a host".to_owned();
        let prefix = format!("must be 1 to {PREFIX_BYTES} printable ASCII characters, not {:?}", self.prefix);
        failed_checks([(is_url, "bus.redis.url", url), (is_prefix, "bus.redis.prefix", prefix)])
    }
}

impl Bound {
    fn check(self) -> Option<Problem> {
        let (least, most) = (self.allowed.start(), self.allowed.end());
        let cause = || format!("must be {least} to {most}, not {}", self.value);
        (!self.allowed.contains(&self.value)).then(|| out_of_bounds(self.key, cause()))
    }
}

fn bound(key: &'static str, value: u64, allowed: RangeInclusive<u64>) -> Bound {
    Bound { key, value, allowed }
}

/// The problems of checks. A check has its result, the key, and the cause to report on failure.
fn failed_checks(checks: [(bool, &'static str, String); 2]) -> Vec<Problem> {
    let wrong = checks.into_iter().filter(|(is_good, ..)| !is_good);
    wrong.map(|(_, key, cause)| out_of_bounds(key, cause)).collect()
}

fn out_of_bounds(key: &'static str, cause: String) -> Problem {
    Problem::OutOfBounds { key, cause }
}

fn check_origins<'a>(
    key: &'static str,
    origins: &'a [String],
    is_valid: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = Problem> + 'a {
    origins.iter().filter(move |origin| !is_valid(origin)).map(move |origin| {
        let cause = format!(
            "must hold origins as browsers send them, such as https://app.example.com (lower case, no path, no final slash), not {origin:?}"
        );
        out_of_bounds(key, cause)
    })
}

/// Whether the text is an origin as in the header `Origin` (RFC 6454, section 6.2), or the opaque `null`.
fn is_origin(text: &str) -> bool {
    if text == "null" {
        return true;
    }
    let Some((scheme, host)) = text.split_once("://") else {
        return false;
    };
    let is_scheme_character = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte);
    let is_host_character = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.bytes().all(is_scheme_character)
        && !host.is_empty()
        && host.bytes().all(is_host_character)
}
