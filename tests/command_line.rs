//! The command line of the real binary: settings, tokens, keys, plans, and the exit codes of failures.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use carillon::catalogue::{Catalogue as _, EmbeddedCatalogue, KeyMaterial, KeyUse, NodeLock, ProjectName};
use carillon::limits::costs::{
    KERNEL_BYTES_PER_CLIENT, MEASURED_VERSION, PROCESS_BYTES, PROCESS_BYTES_PER_CLIENT,
    PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION,
};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};

fn carillon(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carillon"));
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARILLON__") || name_text == "CARILLON_CONFIG" {
            command.env_remove(&name);
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
fn config_check_prints_ok_for_a_valid_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(folder.path(), "[session]\nping_seconds = 30\n");
    for arguments in [&["config", "check", &file][..], &["config", "check", "--config", &file], &["config", "check"]] {
        let checked = carillon(arguments, &[]);
        assert_eq!((checked.status.code(), text(&checked.stdout)), (Some(0), "ok\n"), "{arguments:?}");
    }
}

#[test]
fn config_check_prints_ok_for_the_settings_of_the_compose_file() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/config/cluster.toml");
    let checked = carillon(&["config", "check", file], &[]);
    assert_eq!((checked.status.code(), text(&checked.stdout)), (Some(0), "ok\n"), "{}", text(&checked.stderr));
}

#[test]
fn a_settings_file_can_be_named_by_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(folder.path(), "[session]\nping_seconds = 30\n");
    let printed = carillon(&["config", "print"], &[("CARILLON_CONFIG", &file)]);
    assert!(text(&printed.stdout).contains(&format!("ping_seconds = 30  # {file}\n")), "{}", text(&printed.stdout));
    let printed = carillon(&["config", "print", "--config", &file], &[("CARILLON_CONFIG", "/no/such/file")]);
    assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
}

#[test]
fn config_check_prints_one_line_per_problem_and_exits_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = write_file(folder.path(), "[http]\nbnid = '127.0.0.1:1'\nworkers = 5000\n[bus]\nkind = 'nats'\n");
    let checked = carillon(&["config", "check", &file], &[("CARILLON__SESSION__PING", "1")]);
    assert_eq!(checked.status.code(), Some(1));
    assert_eq!(text(&checked.stdout), "");
    let problems = text(&checked.stderr);
    let expected = [
        format!("http.bnid: no such key ({file}), did you mean http.bind?"),
        "session.ping: no such key (CARILLON__SESSION__PING), did you mean CARILLON__SESSION__PING_SECONDS?".to_owned(),
        format!("bus.kind: must be one of \"local\", \"redis\", not \"nats\" ({file})"),
        "http.workers: must be 0 to 512, not 5000".to_owned(),
    ];
    assert_eq!(problems.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn config_check_refuses_a_missing_file() {
    let checked = carillon(&["config", "check", "/nonexistent/carillon.toml"], &[]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stderr).starts_with("/nonexistent/carillon.toml: cannot be read: "));
}

#[test]
fn a_node_with_invalid_settings_prints_one_line_and_exits_1() {
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
fn invalid_arguments_exit_2() {
    for arguments in [&["sreve"][..], &["config"], &["config", "print", "--colour"], &["serve", "--config"]] {
        let refused = carillon(arguments, &[]);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&refused.stdout), "");
    }
}

/// A data folder after a first start, and the environment that names it.
struct DataFolder {
    folder: tempfile::TempDir,
    catalogue: EmbeddedCatalogue,
}

