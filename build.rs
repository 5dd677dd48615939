//! Passes the compiler's version to the program, for `carillon_build_info`.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = env::var_os("RUSTC").expect("cargo sets RUSTC for build scripts");
    let output = Command::new(rustc).arg("--version").output().expect("cargo's own compiler runs");
    // The line is `rustc 1.95.0 (a commit and its date)`.
    let line = String::from_utf8_lossy(&output.stdout);
    let version = line.split_whitespace().nth(1).unwrap_or_default();
    println!("cargo::rustc-env=CARILLON_RUSTC={version}");
}
