//! What `deploy/` says is true of the program: its variables, its settings, its addresses, its limits.
//!
//! Containers are not run here, and no load balancer: what is looked at is the text, and what the program makes of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testing::postgres;

use crate::harness::repository::is_there;
use crate::harness::{self, Place};

/// The name of the settings file, wherever it is said.
const SETTINGS: &str = "postrider.toml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file of `deploy/`, with its name.
fn files() -> Vec<(String, String)> {
    let mut folders = vec![root().join("deploy")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("a folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.display().to_string(), fs::read_to_string(&path).expect("a text")));
            }
        }
    }
    assert!(found.len() >= 7, "{found:?}");
    found
}

/// The words of a text that begin so.
fn words<'a>(text: &'a str, beginning: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(beginning).map(move |(at, _)| {
        let end = |c: char| !c.is_ascii_alphanumeric() && !"_/".contains(c);
        let rest = &text[at..];
        &rest[..rest.find(end).unwrap_or(rest.len())]
    })
}

/// The number after the only mention of `name`.
fn number(text: &str, name: &str) -> u64 {
    let mut after = text.split(name);
    let (Some(_), Some(rest), None) = (after.next(), after.next(), after.next()) else {
        panic!("'{name}' is not said once")
    };
    let digits = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().expect("a number")
}

/// The settings that the ConfigMap of Kubernetes holds.
fn settings_of_kubernetes() -> String {
    let manifests = text_of("deploy/kubernetes/postrider.yaml");
    let (_, rest) = manifests.split_once("postrider.toml: |\n").expect("the settings are in the manifests");
    let lines = rest.lines().map_while(|line| line.strip_prefix("    "));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn every_variable_that_deploy_sets_is_in_the_table_of_settings() {
    let readme = text_of("README.md");
    let (_, table) = readme.split_once("\n## Settings\n").expect("the README has settings");
    let known: BTreeSet<&str> = ["POSTRIDER_", "AGENT_MAIL_"].iter().flat_map(|ours| words(table, ours)).collect();
    for (name, text) in files() {
        for variable in ["POSTRIDER_", "AGENT_MAIL_"].iter().flat_map(|ours| words(&text, ours)) {
            assert!(known.contains(variable), "{name}: '{variable}' is no setting");
        }
    }
}

#[test]
fn a_server_takes_the_settings_of_deploy_and_answers_where_it_is_asked() {
    for settings in [text_of(&format!("deploy/compose/{SETTINGS}")), settings_of_kubernetes()] {
        let server = Place::with_settings(&settings).serve_with(
            &["--host", "0.0.0.0"],
            &[("AGENT_MAIL_BEARER_TOKEN", "s3cret"), ("POSTRIDER_URL", "http://127.0.0.1:1")],
        );
        for (name, text) in files() {
            for path in words(&text, "/health/").collect::<BTreeSet<_>>() {
                assert_eq!(server.get(path).status, 200, "{name}: '{path}'");
            }
        }
        // By whatever name a load balancer calls it, and with the token alone.
        let named = |token| {
            let headers = [("Host", "mail.example"), ("Authorization", token)];
            server.send("POST", "/mcp", &headers, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status
        };
        assert_eq!((named("Bearer s3cret"), named("Bearer other")), (200, 401));
        server.stop();
    }
}

#[test]
fn the_balancer_lets_the_longest_wait_and_the_largest_request_through() {
    let nginx = text_of("deploy/compose/nginx.conf");
    let tools = harness::Server::start().post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).json();
    let tools = tools["result"]["tools"].as_array().expect("tools are listed");
    let wait = tools.iter().find(|tool| tool["name"] == "wait_for_mail").expect("one waits");
    let longest = &wait["inputSchema"]["properties"]["timeout_seconds"]["maximum"];
    let longest = longest.as_u64().unwrap_or_else(|| panic!("{wait}"));
    assert!(number(&nginx, "proxy_read_timeout ") > longest);
    let largest = 6 * 4_194_304 + (1 << 20);
    assert!(number(&nginx, "client_max_body_size ") << 20 >= largest);
}

#[test]
fn every_stop_has_the_time_that_a_server_may_take() {
    // Calls under way, what was posted, and something for the writes that wait.
    let longest = 20 + 5 + 10;
    assert!(number(&text_of("deploy/postrider.service"), "TimeoutStopSec=") >= longest);
    assert!(number(&text_of("deploy/compose/compose.yaml"), "stop_grace_period: ") >= longest);
    let manifests = text_of("deploy/kubernetes/postrider.yaml");
    let pause = number(&manifests, "preStop: { sleep: { seconds: ");
    assert!(number(&manifests, "terminationGracePeriodSeconds: ") >= longest + pause);
}

#[test]
fn no_pod_is_given_a_port_by_the_name_of_its_service() {
    let manifests = text_of("deploy/kubernetes/postrider.yaml");
    assert!(manifests.contains("name: postrider") && manifests.contains("enableServiceLinks: false"));
}

#[test]
fn systemd_understands_the_unit() {
    if !is_there("systemd-analyze") {
        return;
    }
    let place = Place::new();
    let unit = text_of("deploy/postrider.service");
    assert!(unit.contains("ExecStart=/usr/local/bin/postrider serve"));
    let file = place.file("postrider.service");
    fs::write(&file, unit.replace("/usr/local/bin/postrider", env!("CARGO_BIN_EXE_postrider"))).expect("a file");
    let looked = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output().expect("it runs");
    let said = String::from_utf8_lossy(&looked.stderr);
    assert!(looked.status.success() && !said.contains("postrider"), "{said}");
}

#[test]
fn any_server_answers_the_calls_of_a_session_that_another_opened() {
    let Some(url) = postgres::fresh_url() else { return };
    let places = [Place::new(), Place::new()];
    let [one, other] = places.each_ref().map(|place| place.serve_with(&[], &[("POSTRIDER_DATABASE", &url)]));
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    let opened = one.post(hello.to_string());
    let session = opened.header("mcp-session-id").expect("a session has an id");
    let call = |server: &harness::Server, tool: &str, arguments: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let answer = server.send("POST", "/mcp", &[("Mcp-Session-Id", session)], body.to_string()).json();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    };
    call(&other, "ensure_project", json!({ "human_key": "/p" }));
    call(&one, "register_agent", json!({ "project_key": "/p", "name": "BlueLake" }));
    assert_eq!(call(&other, "whois", json!({ "project_key": "/p", "agent_name": "BlueLake" }))["name"], "BlueLake");
    one.stop();
    other.stop();
}