impl DataFolder {
    fn with_demo() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = EmbeddedCatalogue::open(folder.path()).unwrap();
        assert!(runtime().block_on(catalogue.ensure_demo()).unwrap());
        Self { folder, catalogue }
    }

    fn carillon(&self, arguments: &[&str]) -> Output {
        carillon(arguments, &[("CARILLON__DATA__DIR", self.folder.path().to_str().unwrap())])
    }

    /// The output of a command with `--json`, which must succeed.
    fn json(&self, arguments: &[&str]) -> String {
        let printed = self.carillon(&[arguments, &["--json"]].concat());
        assert_eq!((printed.status.code(), text(&printed.stderr)), (Some(0), ""), "{arguments:?}");
        text(&printed.stdout).to_owned()
    }

    /// The claims of the token that a command prints, after a check of its signature with the project's key.
    fn claims(&self, key_use: KeyUse, arguments: &[&str]) -> serde_json::Value {
        let printed = self.carillon(arguments);
        assert_eq!(text(&printed.stderr), "");
        assert_eq!(printed.status.code(), Some(0));
        let token = text(&printed.stdout).strip_suffix('\n').unwrap();
        assert!(!token.contains(char::is_whitespace), "{token:?}");
        let project = runtime().block_on(self.catalogue.project(&ProjectName::demo())).unwrap().unwrap();
        let key = project.keys.into_iter().find(|key| key.key_use == key_use).unwrap();
        let KeyMaterial::Secret(secret) = key.material else { panic!("the demo's keys are secrets") };
        let mut validation = Validation::new(Algorithm::HS256);
        validation.required_spec_claims.clear();
        let decoded = decode(token, &DecodingKey::from_secret(&secret).unwrap(), &validation).unwrap();
        assert_eq!(decoded.header.kid.as_deref(), Some(key.id.as_str()));
        decoded.claims
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Whether the claim `exp` is `seconds` after now, with a tolerance for the run time of the command.
fn ends_after(claims: &serde_json::Value, before: u64, seconds: u64) -> bool {
    (before + seconds..=now() + seconds).contains(&claims["exp"].as_u64().unwrap())
}

#[test]
fn token_api_prints_a_token_with_name_and_scopes_that_never_expires() {
    let data = DataFolder::with_demo();
    let arguments = ["token", "api", "--project", "demo", "--name", "shop", "--scope", "connect,emit"];
    let expected = serde_json::json!({"project": "demo", "sub": "shop", "scope": ["connect", "emit"]});
    assert_eq!(data.claims(KeyUse::Api, &arguments), expected);
}

#[test]
fn token_api_expires_after_its_time_to_live() {
    let data = DataFolder::with_demo();
    let before = now();
    let arguments = ["token", "api", "--project", "demo", "--name", "shop", "--scope", "admin", "--ttl", "7d"];
    let claims = data.claims(KeyUse::Api, &arguments);
    assert!(ends_after(&claims, before, 604_800), "{claims}");
    assert_eq!(claims["scope"], serde_json::json!(["admin"]));
}

#[test]
fn token_user_is_valid_for_an_hour_and_has_the_given_claims() {
    let data = DataFolder::with_demo();
    let before = now();
    let claims = ["--claim", "role=editor", "--claim", "level=9007199254740993", "--claim", "tags=[\"a=b\"]"];
    let arguments = [&["token", "user", "--project", "demo", "--sub", "u42"][..], &claims].concat();
    let claims = data.claims(KeyUse::User, &arguments);
    assert!(ends_after(&claims, before, 3_600), "{claims}");
    assert_eq!((&claims["project"], &claims["sub"]), (&"demo".into(), &"u42".into()));
    assert_eq!((&claims["role"], &claims["level"]), (&"editor".into(), &9_007_199_254_740_993_u64.into()));
    assert_eq!(claims["tags"], serde_json::json!(["a=b"]));
}

#[test]
fn token_commands_work_while_a_node_uses_the_data_folder() {
    let data = DataFolder::with_demo();
    let _node = NodeLock::acquire(data.folder.path()).unwrap();
    let arguments = ["token", "user", "--project", "demo", "--sub", "u42", "--ttl", "90s"];
    assert_eq!(data.claims(KeyUse::User, &arguments)["sub"], "u42");
}

#[test]
fn token_commands_that_cannot_sign_print_one_line_and_exit_1() {
    let data = DataFolder::with_demo();
    let user = ["token", "user", "--project", "demo", "--sub", "u42"];
    let cases = [
        ([&["token", "user", "--project", "none", "--sub", "u42"][..], &[]].concat(), "there is no project none in "),
        ([&user[..], &["--claim", "exp=1"]].concat(), "the claim exp "),
        ([&user[..], &["--claim", "a=1", "--claim", "a=2"]].concat(), "the claim a "),
        (vec!["token", "user", "--project", "demo", "--sub", ""], "a name or user id "),
    ];
    for (arguments, problem) in cases {
        let refused = data.carillon(&arguments);
        assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(1), ""), "{arguments:?}");
        let message = text(&refused.stderr);
        assert!(message.starts_with(&format!("carillon: {problem}")) && message.lines().count() == 1, "{message}");
    }
}

