//! The JavaScript that install writes, run as its client runs it: with what OpenCode was seen to give a plugin, and beside a stand-in for
//! the package that Copilot gives an extension.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent};
use crate::harness::node::{node, packages};
use crate::harness::{Place, Server};
use crate::hooks::send;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins/opencode.mjs");
const EXTENSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins/copilot.mjs");

/// What becomes of the recorded events in the plugin that install wrote, where the agent is GreenDog and so many prompts are sent.
fn run(place: &Place, prompts: usize, prepare: impl FnOnce()) -> Option<Value> {
    let packages = packages("the plugin for OpenCode", &[])?;
    let plugin = installed(place, "opencode", ".config/opencode/plugins/postrider.js");
    // A start may be slow on a busy machine.
    let text = std::fs::read_to_string(&plugin).expect("it is written");
    std::fs::write(
        &plugin,
        text.replace(" EVENT\"", " EVENT --within 60000\"").replace("PATIENCE = 5000", "PATIENCE = 60000"),
    )
    .expect("it can be written");
    prepare();
    let mut command = node(&packages, SCRIPT);
    command
        .arg(&plugin)
        .arg(PROJECT)
        .arg(prompts.to_string())
        .env("POSTRIDER_HOME", place.home())
        .env("POSTRIDER_AGENT", "GreenDog");
    let output = command.output().expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("one line of JSON"))
}

/// The file that install writes for a client of the user.
fn installed(place: &Place, client: &str, file: &str) -> PathBuf {
    let user = place.file("user");
    std::fs::create_dir(&user).expect("a fresh folder has room");
    let mut install = place.command(&["install", client, "--scope", "user"]);
    let installed = install.env("HOME", &user).env_remove("XDG_CONFIG_HOME").env("PATH", "").output().expect("it runs");
    assert!(installed.status.success(), "{installed:?}");
    user.join(file)
}

fn office() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    server
}

#[test]
fn the_plugin_for_opencode_tells_refuses_holds_and_wakes() {
    let server = office();
    let paths = json!({ "paths": ["src/**"], "exclusive": true });
    server.call("file_reservation_paths", as_agent("BlueLake", paths));
    for number in 1..=12 {
        send(&server, "BlueLake", "GreenDog", &format!("Part {number}."), json!({ "importance": "urgent" }));
    }
    let Some(found) = run(&server.place, 2, || {}) else { return };
    let text = |place: &str| found.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("{place}: {found}"));
    assert!(text("/main/system/0").starts_with("You are GreenDog "), "{found}");
    assert!(text("/below/system/0").contains("a sub-agent of GreenDog"), "{found}");
    assert_eq!(
        found["main"]["env"],
        json!({ "POSTRIDER_SESSION": "ses_e1591c7a2ffeJz54xwemKS0ifJ", "POSTRIDER_SUBAGENT": "" })
    );
    assert_eq!(found["below"]["env"]["POSTRIDER_SUBAGENT"], "ses_e1590cc17ffekYtzrdUGEuNsUo");
    assert!(text("/parts/1/text").contains("Part 1.") && found["parts"][1]["synthetic"] == true, "{found}");
    assert!(text("/parts/1/id").starts_with("prt_") && text("/parts/1/messageID") == text("/parts/0/messageID"));
    assert!(text("/refused").contains("'src/lib.rs' is reserved by 'BlueLake'"), "{found}");
    assert!(!text("/below/output").contains("Part"), "a sub-agent takes no mail: {found}");
    assert!(text("/output").starts_with("done\n\n") && text("/output").contains("Part 6."), "{found}");
    assert!(text("/content/1/text").contains("Part 11."), "in the answer of an MCP server: {found}");
    let prompts: Vec<String> = found["prompts"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    assert!(
        prompts.iter().any(|prompt| prompt.contains("woken --session ses_e1591c7a2ffeJz54xwemKS0ifJ")),
        "{prompts:?}"
    );
    assert!(prompts.iter().any(|prompt| prompt.contains("Before you stop")), "{prompts:?}");
}

#[test]
fn a_plugin_whose_program_fails_lets_the_agent_go_on() {
    let broken = Place::new();
    let breaks = || std::fs::write(broken.home().join("postrider.toml"), "=").expect("the home can be written to");
    let Some(found) = run(&broken, 1, breaks) else { return };
    assert_eq!(found["parts"].as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!((&found["output"], &found["refused"]), (&json!("done"), &Value::Null), "{found}");
}

#[test]
fn the_extension_for_copilot_sends_each_line_of_its_monitor_as_a_prompt() {
    let Some(packages) = packages("the extension for Copilot", &[]) else { return };
    let place = Place::new();
    let extension = installed(&place, "copilot", ".copilot/extensions/postrider/extension.mjs");
    let output = node(&packages, EXTENSION).arg(extension).env("SESSION_ID", "one").output().expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"prompt\":\"woken --session one\"}\n");
}
