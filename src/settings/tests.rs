//! Checks over every key: the reference in `config/default.toml` is complete and true.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use toml::Value;

use super::known_keys::DEFAULTS;
use super::source::variable_of_key;
use super::*;

/// A valid value for each key that differs from its default, in TOML and in an environment variable.
const OTHER_VALUES: &[(&str, &str, &str)] = &[
    ("http.bind", "'[::1]:9000'", "[::1]:9000"),
    ("http.workers", "3", "3"),
    ("http.allowed_origins", "['https://a.example', 'http://b.example:81']", "https://a.example, http://b.example:81"),
    ("http.cors_origins", "['https://a.example', '*']", "https://a.example, *"),
    ("http.try_page", "false", "false"),
    ("http.backlog", "16", "16"),
    ("http.write_timeout_seconds", "7", "7"),
    ("data.dir", "'/var/lib/carillon'", "/var/lib/carillon"),
    ("catalogue.kind", "'mongodb'", "mongodb"),
    ("catalogue.cache_seconds", "7", "7"),
    ("catalogue.demo", "false", "false"),
    ("catalogue.mongodb.uri", "'mongodb+srv://a.example'", "mongodb+srv://a.example"),
    ("catalogue.mongodb.database", "'other_1-x'", "other_1-x"),
    ("bus.kind", "'redis'", "redis"),
    ("bus.redis.url", "'rediss://a.example:7000/1'", "rediss://a.example:7000/1"),
    ("bus.redis.prefix", "'other:'", "other:"),
    ("auth.leeway_seconds", "0", "0"),
    ("session.ping_seconds", "2", "2"),
    ("session.send_buffer_bytes", "300000", "300000"),
    ("session.kernel_send_buffer_bytes", "65536", "65536"),
    ("session.write_timeout_seconds", "600", "600"),
    ("session.close_seconds", "1", "1"),
    ("limits.message_bytes", "2048", "2048"),
    ("limits.subscriptions", "7", "7"),
    ("limits.messages_per_second", "7", "7"),
    ("limits.register_milliseconds", "7", "7"),
    ("limits.sessions", "7", "7"),
    ("limits.sessions_per_user", "7", "7"),
    ("limits.sessions_per_address", "7", "7"),
    ("limits.emit_bytes", "2048", "2048"),
    ("limits.emit_batch", "7", "7"),
    ("limits.emits_per_second", "7", "7"),
    ("limits.idempotency_keys", "7", "7"),
    ("limits.idempotency_keys_per_project", "7", "7"),
    ("limits.idempotency_seconds", "7", "7"),
    ("limits.queued_bytes", "300000", "300000"),
    ("limits.tcp_memory_percent", "7", "7"),
    ("shutdown.seconds", "7", "7"),
    ("shutdown.notice_seconds", "3", "3"),
    ("log.format", "'json'", "json"),
    ("log.level", "'debug'", "debug"),
];