#[test]
fn token_commands_do_not_create_a_data_folder() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let arguments = ["token", "user", "--project", "demo", "--sub", "u42"];
    let refused = carillon(&arguments, &[("CARILLON__DATA__DIR", folder.to_str().unwrap())]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).starts_with("carillon: there is no data folder "));
    assert!(!folder.exists());
}

#[test]
fn invalid_token_arguments_exit_2() {
    let api = ["token", "api", "--project", "demo", "--name", "shop"];
    let user = ["token", "user", "--project", "demo", "--sub", "u42"];
    let cases = [
        api.to_vec(),
        [&api[..], &["--scope", "connect,publish"]].concat(),
        [&api[..], &["--scope", ""]].concat(),
        [&api[..], &["--scope", "emit", "--ttl", "0s"]].concat(),
        [&user[..], &["--ttl", "1000000d"]].concat(),
        [&user[..], &["--claim", "role"]].concat(),
        vec!["token", "user", "--project", "De Mo", "--sub", "u42"],
    ];
    for arguments in cases {
        let refused = carillon(&arguments, &[]);
        assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(2), ""), "{arguments:?}");
    }
}

#[test]
fn token_env_exports_both_tokens_to_a_shell() {
    let data = DataFolder::with_demo();
    let _node = NodeLock::acquire(data.folder.path()).unwrap();
    let script = "eval \"$(\"$0\" token env --sub u7)\" && printf '%s\\n%s\\n' \"$API_TOKEN\" \"$USER_TOKEN\"";
    let shell = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_carillon")])
        .env("CARILLON__DATA__DIR", data.folder.path())
        .output()
        .unwrap();
    assert_eq!((shell.status.code(), text(&shell.stderr)), (Some(0), ""));
    let tokens: Vec<&str> = text(&shell.stdout).lines().collect();
    assert_eq!(tokens.len(), 2);
    let json: serde_json::Value = serde_json::from_str(&data.json(&["token", "env"])).unwrap();
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["API_TOKEN", "USER_TOKEN"]);
    for (token, key_use, sub) in [(tokens[0], "api", "try"), (tokens[1], "user", "u7")] {
        let inspected: serde_json::Value = serde_json::from_str(&data.json(&["token", "inspect", token])).unwrap();
        assert_eq!((&inspected["use"], &inspected["verified"]), (&key_use.into(), &true.into()), "{inspected}");
        assert_eq!(inspected["claims"]["sub"], sub);
        assert!(inspected["claims"]["exp"].as_u64().unwrap() <= now() + 86_400);
    }
}

#[test]
fn token_inspect_prints_why_a_token_is_refused_and_no_signature() {
    let data = DataFolder::with_demo();
    let token = text(&data.carillon(&["token", "user", "--project", "demo", "--sub", "u42"]).stdout).trim().to_owned();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let other = DataFolder::with_demo();
    let other_first = if signature.starts_with('A') { "B" } else { "A" };
    let forged = format!("{signed}.{other_first}{}", &signature[1..]);
    let cases: [(&DataFolder, &str, &str); 3] = [
        (&data, &token, "verified  yes\n"),
        (&other, &token, "verified  no: no active key of the project matches"),
        (&data, &forged, "verified  no: "),
    ];
    for (catalogue, token, expected) in cases {
        let inspected = catalogue.carillon(&["token", "inspect", token]);
        let printed = text(&inspected.stdout);
        assert!(printed.contains(expected), "{printed}");
        assert!(printed.contains("\"sub\":\"u42\"") && printed.contains("\"alg\":\"HS256\""), "{printed}");
        assert!(
            !printed.contains(token.rsplit_once('.').unwrap().1),
            "the signature is a secret while the token lasts"
        );
        assert_eq!(inspected.status.code(), Some(i32::from(!expected.contains("yes"))), "{printed}");
    }
    for nonsense in ["x", "a.b.c", "", "eyJhbGciOiJub25lIn0.e30."] {
        let refused = data.carillon(&["token", "inspect", nonsense]);
        assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(1), ""), "{nonsense}");
        assert!(text(&refused.stderr).starts_with("carillon: cannot decode the token: "), "{}", text(&refused.stderr));
    }
}

