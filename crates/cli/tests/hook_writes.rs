//! `postrider hook` before a write: files that another agent has reserved.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::mcp::as_agent;
use crate::harness::repository::Repository;
use crate::harness::{Place, Server};
use crate::hooks::Agent;

/// Each client, the event before a write, and where its answer has the reason of a refusal.
const WRITES: [(&str, &str, &str); 5] = [
    ("claude", "PreToolUse", "/hookSpecificOutput/permissionDecisionReason"),
    ("codex", "PreToolUse", "/hookSpecificOutput/permissionDecisionReason"),
    ("codex", "PreToolUse-patch-at-a-shell", "/hookSpecificOutput/permissionDecisionReason"),
    ("gemini", "BeforeTool", "/reason"),
    ("gemini", "BeforeTool-replace", "/reason"),
];

fn office(settings: &str) -> Server {
    let server = Place::with_settings(settings).serve();
    server.register(&["GreenDog", "BlueLake"]);
    server
}

fn reserve(server: &Server, agent: &str, pattern: &str, exclusive: bool) -> Value {
    let paths = json!({ "paths": [pattern], "exclusive": exclusive, "ttl_seconds": 3600 });
    server.call("file_reservation_paths", as_agent(agent, paths))["granted"][0].clone()
}

fn green(server: &Server, client: &'static str) -> Agent {
    Agent::new(&server.place, client, Some("GreenDog"))
}

#[test]
fn a_write_to_what_another_has_reserved_is_refused_with_who_and_until_when() {
    let server = office("");
    let reservation = reserve(&server, "BlueLake", "src/**", true);
    let until = reservation["expires_ts"].as_str().unwrap();
    for (client, event, place) in WRITES {
        let answer = green(&server, client).answer(event).expect("an objection");
        let reason = answer.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("no reason in {answer}"));
        let fact = format!("'src/lib.rs' is reserved by 'BlueLake' ('src/**') until {until}.");
        assert!(reason.starts_with("Another agent has reserved") && reason.contains(&fact), "{reason}");
        assert!(reason.contains("wait_seconds") && reason.contains("send_message"), "{reason}");
        assert!(answer.to_string().contains("\"deny\""), "{answer}");
    }
    let agent = green(&server, "claude");
    assert!(agent.answer("PreToolUse-subagent").is_some(), "those below an agent write in its name");
    for event in ["PreToolUse-Bash", "PreToolUse-NotebookEdit"] {
        assert_eq!(agent.answer(event), None, "{event} writes nothing that is reserved");
    }
    server.call("release_file_reservations", as_agent("BlueLake", json!({})));
    assert_eq!(agent.answer("PreToolUse"), None);
}

#[test]
fn own_reservations_shared_ones_and_other_places_hold_up_nobody() {
    let server = office("");
    reserve(&server, "GreenDog", "src/lib.rs", true);
    reserve(&server, "BlueLake", "docs/**", false);
    reserve(&server, "BlueLake", "etc/**", true);
    for (client, event, _) in WRITES {
        assert_eq!(green(&server, client).answer(event), None, "{client} {event}");
    }
    let write = |path: &str| {
        let input = json!({ "tool_name": "Write", "tool_input": { "file_path": path, "content": "" } });
        green(&server, "claude").answer_to("PreToolUse", input)
    };
    assert_eq!((write("/etc/hosts"), write("../etc/hosts"), write("docs/a.md")), (None, None, None));
    assert!(write("etc/hosts").is_some() && write("/data/projects/app/src/../etc/x").is_some());
}

#[test]
fn a_patch_is_held_up_by_any_of_its_files() {
    let server = office("");
    for pattern in ["src/new.rs", "src/old.rs", "docs/b.md"] {
        reserve(&server, "BlueLake", pattern, true);
        let answer = green(&server, "codex").answer("PreToolUse").expect("an objection").to_string();
        assert!(answer.contains(&format!("'{pattern}' is reserved")), "{answer}");
        server.call("release_file_reservations", as_agent("BlueLake", json!({})));
    }
    assert_eq!(green(&server, "codex").answer("PreToolUse"), None);
}

#[test]
fn a_project_that_is_named_by_its_slug_has_the_same_files() {
    let server = office("");
    reserve(&server, "BlueLake", "src/**", true);
    let agent = green(&server, "claude");
    let mut command = server.place.command(&["hook", "claude", "PreToolUse", "--within", "60000"]);
    command.env("POSTRIDER_AGENT", "GreenDog").env("POSTRIDER_PROJECT", "data-projects-app");
    let input = server.place.file("input.json");
    std::fs::write(&input, agent.example("PreToolUse").to_string()).unwrap();
    let output = command.stdin(std::fs::File::open(input).unwrap()).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("'src/lib.rs' is reserved by 'BlueLake'"));
}

#[test]
fn a_write_in_a_worktree_is_held_up_by_the_reservation_of_the_repository() {
    let Some(repository) = Repository::new() else { return };
    let server = repository.place.serve();
    repository.register(&server, &["GreenDog", "BlueLake"]);
    repository.reserve(&server, "BlueLake", &["src/**"], true);
    repository.stage("a", "x");
    repository.git(&["commit", "--quiet", "-m", "First"]);
    let side = repository.top.with_file_name("side");
    repository.git(&["worktree", "add", "--quiet", side.to_str().unwrap()]);
    let write = |cwd: &Path, path: &Path| {
        let input = json!({ "cwd": cwd, "tool_name": "Write", "tool_input": { "file_path": path, "content": "" } });
        green(&server, "claude").answer_to("PreToolUse", input).map(|answer| answer.to_string())
    };
    for path in [Path::new("src/new.rs"), &side.join("src/new.rs")] {
        let answer = write(&side, path).expect("an objection");
        assert!(answer.contains("'src/new.rs' is reserved by 'BlueLake'"), "{answer}");
    }
    assert!(write(&repository.top, &side.join("src/new.rs")).is_some(), "whoever writes there stands elsewhere");
    assert_eq!(write(&side, Path::new("docs/a.md")), None);
}

#[test]
fn by_configuration_a_write_is_only_warned_of() {
    let server = office("[hooks]\nreserved = \"warn\"");
    reserve(&server, "BlueLake", "src/**", true);
    for (client, event, warning) in [
        ("claude", "PreToolUse", "/hookSpecificOutput/additionalContext"),
        ("codex", "PreToolUse", "/hookSpecificOutput/additionalContext"),
        ("gemini", "BeforeTool", "/systemMessage"),
    ] {
        let answer = green(&server, client).answer(event).expect("a warning");
        assert!(answer.pointer(warning).is_some_and(|text| text.to_string().contains("BlueLake")), "{answer}");
        assert!(!answer.to_string().contains("deny"), "{answer}");
    }
}