/// Refused values in TOML: at least one for each bound.
const REFUSED_VALUES: &[(&str, &str)] = &[
    ("http.bind", "'localhost:8080'"),
    ("http.bind", "'127.0.0.1'"),
    ("http.workers", "1025"),
    ("http.workers", "-1"),
    ("http.allowed_origins", "['https://a.example/']"),
    ("http.allowed_origins", "['a.example']"),
    ("http.allowed_origins", "['*']"),
    ("http.allowed_origins", "[1]"),
    ("http.allowed_origins", "'https://a.example'"),
    ("http.cors_origins", "['https://a.example/']"),
    ("http.cors_origins", "['https://*.example']"),
    ("http.try_page", "'no'"),
    ("http.backlog", "0"),
    ("http.backlog", "65536"),
    ("http.write_timeout_seconds", "0"),
    ("http.write_timeout_seconds", "601"),
    ("data.dir", "''"),
    ("catalogue.kind", "'mongo'"),
    ("catalogue.cache_seconds", "0"),
    ("catalogue.cache_seconds", "86401"),
    ("catalogue.demo", "1"),
    ("catalogue.mongodb.uri", "'http://a.example'"),
    ("catalogue.mongodb.uri", "'mongodb://'"),
    ("catalogue.mongodb.uri", "''"),
    ("catalogue.mongodb.database", "''"),
    ("catalogue.mongodb.database", "'a.b'"),
    ("catalogue.mongodb.database", "'a23456789b123456789c123456789d123456789'"),
    ("bus.kind", "'nats'"),
    ("bus.redis.url", "'http://a.example'"),
    ("bus.redis.url", "'redis://'"),
    ("bus.redis.url", "''"),
    ("bus.redis.prefix", "''"),
    ("bus.redis.prefix", "'a b'"),
    ("bus.redis.prefix", "'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff12345'"),
    ("auth.leeway_seconds", "301"),
    ("session.ping_seconds", "0"),
    ("session.ping_seconds", "3601"),
    ("session.ping_seconds", "1.5"),
    ("session.send_buffer_bytes", "1023"),
    ("session.send_buffer_bytes", "262143"),
    ("session.send_buffer_bytes", "1073741825"),
    ("session.kernel_send_buffer_bytes", "16777217"),
    ("session.write_timeout_seconds", "0"),
    ("session.write_timeout_seconds", "601"),
    ("session.close_seconds", "0"),
    ("session.close_seconds", "61"),
    ("limits.message_bytes", "1023"),
    ("limits.message_bytes", "16777217"),
    ("limits.message_bytes", "true"),
    ("limits.subscriptions", "0"),
    ("limits.subscriptions", "10001"),
    ("limits.messages_per_second", "0"),
    ("limits.messages_per_second", "1000001"),
    ("limits.messages_per_second", "99999999999"),
    ("limits.register_milliseconds", "0"),
    ("limits.register_milliseconds", "60001"),
    ("limits.sessions", "10000001"),
    ("limits.sessions_per_user", "10000001"),
    ("limits.sessions_per_address", "10000001"),
    ("limits.emit_bytes", "1023"),
    ("limits.emit_bytes", "16777217"),
    ("limits.emit_batch", "0"),
    ("limits.emit_batch", "10001"),
    ("limits.emits_per_second", "10000001"),
    ("limits.idempotency_keys", "0"),
    ("limits.idempotency_keys", "100000001"),
    ("limits.idempotency_keys_per_project", "0"),
    ("limits.idempotency_keys_per_project", "100000001"),
    ("limits.idempotency_seconds", "0"),
    ("limits.idempotency_seconds", "86401"),
    ("limits.queued_bytes", "65535"),
    ("limits.queued_bytes", "68719476737"),
    ("limits.tcp_memory_percent", "76"),
    ("limits.tcp_memory_percent", "256"),
    ("shutdown.seconds", "0"),
    ("shutdown.seconds", "601"),
    ("shutdown.seconds", "'10'"),
    ("shutdown.notice_seconds", "601"),
    ("log.format", "'xml'"),
    ("log.level", "'verbose'"),
];

fn load(file: &str, environment: &[(&str, &str)]) -> Result<Loaded, Problems> {
    let mut temporary = tempfile::NamedTempFile::new().unwrap();
    temporary.write_all(file.as_bytes()).unwrap();
    let environment = environment.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    Loaded::from(Some(temporary.path()), environment)
}

fn refusal(file: &str, environment: &[(&str, &str)]) -> String {
    load(file, environment).unwrap_err().to_string()
}

fn line(key: &str, value: &str) -> String {
    let (section, key) = key.rsplit_once('.').unwrap();
    format!("[{section}]\n{key} = {value}\n")
}

fn by_key(sections: &toml::Table) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    for (section, keys) in sections {
        for (key, value) in keys.as_table().unwrap() {
            match value.as_table() {
                Some(nested) => {
                    values.extend(nested.iter().map(|(last, v)| (format!("{section}.{key}.{last}"), v.clone())))
                }
                None => drop(values.insert(format!("{section}.{key}"), value.clone())),
            }
        }
    }
    values
}

fn values(settings: &Settings) -> BTreeMap<String, Value> {
    by_key(&toml::Table::try_from(settings).unwrap())
}

#[test]
fn the_default_file_has_exactly_the_keys_and_values_of_the_settings() {
    assert_eq!(by_key(&DEFAULTS.parse().unwrap()), values(&Settings::default()));
    assert_eq!(Settings::default().validate(), []);
}

#[test]
fn every_key_of_the_default_file_has_a_comment() {
    let mut previous = "";
    for line in DEFAULTS.lines() {
        assert!(!line.contains(" = ") || previous.starts_with('#'), "{line} has no comment above it");
        previous = line;
    }
}

#[test]
fn the_comments_of_the_default_file_state_the_bounds() {
    for bound in Settings::default().numbers() {
        let (section, key) = bound.key.split_once('.').unwrap();
        let section = &DEFAULTS[DEFAULTS.find(&format!("[{section}]")).unwrap()..];
        let before = &section[..section.find(&format!("\n{key} = ")).unwrap()];
        let comment = &before[before.rfind(" = ").unwrap_or(0)..];
        let bounds = format!("{} to {}", bound.allowed.start(), bound.allowed.end());
        assert!(comment.contains(&bounds), "the comment of {} does not say {bounds}", bound.key);
    }
}

#[test]
fn every_number_has_bounds() {
    let bounded: BTreeSet<_> = Settings::default().numbers().iter().map(|bound| bound.key.to_owned()).collect();
    let numbers = values(&Settings::default()).into_iter().filter(|(_, value)| value.is_integer());
    assert_eq!(bounded, numbers.map(|(key, _)| key).collect());
}