#[test]
fn token_inspect_reads_standard_input() {
    let data = DataFolder::with_demo();
    let script = "\"$0\" token user --project demo --sub u42 | \"$0\" token inspect";
    let shell = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_carillon")])
        .env("CARILLON__DATA__DIR", data.folder.path())
        .output()
        .unwrap();
    assert!(text(&shell.stdout).ends_with("verified  yes\n"), "{}", text(&shell.stderr));
}

#[test]
fn key_show_prints_a_signing_key_in_the_format_of_an_environment_file() {
    let data = DataFolder::with_demo();
    for (key_use, name) in [(KeyUse::User, "USER"), (KeyUse::Api, "API")] {
        let project = runtime().block_on(data.catalogue.project(&ProjectName::demo())).unwrap().unwrap();
        let key = project.keys.into_iter().find(|key| key.key_use == key_use).unwrap();
        let KeyMaterial::Secret(secret) = key.material else { panic!("the demo's keys are secrets") };
        let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = data.carillon(&["key", "show", "--project", "demo", "--use", key_use.as_str(), "--yes"]);
        let expected = format!("CARILLON_{name}_KEY_ID={}\nCARILLON_{name}_KEY={hex}\n", key.id);
        assert_eq!((shown.status.code(), text(&shown.stdout)), (Some(0), expected.as_str()));
        let by_id = data.carillon(&["key", "show", "--project", "demo", "--id", &key.id, "--yes"]);
        assert_eq!(text(&by_id.stdout), expected);
    }
}

/// Runs a command on a pseudo-terminal and types `typed`. Returns the output of the terminal and the exit code.
fn on_a_terminal(data: &DataFolder, arguments: &str, typed: &str) -> (String, Option<i32>) {
    let command = format!("{} {arguments}", env!("CARGO_BIN_EXE_carillon"));
    let mut script = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("CARILLON__DATA__DIR", data.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script, of util-linux");
    script.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = script.wait_with_output().unwrap();
    (text(&output.stdout).replace('\r', ""), output.status.code())
}

#[test]
fn irreversible_commands_ask_for_confirmation() {
    let data = DataFolder::with_demo();
    for arguments in ["key show --project demo", "project remove demo"] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let refused = data.carillon(&words);
        assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(1), ""), "{arguments}");
        assert!(text(&refused.stderr).contains("give --yes"), "{}", text(&refused.stderr));
        for answer in ["no\n", "\n", "y\n", "\u{4}"] {
            let (shown, code) = on_a_terminal(&data, arguments, answer);
            assert_eq!(code, Some(1), "{shown}");
            assert!(shown.contains("Type yes to continue: ") && shown.contains("nothing was done"), "{shown}");
            assert!(!shown.contains("CARILLON_USER_KEY="), "{shown}");
        }
    }
    let (shown, code) = on_a_terminal(&data, "key show --project demo", "yes\n");
    assert!(code == Some(0) && shown.contains("\nCARILLON_USER_KEY="), "{shown}");
    let (shown, code) = on_a_terminal(&data, "project remove demo", "yes\n");
    assert!(code == Some(0) && shown.contains("removed the project demo"), "{shown}");
    assert_eq!(text(&data.carillon(&["project", "list"]).stdout), "");
}

