//! The official TypeScript client goes through the typical workflow, over HTTP and over standard input and output.
//!
//! `POSTRIDER_TEST_NPM` names a folder in which `npm` has installed `@modelcontextprotocol/sdk`; `cargo xtask test` makes
//! it and sets the variable. Without it the tests say loudly that they did not run; on a build machine they fail.

mod harness;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::Place;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/official_client.mjs");

/// The folder with the client, or a word that there is none.
fn packages() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("POSTRIDER_TEST_NPM") {
        let folder = PathBuf::from(folder);
        let sdk = folder.join("node_modules/@modelcontextprotocol/sdk");
        assert!(sdk.is_dir(), "POSTRIDER_TEST_NPM has no {}", sdk.display());
        return Some(folder);
    }
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
    assert!(!is_ci, "POSTRIDER_TEST_NPM is not set, and a build machine must run this: use cargo xtask test");
    // Written past the test's own capture, so that it is seen.
    let word = b"\n!!! NOT RUN: the official MCP client. Set POSTRIDER_TEST_NPM, or run cargo xtask test. !!!\n";
    std::io::stderr().write_all(word).expect("standard error can be written to");
    None
}

fn node(packages: &Path) -> Command {
    let pinned = packages.join("node_modules/node/bin/node");
    Command::new(if pinned.is_file() { pinned } else { PathBuf::from("node") })
}

fn run(place: &Place, packages: &Path, arguments: &[&str]) {
    let mut command = node(packages);
    command.arg(SCRIPT).arg(packages).args(arguments).current_dir(place.home()).stdin(Stdio::null());
    command.env("POSTRIDER_HOME", place.home());
    let output = command.output().expect("node runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "the client failed: {stdout}{stderr}{}", place.log());
    assert!(stdout.ends_with("all steps done\n"), "the client did not reach its end: {stdout}{stderr}");
}

#[test]
fn the_official_client_works_over_http() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    let server = place.serve();
    let url = format!("http://{}/mcp", server.address);
    run(&place, &packages, &["http", &url]);
    server.stop();
}

#[test]
fn the_official_client_works_over_stdio_without_a_server() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    run(&place, &packages, &["stdio", env!("CARGO_BIN_EXE_postrider")]);
    assert!(place.database().is_file(), "the mail is in the home of the test");
}

#[test]
fn the_official_client_works_over_stdio_beside_a_server() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    let server = place.serve();
    run(&place, &packages, &["stdio", env!("CARGO_BIN_EXE_postrider")]);
    server.stop();
}
