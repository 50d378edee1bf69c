//! `install` and `uninstall` for every client: each format is given back byte for byte, and what others wrote is left alone.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::install::machine::{FILES, Machine, SETTINGS};

#[test]
fn uninstall_gives_back_every_byte_and_leaves_nothing_that_was_not_there() {
    let shapes =
        ["", "{}", "{ }\n", " {\n\n}", "{\"a\":1}", SETTINGS, "// a\n{\"mcpServers\":{},\"hooks\":{\"Stop\":[]}}"];
    for (client, scopes, file) in FILES {
        for (scope, shape) in
            scopes.iter().flat_map(|scope| [None].into_iter().chain(shapes.map(Some)).map(move |shape| (*scope, shape)))
        {
            let machine = Machine::new();
            let root = if scope == "user" { "user" } else { "repo" };
            if let Some(text) = shape {
                machine.write(&format!("{root}/{file}"), text);
            }
            // Where a sandbox could have written the receipt, a list that was empty goes with what we put into it.
            let is_empty_list = shape.is_some_and(|shape| shape.contains("[]"));
            let options = if client == "codex" && is_empty_list { &["--no-sandbox-access"][..] } else { &[] };
            assert_taken_back(&machine, client, scope, options, &format!("{shape:?}"));
        }
    }
}

/// Installs, twice, and uninstalls, twice: everything is as it was before.
fn assert_taken_back(machine: &Machine, client: &str, scope: &str, options: &[&str], what: &str) {
    let before = machine.everything();
    let install = [&["install", client, "--scope", scope], options].concat();
    machine.done(&install);
    let installed = machine.everything();
    assert_ne!(installed, before, "{client} {scope} {what}");
    let again = machine.done(&install);
    assert!(again.starts_with("Nothing to change"), "{client} {scope} {what}: {again}");
    assert_eq!(machine.everything(), installed, "{client} {what}: twice is once");
    machine.done(&["uninstall", client, "--scope", scope]);
    assert_eq!(machine.everything(), before, "{client} {scope} {what}");
    let again = machine.done(&["uninstall", client, "--scope", scope]);
    assert!(again.starts_with("Nothing to change"), "{again}");
}

#[test]
fn hooks_in_toml_and_files_of_our_own_are_given_back_too() {
    for (client, file, text) in [
        (
            "kimi",
            ".kimi-code/config.toml",
            "model = \"x\" # mine\r\n\r\n[[hooks]]\r\nevent = \"Stop\"\r\ncommand = \"say done\"\r\n",
        ),
        ("kimi", ".kimi-code/config.toml", "a = 1"),
        ("cline", ".cline/hooks/PostToolUse", ""),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\n  // mine\n  \"mcp\": { \"other\": { \"type\": \"local\" } }\n}\n",
        ),
        ("opencode", ".config/opencode/plugins/other.js", "export const Other = 1"),
        ("copilot", ".copilot/hooks/other.json", "{}"),
    ] {
        let machine = Machine::new();
        machine.write(&format!("user/{file}"), text);
        assert_taken_back(&machine, client, "user", &[], file);
    }
    let machine = Machine::new();
    let config = machine.write("user/.kimi-code/config.toml", "a = 1\n");
    machine.done(&["install", "kimi", "--scope", "user"]);
    fs::write(&config, fs::read_to_string(&config).unwrap().replace("a = 1", "a = 2")).unwrap();
    machine.done(&["uninstall", "kimi", "--scope", "user"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), "a = 2\n", "only our entries go");
}

/// A file of our own, and what another version would have written differently in it.
const OWN_FILES: [(&str, &str, [&str; 2]); 3] = [
    ("cline", ".cline/hooks/PostToolUse", ["postrider hook", "/old/postrider hook"]),
    ("opencode", ".config/opencode/plugins/postrider.js", ["PATIENCE = 5000", "PATIENCE = 1"]),
    ("copilot", ".copilot/hooks/postrider.json", ["\"timeoutSec\": 5", "\"timeoutSec\": 9"]),
];

#[test]
fn a_file_of_our_own_goes_whole_without_a_receipt_and_where_another_version_wrote_it() {
    for (client, file, [now, then]) in OWN_FILES {
        let machine = Machine::new();
        let path = machine.path(&format!("user/{file}"));
        let receipts = machine.place.home().join("installed");
        let verb = |verb: &str| machine.done(&[verb, client, "--scope", "user"]);
        verb("install");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(now), "{client}: {text}");
        fs::remove_dir_all(&receipts).unwrap();
        verb("uninstall");
        assert!(!path.exists(), "{client}: without a receipt");
        verb("install");
        fs::remove_dir_all(&receipts).unwrap();
        fs::write(&path, text.replace(now, then)).unwrap();
        verb("install");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{client}: it is written again");
        verb("uninstall");
        assert!(!path.exists(), "{client}: what another version wrote does not come back");
    }
}

#[test]
fn a_file_of_somebody_else_in_the_place_of_ours_is_left_alone_and_told() {
    for (client, file, text) in [
        ("cline", "user/.cline/hooks/PreToolUse", "#!/bin/sh\npostrider hook cline PreToolUse; echo mine\n"),
        ("opencode", "user/.config/opencode/plugins/postrider.js", "export const Mine = 1\n"),
        (
            "copilot",
            "user/.copilot/hooks/postrider.json",
            "{\"version\":1,\"hooks\":{\"agentStop\":[{\"bash\":\"say done\"}]}}",
        ),
    ] {
        let machine = Machine::new();
        let path = machine.write(file, text);
        for verb in ["install", "uninstall"] {
            let told = machine.done(&[verb, client, "--scope", "user"]);
            assert!(told.contains("did not write; it was left alone"), "{verb} {client}: {told}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}

#[test]
fn the_hooks_of_cline_can_be_run_and_those_of_others_need_not() {
    let machine = Machine::new();
    machine.done(&["install", "cline", "--scope", "user"]);
    let mode = |name: &str| fs::metadata(machine.path(name)).unwrap().permissions().mode() & 0o111;
    assert_ne!(mode("user/.cline/hooks/PostToolUse"), 0);
    assert_eq!(mode("user/.cline/data/settings/cline_mcp_settings.json"), 0);
}

#[test]
fn a_script_whose_program_is_gone_ends_well_and_says_nothing() {
    let machine = Machine::new();
    machine.done(&["install", "cline", "--scope", "user"]);
    for event in ["TaskStart", "PreToolUse", "PostToolUse", "TaskComplete"] {
        let script = machine.path("user/.cline/hooks").join(event);
        let output = Command::new(script).env("PATH", "/nowhere").output().unwrap();
        assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), vec![], vec![]), "{event}");
    }
}

#[test]
fn a_scope_that_a_client_does_not_read_is_refused_with_the_one_that_it_reads() {
    for client in ["cline", "kimi"] {
        for verb in ["install", "uninstall"] {
            let error = Machine::new().refused(&[verb, client]);
            assert_eq!(error["code"], "SCOPE_NOT_READ");
            assert!(error["hint"].as_str().unwrap().contains("--scope user"), "{error}");
        }
    }
}
