//! `install` and `uninstall` with real files: what is written, what is kept, and that it can be taken back.

#![cfg(unix)]

pub mod machine;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};

use machine::{FILES, Machine, SETTINGS};

#[test]
fn a_dry_run_shows_every_change_and_makes_none() {
    let machine = Machine::new();
    machine.write("repo/.claude/settings.json", SETTINGS);
    machine.write("repo/.codex/config.toml", "model = \"x\" # mine\n\n[features]\nhooks = true\n");
    machine.write("repo/.gemini/settings.json", "{\r\n\t\"mcpServers\": {}, // none\r\n}\r\n");
    let before = machine.everything();
    for (client, scopes, _) in FILES {
        let dry_run = ["install", client, "--dry-run", "--scope", scopes[0]];
        insta::assert_snapshot!(format!("dry_run_{client}"), machine.done(&dry_run));
        let told: Value = serde_json::from_str(&machine.done(&[&dry_run[..], &["--json"]].concat())).unwrap();
        assert!(told["files"][0]["diff"].as_str().unwrap().contains("postrider hook"), "{told}");
    }
    assert_eq!(machine.everything(), before);
}

#[test]
fn what_was_edited_in_between_stays_and_only_our_entries_go() {
    let machine = Machine::new();
    let settings = machine.write("repo/.claude/settings.json", SETTINGS);
    machine.done(&["install", "claude"]);
    let edited = fs::read_to_string(&settings).unwrap().replace("dark", "light");
    fs::write(&settings, edited).unwrap();
    // Another program may write a file in its own manner.
    fs::write(machine.path("repo/.mcp.json"), machine.json("repo/.mcp.json").to_string()).unwrap();
    machine.done(&["uninstall", "claude"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), SETTINGS.replace("dark", "light"));
    assert!(!machine.path("repo/.mcp.json").exists(), "we made it, and nothing is left in it");

    machine.done(&["install", "claude"]);
    fs::remove_dir_all(machine.place.home().join("installed")).unwrap();
    machine.done(&["uninstall", "claude"]);
    assert_eq!(fs::read_to_string(&settings).unwrap(), SETTINGS.replace("dark", "light"), "without a receipt too");
    assert_eq!(machine.json("repo/.mcp.json"), json!({}), "but who made the file is not known any more");
}

#[test]
fn an_installation_that_moved_is_brought_up_to_date_and_can_still_be_taken_back() {
    let machine = Machine::new();
    let settings = machine.write("user/.claude/settings.json", SETTINGS);
    let before = machine.everything();
    let by_path = machine.run_with("nowhere", &["install", "claude", "--scope", "user", "--json"]);
    let told: Value = serde_json::from_str(&by_path.stdout).unwrap();
    let program = told["command"].as_str().unwrap();
    assert!(Path::new(program).is_absolute() && told["notes"][0].as_str().unwrap().contains(program), "{told}");
    assert_eq!(machine.json("user/.claude.json")["mcpServers"]["postrider"]["command"], program);
    machine.done(&["install", "claude", "--scope", "user"]);
    let text = fs::read_to_string(&settings).unwrap();
    assert!(!text.contains(program) && text.matches("postrider hook claude Stop").count() == 1, "{text}");
    machine.done(&["uninstall", "claude", "--scope", "user"]);
    assert_eq!(machine.everything(), before);
}

#[test]
fn a_project_names_no_path_of_this_machine_and_is_warned_where_the_name_finds_nothing() {
    let machine = Machine::new();
    let ran = machine.run_with("nowhere", &["install", "claude"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("PATH does not find"), "{}", ran.stdout);
    assert_eq!(machine.json("repo/.mcp.json")["mcpServers"]["postrider"]["command"], "postrider");
    let both = machine.done(&["install", "claude", "--scope", "user"]);
    assert!(both.contains("may run twice") && both.contains("--scope project"), "{both}");
}

#[test]
fn one_file_that_is_wrong_stops_the_whole_and_is_named_with_the_place() {
    for (client, file, text, place) in [
        ("claude", "repo/.mcp.json", "{\n  \"mcpServers\": {,}\n}", "line 2, column 18"),
        ("claude", "repo/.claude/settings.json", "{\n  \"hooks\": []\n}", "line 2, column 12: 'hooks' is no object"),
        ("codex", "repo/.codex/config.toml", "a = 1\nb = [\n", "line 2, column 6"),
        ("gemini", "repo/.gemini/settings.json", "nope", "line 1, column 1"),
    ] {
        let machine = Machine::new();
        let path = machine.write(file, text);
        let before = machine.everything();
        let error = machine.refused(&["install", client]);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(path.to_str().unwrap()) && message.contains(place), "{message}");
        assert_eq!(error["code"], "CONFIG_UNUSABLE");
        assert_eq!(machine.everything(), before, "{client}: nothing was written");
    }
}

#[test]
fn a_read_only_file_is_refused_and_nothing_is_half_done() {
    let machine = Machine::new();
    let fixed = machine.write("repo/.mcp.json", "{}\n");
    fs::set_permissions(&fixed, fs::Permissions::from_mode(0o444)).unwrap();
    let before = machine.everything();
    let error = machine.refused(&["install", "claude"]);
    assert_eq!(error["code"], "CONFIG_READ_ONLY");
    assert!(error["message"].as_str().unwrap().contains(".mcp.json"), "{error}");
    assert_eq!(machine.everything(), before);
}