#[test]
fn every_key_can_be_overridden_by_a_file_and_by_the_environment() {
    let keys: BTreeSet<_> = OTHER_VALUES.iter().map(|(key, ..)| key.to_string()).collect();
    assert_eq!(keys, values(&Settings::default()).into_keys().collect(), "OTHER_VALUES lacks a key");
    for (key, value, text) in OTHER_VALUES {
        let expected = by_key(&line(key, value).parse().unwrap()).remove(*key).unwrap();
        let from_file = load(&line(key, value), &[]).unwrap();
        assert_eq!(values(&from_file.settings)[*key], expected, "{key} in a file");
        assert!(matches!(from_file.source(key), Source::File(_)), "{key}");
        let variable = variable_of_key(key);
        let from_environment = load("", &[(&variable, text)]).unwrap();
        assert_eq!(values(&from_environment.settings)[*key], expected, "{variable}");
        assert_eq!(from_environment.source(key), &Source::Environment(variable));
    }
}

#[test]
fn every_value_outside_its_bounds_is_refused_with_its_key() {
    for (key, value) in REFUSED_VALUES {
        let refusal = refusal(&line(key, value), &[]);
        assert!(refusal.starts_with(&format!("{key}: must ")), "{key} = {value} gave {refusal:?}");
    }
    let refused: BTreeSet<_> = REFUSED_VALUES.iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(refused, values(&Settings::default()).into_keys().collect(), "a key has no refused example");
}

#[test]
fn the_bounds_themselves_are_allowed() {
    for bound in Settings::default().numbers() {
        for value in [bound.allowed.start(), bound.allowed.end()] {
            // The longest emit must fit into buffer and queue, so these settings depend on each other.
            let file = match bound.key {
                "limits.emit_bytes" => {
                    format!("[session]\nsend_buffer_bytes = {}\n[limits]\nemit_bytes = {value}", 1 << 30)
                }
                "session.send_buffer_bytes" => line(bound.key, &value.to_string()) + "[limits]\nemit_bytes = 1024",
                "limits.queued_bytes" => line(bound.key, &value.to_string()) + "emit_bytes = 1024",
                _ => line(bound.key, &value.to_string()),
            };
            assert!(load(&file, &[]).is_ok(), "{file}");
        }
    }
}

#[test]
fn the_environment_overrides_the_file_and_the_file_overrides_the_defaults() {
    let file = "[http]\nworkers = 2\nbacklog = 64\n";
    let loaded = load(file, &[("CARILLON__HTTP__WORKERS", "3")]).unwrap();
    assert_eq!(loaded.settings.http.workers, 3);
    assert_eq!(loaded.settings.http.backlog, 64);
    assert_eq!(loaded.settings.http.bind, Settings::default().http.bind);
    assert_eq!(loaded.source("http.workers"), &Source::Environment("CARILLON__HTTP__WORKERS".to_owned()));
    assert!(matches!(loaded.source("http.backlog"), Source::File(_)));
    assert_eq!(loaded.source("http.bind"), &Source::Default);
}

#[test]
fn an_unknown_key_in_a_file_is_refused_with_the_nearest_known_one() {
    assert!(refusal("[http]\nbnid = 1", &[]).starts_with("http.bnid: no such key ("));
    assert!(refusal("[http]\nbnid = 1", &[]).ends_with("), did you mean http.bind?"));
    assert!(refusal("[htpp]\nbind = 1", &[]).ends_with("did you mean http.bind?"));
    assert!(refusal("ping_seconds = 1", &[]).ends_with("did you mean session.ping_seconds?"));
    assert!(refusal("[limits.sessions]\nuser = 1", &[]).starts_with("limits.sessions.user: no such key ("));
    assert!(refusal("[catalogue]\nmongodb = 1", &[]).starts_with("catalogue.mongodb: no such key ("));
    assert!(refusal("[catalogue.mongodb.uri]\na = 1", &[]).starts_with("catalogue.mongodb.uri: must be a text"));
    assert!(refusal("[catalogue.mongodb]\ndatabse = 1", &[]).ends_with("did you mean catalogue.mongodb.database?"));
}

#[test]
fn an_unknown_variable_is_refused_with_the_nearest_known_one() {
    let refusal = refusal("", &[("CARILLON__HTTP__BNID", "1")]);
    assert_eq!(refusal, "http.bnid: no such key (CARILLON__HTTP__BNID), did you mean CARILLON__HTTP__BIND?");
    for name in
        ["CARILLON__", "CARILLON__HTTP", "CARILLON__http__bind", "CARILLON__HTTP.BIND", "CARILLON__CATALOGUE__MONGODB"]
    {
        assert!(load("", &[(name, "1")]).is_err(), "{name}");
    }
}

