//! The text that a node with the project `demo` prints once it is ready: with tokens only on a terminal of the machine
//! itself, or if asked.

use crate::support::process::{command, program};
use crate::support::{Node, emit, eventually, request};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const READY: &str = "Carillon is ready";
const COMMAND_FOR_TOKENS: &str = "token env)";
const EVERY_ADDRESS: (&str, &str) = ("HTTP__BIND", "0.0.0.0:0");

/// Starts `carillon serve` with its standard output on a pseudo-terminal. Returns the node and what the terminal shows.
fn start_on_a_terminal(settings: &[(&str, &str)], arguments: &[&str]) -> (Node, String) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a pseudo-terminal");
    let name = ptsname(&terminal, Vec::new()).expect("its name").into_string().expect("a name of ASCII");
    let slave = OpenOptions::new().write(true).open(&name).expect("the terminal of the node");
    let screen = Screen::read(terminal.into());
    let node = start(settings, arguments, slave.into());
    (node, screen.once_ready())
}

/// The same with a pipe in place of the terminal.
fn start_on_a_pipe(settings: &[(&str, &str)], arguments: &[&str]) -> (Node, String) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let screen = Screen::read(std::os::fd::OwnedFd::from(reader).into());
    let node = start(settings, arguments, writer.into());
    (node, screen.once_ready())
}

fn start(settings: &[(&str, &str)], arguments: &[&str], stdout: Stdio) -> Node {
    let directory = tempfile::tempdir().expect("a directory for the node's data");
    let mut program = command(directory.path(), settings);
    program.arg("serve").args(arguments);
    Node::launch_with_stdout(directory, program, stdout)
}

/// The text written to a terminal or a pipe so far.
struct Screen(Arc<Mutex<Vec<u8>>>);

impl Screen {
    fn read(mut file: File) -> Screen {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let shown_so_far = shown.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal without a program at its other end answers with an error.
            while let Ok(length @ 1..) = file.read(&mut bytes) {
                shown_so_far.lock().expect("no panic under it").extend_from_slice(&bytes[..length]);
            }
        });
        Screen(shown)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic under it")).replace('\r', "")
    }

    /// Waits for the whole text, which ends with an empty line.
    fn once_ready(&self) -> String {
        eventually("the text of a ready node", || self.text().contains(READY) && self.text().ends_with("\n\n"));
        self.text()
    }
}

/// Whether a text contains the start of a JWT: `{"` in base64url.
fn has_token(text: &str) -> bool {
    text.contains("eyJ")
}

/// The API token in the address of the try page.
fn api_token(text: &str) -> &str {
    text.split_once("/try#api=").and_then(|(_, rest)| rest.split('&').next()).expect("the address of the try page")
}

#[test]
fn a_terminal_on_a_loopback_address_gets_tokens_that_work() {
    for bind in ["127.0.0.1:0", "[::1]:0"] {
        let (node, text) = start_on_a_terminal(&[("HTTP__BIND", bind)], &[]);
        assert!(text.contains(&format!("http://{}/try#api=eyJ", node.address())), "{text}");
        assert_eq!(emit(&node, api_token(&text), r#"{"name":"a","eventData":1}"#).status, 200);
    }
}

#[test]
fn the_commands_of_the_text_work_as_printed() {
    let (node, text) = start_on_a_terminal(&[], &[]);
    let (_, rest) = text.split_once("\n  curl").expect("a command with curl");
    let emit = shell(&format!("curl{}", rest.split("\n\n").next().unwrap_or_default()), node.directory());
    assert!(emit.contains(r#""success":true"#), "{emit}");
    let (_, rest) = text.split_once("More tokens:").expect("commands for more tokens");
    let tokens: Vec<_> = rest.lines().take(2).map(|line| shell(line, node.directory())).collect();
    assert!(tokens.iter().all(|token| token.starts_with("eyJ")), "{tokens:?}");
}

/// Runs a command from the text. Returns its output.
fn shell(command: &str, data: &Path) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("CARILLON__DATA__DIR", data);
    String::from_utf8(shell.output().expect("a shell").stdout).expect("a text")
}

#[test]
fn a_pipe_gets_no_tokens_but_the_command_that_prints_them() {
    let (node, text) = start_on_a_pipe(&[], &[]);
    assert!(!has_token(&text) && !has_token(&node.output()), "{text}");
    assert!(text.contains(&format!("eval \"$({} {COMMAND_FOR_TOKENS}\"", program())), "{text}");
    assert!(text.contains(&format!("http://{}/try\n", node.address())), "{text}");
}

#[test]
fn a_terminal_gets_no_tokens_if_the_node_listens_on_every_address() {
    let (node, text) = start_on_a_terminal(&[EVERY_ADDRESS], &[]);
    assert!(!has_token(&text) && !has_token(&node.output()), "{text}");
    assert!(text.contains(COMMAND_FOR_TOKENS), "{text}");
}

#[test]
fn tokens_are_printed_on_any_address_and_output_if_the_setting_asks_for_it() {
    let (node, text) = start_on_a_pipe(&[EVERY_ADDRESS], &["--show-demo-tokens"]);
    let reachable = format!("http://127.0.0.1:{}/try#api=", node.address().port());
    assert!(text.contains(&reachable), "{text}");
    assert!(api_token(&text).starts_with("eyJ"), "{text}");
}

#[test]
fn the_text_has_no_link_to_a_try_page_that_is_off() {
    let off = ("HTTP__TRY_PAGE", "false");
    let (_node, text) = start_on_a_terminal(&[off], &[]);
    assert!(has_token(&text) && !text.contains("/try"), "{text}");
    let (_node, text) = start_on_a_pipe(&[off], &[]);
    assert!(!text.contains("/try"), "{text}");
}

#[test]
fn the_text_says_that_there_is_no_project_to_sign_tokens_with() {
    let (_node, text) = start_on_a_pipe(&[("CATALOGUE__DEMO", "false")], &["--show-demo-tokens"]);
    assert!(!has_token(&text) && text.contains("no project demo"), "{text}");
}

#[test]
fn a_node_without_the_demo_prints_nothing() {
    let mut node = Node::start(&[("CATALOGUE__DEMO", "false")]);
    eventually("a ready node", || request(node.address(), "GET", "/readyz", &[], b"").status == 200);
    node.signal(Signal::TERM);
    node.wait();
    let printed = std::fs::read_to_string(node.directory().join("stdout")).expect("the node's standard output");
    assert_eq!(printed, "");
}