#[test]
fn commands_print_the_documented_json() {
    let data = DataFolder::with_demo();
    let json = |arguments: &[&str]| serde_json::from_str::<serde_json::Value>(&data.json(arguments)).unwrap();
    let shop = |active| serde_json::json!({"name": "shop", "active": active, "events": "open"});
    assert_eq!(json(&["project", "add", "shop"]), serde_json::json!({"project": shop(true)}));
    let disabled = serde_json::json!({"project": shop(false), "nodes_notified": null, "visible_within_seconds": 1});
    assert_eq!(json(&["project", "disable", "shop"]), disabled);
    assert_eq!(json(&["project", "list"])["projects"][1], shop(false));
    let key = |active| serde_json::json!({"id": "k", "use": "api", "algorithm": "HS256", "active": active});
    assert_eq!(json(&["key", "add", "--project", "shop", "--use", "api", "--id", "k"])["key"], key(true));
    assert_eq!(json(&["key", "revoke", "--project", "shop", "k"])["revoked"], "k");
    assert_eq!(json(&["key", "list", "--project", "shop"])["keys"][2], key(false));
    let shown = json(&["key", "show", "--project", "shop", "--use", "user", "--yes"]);
    let members: Vec<_> = shown.as_object().unwrap().keys().collect();
    assert_eq!(members, ["algorithm", "id", "project", "secret_hex", "use"]);
    let define = ["event", "define", "--project", "shop", "--emitters", "backend", "orders"];
    let event = serde_json::json!({"name": "orders", "emitters": ["backend"]});
    assert_eq!(json(&define)["event"], event);
    assert_eq!(json(&["event", "list", "--project", "shop"]), serde_json::json!({"events": [event]}));
    assert_eq!(json(&["event", "remove", "--project", "shop", "orders"])["removed"], "orders");
    assert_eq!(json(&["migrate"]), serde_json::json!({"applied": []}));
    assert_eq!(json(&["config", "check"]), serde_json::json!({"problems": []}));
    let setting = &json(&["config", "print"])["settings"]["http.backlog"];
    assert_eq!(setting, &serde_json::json!({"value": 4096, "source": "default"}));
    let token = json(&["token", "user", "--project", "demo", "--sub", "u42"]);
    assert_eq!(token["token"].as_str().unwrap().split('.').count(), 3);
}

#[test]
fn config_check_prints_its_problems_as_json_if_asked() {
    let checked = carillon(&["config", "check", "--json"], &[("CARILLON__HTTP__WORKERS", "5000")]);
    assert_eq!(checked.status.code(), Some(1));
    let problems: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert!(problems["problems"][0].as_str().unwrap().starts_with("http.workers: "), "{problems}");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = carillon(&["completions", shell], &[]);
        assert_eq!(script.status.code(), Some(0), "{shell}");
        assert!(text(&script.stdout).contains("inspect"), "{shell}");
    }
    let script = carillon(&["completions", "bash"], &[]).stdout;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("carillon.bash"), script).unwrap();
    let loaded = Command::new("bash").arg("-n").arg(folder.path().join("carillon.bash")).output().unwrap();
    assert_eq!((loaded.status.code(), text(&loaded.stderr)), (Some(0), ""));
    let page = carillon(&["man"], &[]);
    assert!(text(&page.stdout).contains(".SH EXTRA") && text(&page.stdout).contains("carillon token env"));
    let pages = folder.path().join("man");
    std::fs::create_dir(&pages).unwrap();
    assert_eq!(carillon(&["man", pages.to_str().unwrap()], &[]).status.code(), Some(0));
    for page in ["carillon.1", "carillon-serve.1", "carillon-project-remove.1", "carillon-token-inspect.1"] {
        assert!(pages.join(page).is_file(), "{page}");
    }
    let refused = carillon(&["man", "/no/such/folder"], &[]);
    assert!(text(&refused.stderr).starts_with("carillon: cannot write manual pages to /no/such/folder: "));
}

