//! The real binary, as an operator runs it: settings shown and checked, and how failures end.

use std::path::Path;
use std::process::{Command, Output};

fn carillon(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carillon"));
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARILLON__") {
            command.env_remove(name);
        }
    }
    command.envs(environment.iter().copied()).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn write_file(folder: &Path, text: &str) -> String {
    let path = folder.join("carillon.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn config_print_shows_every_key_with_its_value_and_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(folder.path(), "[http]\nworkers = 2\nbacklog = 64\n");
    let printed = carillon(&["config", "print", "--config", &file], &[("CARILLON__HTTP__WORKERS", "3")]);
    assert_eq!(printed.status.code(), Some(0));
    assert_eq!(text(&printed.stderr), "");
    let printed = text(&printed.stdout);
    assert!(printed.contains("workers = 3  # CARILLON__HTTP__WORKERS\n"), "{printed}");
    assert!(printed.contains(&format!("backlog = 64  # {file}\n")), "{printed}");
    assert!(printed.contains("bind = \"127.0.0.1:8080\"  # default\n"), "{printed}");
    let defaults: toml::Table = include_str!("../config/default.toml").parse().unwrap();
    let printed: toml::Table = printed.parse().unwrap();
    let keys = |table: &toml::Table| -> Vec<String> {
        table
            .iter()
            .flat_map(|(section, keys)| keys.as_table().unwrap().keys().map(move |key| format!("{section}.{key}")))
            .collect()
    };
    assert_eq!(keys(&printed), keys(&defaults));
}

#[test]
fn config_check_says_ok_about_a_good_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(folder.path(), "[session]\nping_seconds = 30\n");
    for arguments in [&["config", "check", &file][..], &["config", "check", "--config", &file], &["config", "check"]] {
        let checked = carillon(arguments, &[]);
        assert_eq!((checked.status.code(), text(&checked.stdout)), (Some(0), "ok\n"), "{arguments:?}");
    }
}

#[test]
fn config_check_tells_every_problem_on_a_line_and_exits_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(folder.path(), "[http]\nbnid = '127.0.0.1:1'\nworkers = 5000\n[bus]\nkind = 'redis'\n");
    let checked = carillon(&["config", "check", &file], &[("CARILLON__SESSION__PING", "1")]);
    assert_eq!(checked.status.code(), Some(1));
    assert_eq!(text(&checked.stdout), "");
    let problems = text(&checked.stderr);
    let expected = [
        format!("http.bnid: no such key ({file}), did you mean http.bind?"),
        "session.ping: no such key (CARILLON__SESSION__PING), did you mean CARILLON__SESSION__PING_SECONDS?".to_owned(),
        format!("bus.kind: must be one of \"local\", not \"redis\" ({file})"),
        "http.workers: must be 0 to 1024, not 5000".to_owned(),
    ];
    assert_eq!(problems.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn config_check_refuses_a_file_that_is_not_there() {
    let checked = carillon(&["config", "check", "/nonexistent/carillon.toml"], &[]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stderr).starts_with("/nonexistent/carillon.toml: cannot be read: "));
}

#[test]
fn a_node_with_bad_settings_says_so_in_one_line_and_exits_1() {
    for arguments in [&["serve"][..], &[]] {
        let refused = carillon(arguments, &[("CARILLON__HTTP__BIND", "localhost:8080")]);
        assert_eq!(refused.status.code(), Some(1));
        assert_eq!(text(&refused.stdout), "");
        let problem = text(&refused.stderr);
        assert!(problem.starts_with("carillon: http.bind: must be an IP address and a port"), "{problem}");
        assert!(problem.contains("CARILLON__HTTP__BIND"), "{problem}");
        assert_eq!(problem.lines().count(), 1);
    }
}

#[test]
fn arguments_that_make_no_sense_exit_2() {
    for arguments in [&["sreve"][..], &["config"], &["config", "print", "--colour"], &["serve", "--config"]] {
        let refused = carillon(arguments, &[]);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&refused.stdout), "");
    }
}
