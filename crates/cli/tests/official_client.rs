//! The official TypeScript client goes through the typical workflow and aborts its calls at every moment, over HTTP and over
//! standard input and output.

use std::path::{Path, PathBuf};

use crate::harness::node::node;
use crate::harness::{self, Place};

const WORKFLOW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/official_client.mjs");
const ABORTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/aborted_calls.mjs");

fn packages() -> Option<PathBuf> {
    harness::node::packages("the official MCP client", &["@modelcontextprotocol/sdk"])
}

fn run(script: &str, place: &Place, packages: &Path, arguments: &[&str]) {
    let mut command = node(packages, script);
    command.args(arguments).current_dir(place.home());
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
    run(WORKFLOW, &place, &packages, &["http", &url]);
    server.stop();
}

#[test]
fn the_official_client_works_over_stdio_without_a_server() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    run(WORKFLOW, &place, &packages, &["stdio", env!("CARGO_BIN_EXE_postrider")]);
    assert!(place.database().is_file(), "the mail is in the home of the test");
}

#[test]
fn the_official_client_works_over_stdio_beside_a_server() {
    let Some(packages) = packages() else { return };
    let place = Place::new();
    let server = place.serve();
    run(WORKFLOW, &place, &packages, &["stdio", env!("CARGO_BIN_EXE_postrider")]);
    server.stop();
}

#[test]
fn a_call_that_is_aborted_at_any_moment_over_http_takes_nothing_with_it() {
    let Some(packages) = packages() else { return };
    let server = Place::new().serve();
    run(ABORTED, &server.place, &packages, &["http", &format!("http://{}/mcp", server.address)]);
    server.stop();
}

#[test]
fn a_call_that_is_aborted_at_any_moment_over_stdio_takes_nothing_with_it() {
    let Some(packages) = packages() else { return };
    run(ABORTED, &Place::new(), &packages, &["stdio", env!("CARGO_BIN_EXE_postrider")]);
}

#[test]
fn a_call_that_is_aborted_at_any_moment_over_stdio_beside_a_server_takes_nothing_with_it() {
    let Some(packages) = packages() else { return };
    let server = Place::new().serve();
    run(ABORTED, &server.place, &packages, &["stdio", env!("CARGO_BIN_EXE_postrider")]);
    server.stop();
}
