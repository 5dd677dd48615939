//! Runs the program under test as a process: its path, its environment, its exit and its output.

use super::DEADLINE;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// The path of another binary to test, such as a release build for tests of speed.
const OTHER_PROGRAM: &str = "CARILLON_TEST_PROGRAM";

/// The binary under test.
pub fn program() -> String {
    std::env::var(OTHER_PROGRAM).unwrap_or_else(|_| env!("CARGO_BIN_EXE_carillon").to_owned())
}

/// Whether [`OTHER_PROGRAM`] names the binary under test. Only then its speed is tested.
pub fn is_named_program() -> bool {
    std::env::var_os(OTHER_PROGRAM).is_some()
}

/// The interval of checks of a process.
pub const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The command that starts the program on a data directory and a free port.
pub fn command(directory: &Path, settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program());
    command
        .env("CARILLON__HTTP__BIND", "127.0.0.1:0")
        .env("CARILLON__HTTP__WORKERS", "2")
        .env("CARILLON__DATA__DIR", directory)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null());
    for (name, value) in settings {
        command.env(format!("CARILLON__{name}"), value);
    }
    command
}

/// Waits until a process exits by itself. At the deadline, kills it and fails.
pub fn wait(child: &mut Child) -> ExitStatus {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return status;
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process did not end in {DEADLINE:?}");
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Starts a program that must refuse to run. Returns its standard error.
pub fn refused_start(mut program: Command) -> String {
    let mut child = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
    assert!(!wait(&mut child).success());
    let output = child.wait_with_output().expect("its output");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The text that a command wrote to standard output and standard error.
pub fn output_text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}