#[test]
fn variables_that_are_not_ours_are_ignored() {
    let environment = [
        ("CARILLON_SERVICE_HOST", "10.0.0.1"),
        ("CARILLON_CONFIG", "a.toml"),
        ("CARILLON_BIN", "x"),
        ("CARILLON_PORT", "8080"),
        ("PATH", "/bin"),
        ("carillon__http__bind", "x"),
    ];
    assert_eq!(load("", &environment).unwrap().settings, Settings::default());
}

#[test]
fn a_variable_with_single_underscores_is_refused_with_the_name_that_was_meant() {
    for (name, meant) in [
        ("CARILLON_HTTP_BIND", "CARILLON__HTTP__BIND"),
        ("CARILLON_HTTP__BIND", "CARILLON__HTTP__BIND"),
        ("CARILLON_CATALOGUE_MONGODB_URI", "CARILLON__CATALOGUE__MONGODB__URI"),
        ("CARILLON_SESSION_PING_SECONDS", "CARILLON__SESSION__PING_SECONDS"),
    ] {
        let refusal = refusal("", &[(name, "1")]);
        assert!(refusal.starts_with(&format!("{name}: ")) && refusal.contains(&format!("{meant}?")), "{refusal}");
    }
}

#[test]
fn all_problems_are_reported_at_once_with_one_line_each() {
    let file = "[http]\nbind = 'localhost:1'\nworkers = 2000\n\"a\\nb\" = 1\n[session]\nping_seconds = 'x'\n";
    let Problems(problems) = load(file, &[("CARILLON__BUS__KIND", "nats")]).unwrap_err();
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    for key in ["http.bind: ", "http.workers: ", r"http.a\nb: ", "session.ping_seconds: ", "bus.kind: "] {
        assert_eq!(lines.iter().filter(|line| line.starts_with(key)).count(), 1, "{key} in {lines:?}");
    }
    assert_eq!(lines.len(), 5);
    assert!(lines.iter().all(|line| line.lines().count() == 1));
    assert_eq!(Problems(problems).to_string().lines().count(), 5);
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_its_line() {
    let refusal = refusal("[http]\nbind = = 1\n", &[]);
    assert!(refusal.contains("line 2") && refusal.lines().count() == 1, "{refusal}");
}

#[test]
fn the_error_for_an_unreadable_file_names_the_file() {
    let refusal = Loaded::from(Some("/nonexistent/carillon.toml".as_ref()), []).unwrap_err().to_string();
    assert!(refusal.starts_with("/nonexistent/carillon.toml: cannot be read: "), "{refusal}");
}

#[test]
fn the_listing_is_an_equivalent_settings_file() {
    let environment =
        [("CARILLON__DATA__DIR", "a \"b\"\n#c"), ("CARILLON__HTTP__ALLOWED_ORIGINS", "https://a.example")];
    let loaded = load("[limits]\nsessions = 9", &environment).unwrap();
    let listing = loaded.to_toml();
    assert_eq!(load(&listing, &[]).unwrap().settings, loaded.settings, "{listing}");
    assert!(listing.contains("  # CARILLON__DATA__DIR\n"), "{listing}");
    assert!(listing.contains("workers = 0  # default\n"), "{listing}");
}

#[test]
fn the_listing_shows_no_password_of_the_catalogue() {
    let variable = ("CARILLON__CATALOGUE__MONGODB__URI", "mongodb://ann:open-sesame@a.example/?tls=true");
    let loaded = load("", &[variable]).unwrap();
    assert_eq!(loaded.settings.catalogue.mongodb.uri.expose(), variable.1);
    let listing = loaded.to_toml();
    let line = "[catalogue.mongodb]\ndatabase = \"carillon\"  # default\nuri = \"mongodb://ann:***@a.example/?tls=true\"  # CARILLON__CATALOGUE__MONGODB__URI\n";
    assert!(listing.contains(line), "{listing}");
    for text in [listing, format!("{loaded:?}"), refusal("[http]\nworkers = -1", &[variable])] {
        assert!(!text.contains("sesame"), "{text}");
    }
}

#[test]
fn the_listing_shows_no_password_of_the_bus() {
    let variable = ("CARILLON__BUS__REDIS__URL", "rediss://ann:open-sesame@a.example:7000/3");
    let loaded = load("", &[variable]).unwrap();
    assert_eq!(loaded.settings.bus.redis.url.expose(), variable.1);
    let listing = loaded.to_toml();
    let line = "url = \"rediss://ann:***@a.example:7000/3\"  # CARILLON__BUS__REDIS__URL\n";
    assert!(listing.contains(line), "{listing}");
    for text in [listing, format!("{loaded:?}"), refusal("[http]\nworkers = -1", &[variable])] {
        assert!(!text.contains("sesame"), "{text}");
    }
}