#[test]
fn the_help_of_every_command_has_examples() {
    let commands =
        ["serve", "config", "migrate", "project", "key", "event", "health", "plan", "token", "completions", "man"];
    for arguments in commands.map(|command| vec![command, "--help"]).into_iter().chain([vec!["--help"]]) {
        let help = carillon(&arguments, &[]);
        assert_eq!(help.status.code(), Some(0), "{arguments:?}");
        assert!(text(&help.stdout).contains("Example"), "{arguments:?}");
    }
}

#[test]
fn serve_listens_on_the_port_of_its_option() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = port.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let environment = [("CARILLON__DATA__DIR", folder.path().to_str().unwrap()), ("CARILLON__HTTP__WORKERS", "1")];
    let refused = carillon(&["serve", "--port", &taken], &environment);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains(&format!("127.0.0.1:{taken}")), "{}", text(&refused.stderr));
}

#[test]
fn an_invalid_number_is_refused_with_the_accepted_range() {
    for (arguments, problem) in [
        (&["plan", "--users", "abc"][..], "'abc' is not a whole number, give 1 to 100000000000"),
        (&["plan", "--users", "0"], "0 is out of range, give 1 to 100000000000"),
        (&["plan", "--users", "1", "--memory-gb", "0.5"], "'0.5' is not a whole number, give 1 to 65536"),
        (&["serve", "--port", "65536"], "65536 is out of range, give 0 to 65535"),
        (&["token", "env", "--ttl", "soon"], "give a whole number and a unit, such as 90s, 15m, 1h or 7d"),
    ] {
        let refused = carillon(arguments, &[]);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(text(&refused.stderr).contains(problem), "{}", text(&refused.stderr));
    }
}

#[test]
fn plan_prints_its_estimate_as_a_table_and_as_json() {
    let table = carillon(&["plan", "--users", "1000000", "--subscriptions", "2", "--memory-gb", "8"], &[]);
    assert_eq!((table.status.code(), text(&table.stderr)), (Some(0), ""));
    let table = text(&table.stdout);
    let json = carillon(&["plan", "--users", "1000000", "--subscriptions", "2", "--memory-gb", "8", "--json"], &[]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let number = |name: &str| json[name].as_u64().unwrap();
    let max_clients_per_node = (4_000_000_000 - PROCESS_BYTES)
        / (PROCESS_BYTES_PER_CLIENT + PROCESS_BYTES_PER_FURTHER_SUBSCRIPTION + KERNEL_BYTES_PER_CLIENT);
    assert_eq!(number("max_clients_per_node"), max_clients_per_node);
    assert_eq!(number("nodes"), 1_000_000_u64.div_ceil(max_clients_per_node) + 1);
    for line in [
        format!("    net.netfilter.nf_conntrack_max = {}\n", number("nf_conntrack_max")),
        format!("    net.core.somaxconn = {}\n", number("somaxconn")),
        "    net.ipv4.ip_local_port_range = 1024 65535\n".to_owned(),
        format!("Measured on version {MEASURED_VERSION} "),
    ] {
        assert!(table.contains(&line), "{line} is missing in\n{table}");
    }
    let thresholds: Vec<String> =
        json["tcp_mem"].as_array().unwrap().iter().map(|threshold| threshold.to_string()).collect();
    assert!(table.contains(&format!("    net.ipv4.tcp_mem = {}\n", thresholds.join(" "))), "{table}");
}

#[test]
fn plan_refuses_numbers_out_of_range() {
    let with = |more: &[&'static str]| [&["plan", "--users", "1000"], more].concat();
    let cases = [
        vec!["plan"],
        vec!["plan", "--users", "0"],
        vec!["plan", "--users", "-1"],
        vec!["plan", "--users", "many"],
        vec!["plan", "--users", "100000000001"],
        vec!["plan", "--users", "99999999999999999999999"],
        with(&["--subscriptions", "0"]),
        with(&["--subscriptions", "10001"]),
        with(&["--memory-gb", "0"]),
        with(&["--memory-gb", "0.5"]),
        with(&["--memory-gb", "65537"]),
        with(&["--events", "0"]),
    ];
    for arguments in cases {
        let refused = carillon(&arguments, &[]);
        assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(2), ""), "{arguments:?}");
    }
}