#[test]
fn a_linked_file_is_changed_where_it_lies_and_keeps_its_permissions() {
    let machine = Machine::new();
    let kept = machine.write("user/dotfiles/settings.json", SETTINGS);
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(machine.path("user/.gemini")).unwrap();
    let link = machine.path("user/.gemini/settings.json");
    symlink("../dotfiles/settings.json", &link).unwrap();
    machine.done(&["install", "gemini", "--scope", "user"]);
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&kept).unwrap().contains("postrider hook gemini BeforeTool"));
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
    machine.done(&["uninstall", "gemini", "--scope", "user"]);
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&kept).unwrap(), SETTINGS);
}

#[test]
fn a_server_of_our_name_that_somebody_else_wrote_is_left_alone_and_told() {
    let machine = Machine::new();
    let own = "{\"mcpServers\":{\"postrider\":{\"type\":\"http\",\"url\":\"http://127.0.0.1:8765/mcp\"}}}";
    let file = machine.write("repo/.mcp.json", own);
    for verb in ["install", "uninstall"] {
        assert!(machine.done(&[verb, "claude"]).contains("was left alone"), "{verb}");
        assert_eq!(fs::read_to_string(&file).unwrap(), own);
    }
}

#[test]
fn a_hook_and_a_server_that_were_there_before_are_not_doubled_and_not_taken() {
    let machine = Machine::new();
    let hook = |command: &str| json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    let own = json!({ "hooks": {
        "Stop": hook("postrider hook claude Stop"),
        "PreCompact": hook("postrider hook claude PreCompact"),
        "PostToolUse": hook("POSTRIDER_AGENT=x postrider hook claude PostToolUse --as y"),
        "SessionEnd": hook("cd /x && /y/postrider hook claude SessionEnd; true"),
    } });
    let text = serde_json::to_string_pretty(&own).unwrap();
    let settings = machine.write("repo/.claude/settings.json", &text);
    let server =
        machine.write("repo/.mcp.json", r#"{"mcpServers":{"postrider":{"command":"postrider","args":["stdio"]}}}"#);
    let served = fs::read_to_string(&server).unwrap();
    for edit in ["", "\n"] {
        machine.done(&["install", "claude"]);
        let installed = fs::read_to_string(&settings).unwrap();
        for event in ["Stop", "PreCompact", "PostToolUse", "SessionEnd", "SessionStart"] {
            assert_eq!(installed.matches(&format!("hook claude {event}")).count(), 1, "{event}: {installed}");
        }
        fs::write(&settings, installed + edit).unwrap();
        for _ in 0..2 {
            machine.done(&["uninstall", "claude"]);
            assert_eq!(machine.json("repo/.claude/settings.json"), own);
            assert_eq!(fs::read_to_string(&server).unwrap(), served);
        }
    }
}

#[test]
fn how_sessions_are_named_is_in_every_hook_and_goes_without_a_trace() {
    for (client, scopes, _) in FILES {
        let machine = Machine::new();
        let before = machine.write("repo/.claude/settings.json", SETTINGS);
        let hooks = |options: &[&str]| {
            machine.done(&[&["install", client, "--scope", scopes[0]], options].concat());
            let doctor: Value = serde_json::from_str(&machine.done(&["doctor", "--quick", "--json"])).unwrap();
            let hooks = doctor["hooks"].as_array().unwrap().clone();
            let own = hooks.into_iter().find(|hooks| hooks["client"] == client).expect("doctor shows them");
            own["naming"].as_array().unwrap().iter().map(|words| words.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(hooks(&[]), [""], "{client}");
        assert_eq!(hooks(&["--as", "the reviewer"]), ["--names fixed --as 'the reviewer'"], "{client}");
        assert_eq!(hooks(&[]), ["--names fixed --as 'the reviewer'"], "{client}: what was said stays");
        assert!(machine.done(&["doctor", "--quick"]).contains("--names fixed --as 'the reviewer'"), "{client}");
        assert_eq!(hooks(&["--names", "per-session"]), ["--names per-session"], "{client}");
        assert_eq!(hooks(&["--names", "per-worktree"]), [""], "{client}");
        hooks(&["--as", "the reviewer"]);
        machine.done(&["uninstall", client, "--scope", scopes[0]]);
        assert_eq!(fs::read_to_string(&before).unwrap(), SETTINGS, "{client}");
    }
    let machine = Machine::new();
    let error = machine.run(&["install", "claude", "--as", "Reviewer", "--names", "per-session"]);
    assert!(error.code == Some(1) && error.stderr.contains("'Reviewer'"), "{}", error.stderr);
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("repo/.claude")).unwrap();
    let settings = machine.path("repo/.claude/settings.json");
    let made = std::process::Command::new("mkfifo").arg(&settings).status().expect("mkfifo runs");
    assert!(made.success());
    let error = machine.refused(&["install", "claude"]);
    assert!(error["message"].as_str().unwrap().ends_with("settings.json' is no regular file"), "{error}");
    fs::remove_file(&settings).unwrap();
    symlink("nowhere", &settings).unwrap();
    let error = machine.refused(&["install", "claude"]);
    assert!(error["message"].as_str().unwrap().ends_with("settings.json' is a link to nothing"), "{error}");
}

#[test]
fn the_answer_for_programs_has_one_shape() {
    let machine = Machine::new();
    let told: Value = serde_json::from_str(&machine.done(&["install", "codex", "--json"])).unwrap();
    insta::assert_json_snapshot!("installed_json", told);
    let told: Value = serde_json::from_str(&machine.done(&["uninstall", "codex", "--json"])).unwrap();
    insta::assert_json_snapshot!("uninstalled_json", told);
    assert_eq!(machine.run(&["install", "emacs"]).code, Some(1));
}
