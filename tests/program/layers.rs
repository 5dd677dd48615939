//! Checks the layers of ARCHITECTURE.md: reads every import of the source and compares it with the rules.

use std::fs;
use std::path::{Path, PathBuf};

/// One rule: the paths that the files in `modules` must not name, with exceptions in `except`.
struct Rule {
    modules: &'static [&'static str],
    except: &'static [&'static str],
    never: &'static [&'static str],
}

/// The drivers: crates for databases, Redis and other I/O.
const DRIVERS: [&str; 4] = ["redis", "deadpool_redis", "mongodb", "rusqlite"];

const RULES: [Rule; 13] = [
    Rule {
        modules: &["actors/src/protocol/", "actors/src/condition/", "actors/src/registry/index"],
        except: &[],
        never: &[
            "actix",
            "actix_web",
            "actix_http",
            "actix_rt",
            "tokio",
            "mio",
            "rustix",
            "redis",
            "deadpool_redis",
            "mongodb",
            "rusqlite",
            "std::net",
            "std::fs",
        ],
    },
    Rule {
        modules: &["actors/src/session/", "actors/src/hub/"],
        except: &[],
        never: &["crate::bus", "super::bus", "redis", "deadpool_redis", "mongodb", "rusqlite", "actix_web"],
    },
    // The direction inside the broker: registry → hub → session → protocol and condition.
    Rule { modules: &["actors/src/hub/"], except: &[], never: &["crate::registry", "super::registry"] },
    Rule {
        modules: &["actors/src/session/"],
        except: &[],
        never: &["crate::registry", "super::registry", "crate::hub", "super::hub"],
    },
    Rule {
        modules: &["actors/src/protocol/", "actors/src/condition/"],
        except: &[],
        never: &["crate::session", "crate::hub", "crate::registry", "crate::bus", "crate::emitter"],
    },
    // The emitter publishes on the bus. The bus sends publications as messages and imports no receiver.
    Rule {
        modules: &["actors/src/bus/", "actors/src/emitter/", "actors/src/backpressure/"],
        except: &[],
        never: &["crate::session", "crate::hub", "crate::registry"],
    },
    // The HTTP routes count; the metrics page reads.
    Rule { modules: &["src/metrics/"], except: &[], never: &["crate::http", "super::http"] },
    Rule {
        modules: &["actors/src/"],
        except: &[],
        never: &["carillon", "actix_web", "actix_http", "mongodb", "rusqlite", "std::fs"],
    },
    Rule { modules: &["actors/src/", "src/"], except: &["actors/src/bus/redis"], never: &["redis", "deadpool_redis"] },
    Rule { modules: &["actors/src/", "src/"], except: &["src/catalogue/mongo"], never: &["mongodb"] },
    Rule { modules: &["actors/src/", "src/"], except: &["src/catalogue/embedded"], never: &["rusqlite"] },
    Rule { modules: &["src/http/"], except: &[], never: &DRIVERS },
    Rule {
        modules: &["src/"],
        except: &["src/main.rs", "src/command_line", "src/node"],
        never: &["crate::node", "super::node", "carillon::node"],
    },
];

/// The rules that a file breaks: one line per forbidden name in its code, without comments and string contents.
fn breaches(file: &str, text: &str) -> Vec<String> {
    let words = code_of(text);
    let broken = |rule: &&Rule| {
        let within = |places: &[&str]| places.iter().any(|place| file.starts_with(place));
        within(rule.modules) && !within(rule.except)
    };
    RULES
        .iter()
        .filter(broken)
        .flat_map(|rule| rule.never)
        .filter(|name| words.iter().any(|line| imports(line, name)))
        .map(|name| format!("{file} must not know {name}"))
        .collect()
}

/// The lines of code, without comments and string contents, and with `use` trees expanded into full paths.
fn code_of(text: &str) -> Vec<String> {
    let bare: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let mut lines = Vec::new();
    let mut open_use: Option<String> = None;
    for line in bare {
        let line = without_texts(line.trim());
        let unpublished = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        let statement = match (open_use.take(), unpublished.strip_prefix("use ")) {
            (Some(start), _) => start + &line,
            (None, Some(tree)) => tree.to_owned(),
            (None, None) => {
                lines.push(line);
                continue;
            }
        };
        match statement.strip_suffix(';') {
            Some(tree) => unfold("", tree, &mut lines),
            None => open_use = Some(statement),
        }
    }
    lines
}

fn without_texts(line: &str) -> String {
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// Expands `a::{b, c::{d}}` into `a::b` and `a::c::d`.
fn unfold(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((start, rest)) = tree.split_once('{') else {
        paths.push(format!("{prefix}{tree}"));
        return;
    };
    let prefix = format!("{prefix}{}", start.trim());
    let inner = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let mut depth = 0_u32;
    let mut from = 0;
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                unfold(&prefix, &inner[from..at], paths);
                from = at + 1;
            }
            _ => {}
        }
    }
    if !inner[from..].trim().is_empty() {
        unfold(&prefix, &inner[from..], paths);
    }
}

/// Whether a line of code names `path` as the start of a path: `path::…`, `path` alone in a `use`, `::path`.
fn imports(line: &str, path: &str) -> bool {
    let part_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].trim_end_matches("::");
        let starts = !before.ends_with(part_of_word);
        let after = &line[at + path.len()..];
        let names_more = after.starts_with("::") || after.is_empty() || after.starts_with(" as ");
        starts && names_more
    })
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for item in fs::read_dir(folder).expect("a folder of source") {
        let path = item.expect("a file or a folder").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_module_imports_only_what_its_layer_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    sources(&root.join("actors/src"), &mut files);
    assert!(!files.is_empty());
    let broken: Vec<String> = files
        .iter()
        .flat_map(|path| {
            let file = path.strip_prefix(root).expect("inside").to_str().expect("UTF-8");
            breaches(file, &fs::read_to_string(path).expect("a text"))
        })
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_line_that_breaks_a_layer_is_reported() {
    let rows = [
        ("actors/src/protocol/frame.rs", "use actix::prelude::*;"),
        ("actors/src/condition/parse.rs", "use std::{fmt, net::TcpStream};"),
        ("actors/src/registry/index.rs", "let x = tokio::spawn(y);"),
        ("actors/src/registry/index/hash.rs", "use tokio;"),
        ("actors/src/session/mod.rs", "use crate::{\n    protocol::codes,\n    bus::{Bus, local},\n};"),
        ("actors/src/hub/mod.rs", "pub use crate::bus::Bus;"),
        ("actors/src/hub/mod.rs", "use crate::registry::Leaving;"),
        ("actors/src/session/mod.rs", "use crate::hub::SessionHub;"),
        ("actors/src/condition/mod.rs", "use crate::session::Session;"),
        ("actors/src/emitter.rs", "use redis::Client;"),
        ("actors/src/emitter.rs", "use actix_web::web;"),
        ("src/http/emit.rs", "fn f(_: &rusqlite::Connection) {}"),
        ("src/http/emit.rs", "use crate::node::Node;"),
        ("src/auth/mod.rs", "use mongodb as store;"),
        ("actors/src/session/mod.rs", "pub(crate) use super::{bus, hub};"),
    ];
    for (file, line) in rows {
        assert!(!breaches(file, line).is_empty(), "{file}: {line}");
    }
}

#[test]
fn a_line_that_keeps_the_layers_is_not_reported() {
    let rows = [
        ("actors/src/protocol/frame.rs", "// use actix::prelude::*;"),
        ("actors/src/protocol/frame.rs", "//! tokio::spawn is for others."),
        ("actors/src/protocol/frame.rs", "let text = \"tokio::spawn\";"),
        ("actors/src/condition/parse.rs", "use crate::protocol::codes::ErrorCode;"),
        ("actors/src/session/mod.rs", "use actix::Handler;"),
        ("actors/src/registry/mod.rs", "use crate::bus::Bus;"),
        ("actors/src/bus/redis.rs", "use deadpool_redis::Pool;"),
        ("src/catalogue/embedded.rs", "use rusqlite::Connection;"),
        ("src/catalogue/mod.rs", "let redistribute = redistribution::start();"),
        ("src/main.rs", "use carillon::node::Node;"),
    ];
    for (file, line) in rows {
        assert_eq!(breaches(file, line), Vec::<String>::new(), "{file}: {line}");
    }
}
