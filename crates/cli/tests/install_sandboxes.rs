//! `install` and `uninstall` open and close the sandboxes of clients: one entry in the user's settings, for all projects that want it.

#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::install::machine::Machine;

#[test]
fn a_sandbox_is_opened_in_the_users_own_settings_and_closed_again_byte_for_byte() {
    let settings = "{ // mine\n  \"sandbox\": { \"enabled\": true },\n  \"theme\": \"dark\"\n}\n";
    let roots = "[sandbox_workspace_write]\nwritable_roots = [\n  \"/a\", # mine\n]\n";
    for (client, file, text) in
        [("claude", "user/.claude/settings.json", settings), ("codex", "user/.codex/config.toml", roots)]
    {
        let machine = Machine::new();
        let path = machine.write(file, text);
        let before = machine.everything();
        let home = machine.place.home().canonicalize().unwrap().display().to_string();
        let is_open = || fs::read_to_string(&path).unwrap().contains(&format!("\"{home}\""));
        // Whoever wrote it takes it out, in whichever order they go.
        for scopes in [["project", "user"], ["user", "project"]] {
            for scope in scopes {
                machine.done(&["install", client, "--scope", scope]);
                assert!(is_open(), "{client} {scope}");
            }
            for scope in scopes.into_iter().rev() {
                machine.done(&["uninstall", client, "--scope", scope]);
            }
            assert_eq!(machine.everything(), before, "{client} {scopes:?}");
        }
        let told = machine.done(&["install", client, "--no-sandbox-access"]);
        assert!(!is_open() && told.contains("waits in .postrider/outbox"), "{told}");
        machine.done(&["uninstall", client]);
        assert_eq!(machine.everything(), before, "{client}");
    }
}

#[test]
fn a_sandbox_that_needs_a_server_is_told_and_install_can_let_hooks_begin_one() {
    let machine = Machine::new();
    machine.write("user/.gemini/settings.json", "{ \"security\": { \"toolSandboxing\": true } }");
    let told = machine.done(&["install", "gemini"]);
    assert!(told.contains("postrider install gemini --start-on-demand"), "{told}");
    let settings = machine.place.home().join("postrider.toml");
    assert!(!settings.exists());
    let shown = machine.done(&["install", "gemini", "--start-on-demand", "--dry-run"]);
    assert!(shown.contains("+[server]\n+start = \"on-demand\"\n") && !settings.exists(), "{shown}");
    let told = machine.done(&["install", "gemini", "--start-on-demand"]);
    assert!(told.contains("hooks now start") && told.contains("uninstall leaves it there"), "{told}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "[server]\nstart = \"on-demand\"\n");
    machine.done(&["install", "gemini", "--start-on-demand"]);
    assert_eq!(fs::read_to_string(&settings).unwrap().matches("start").count(), 1);
}

#[test]
fn settings_that_name_programs_are_not_where_a_sandbox_may_write() {
    let machine = Machine::new();
    let settings = "[nudge.BlueLake]\ncommand = [\"true\"]\n";
    machine.write("home/postrider.toml", settings);
    let told = machine.done(&["install", "codex"]);
    assert!(told.contains("is not opened to them") && !machine.path("user/.codex").exists(), "{told}");
    fs::remove_file(machine.path("home/postrider.toml")).unwrap();
    machine.done(&["install", "codex"]);
    // As a command inside could write it.
    machine.write("home/postrider.toml", settings);
    machine.done(&["join", "BlueLake"]);
    let ran = machine.run(&["mail", "inbox", "--as", "BlueLake"]);
    assert!(ran.code == Some(0) && ran.stderr.matches("which is ignored").count() == 1, "{}", ran.stderr);
    assert!(machine.run(&["nudge", "BlueLake", "x"]).code != Some(0), "there is no way to nudge any more");
    machine.write("home/postrider.toml", "[mail]\nprovider = 'exec'\ncommand = 'false'\n");
    let ran = machine.run(&["mail", "inbox", "--as", "BlueLake"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("which is ignored"), "{}", ran.stderr);
    let doctor = machine.run(&["doctor", "--quick"]).stdout;
    assert!(doctor.contains("PROBLEM") && doctor.contains("--no-sandbox-access"), "{doctor}");
    // What the line says to do can be done.
    machine.done(&["install", "codex", "--no-sandbox-access"]);
    assert!(!machine.path("user/.codex").exists());
    assert_eq!(machine.run(&["mail", "inbox", "--as", "BlueLake"]).code, Some(1), "it is the user's program again");
    machine.done(&["uninstall", "codex"]);
}

/// Whether the user's settings of Codex have the home in them.
fn is_open(machine: &Machine) -> bool {
    let home = machine.place.home().canonicalize().unwrap().display().to_string();
    fs::read_to_string(machine.path("user/.codex/config.toml")).is_ok_and(|text| text.contains(&format!("\"{home}\"")))
}

#[test]
fn whoever_wants_no_access_after_all_gets_the_sandbox_closed_or_is_told_that_it_is_open() {
    for scope in ["project", "user"] {
        let machine = Machine::new();
        machine.done(&["install", "codex", "--scope", scope]);
        assert!(is_open(&machine));
        let shown = machine.done(&["install", "codex", "--scope", scope, "--no-sandbox-access", "--dry-run"]);
        assert!(shown.contains("-writable_roots") && is_open(&machine), "{shown}");
        let told = machine.done(&["install", "codex", "--scope", scope, "--no-sandbox-access"]);
        assert!(!is_open(&machine) && told.contains("waits in .postrider/outbox"), "{told}");
    }
    let machine = Machine::new();
    machine.write("user/.codex/config.toml", "[sandbox_workspace_write]\nwritable_roots = ['/']\n");
    let told = machine.done(&["install", "codex", "--no-sandbox-access"]);
    assert!(told.contains("may still write") && !told.contains("outbox"), "{told}");
}

#[test]
fn the_entry_that_opens_a_sandbox_goes_with_the_last_project_that_wants_it() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("other/.git")).unwrap();
    let before = machine.everything();
    machine.done(&["install", "codex"]);
    machine.done_in("other", &["install", "codex"]);
    let told = machine.done(&["uninstall", "codex"]);
    assert!(is_open(&machine) && told.contains("another project wants that"), "{told}");
    machine.done_in("other", &["uninstall", "codex"]);
    assert_eq!(machine.everything(), before);
    // A project that is gone wants nothing.
    machine.done(&["install", "codex"]);
    machine.done_in("other", &["install", "codex"]);
    fs::remove_dir_all(machine.path("repo")).unwrap();
    machine.done_in("other", &["uninstall", "codex"]);
    assert!(!is_open(&machine));
}

#[test]
fn the_user_can_take_out_the_entry_that_opens_a_sandbox_whoever_wants_it_and_when_nothing_is_known_of_it() {
    for is_home_gone in [false, true] {
        let machine = Machine::new();
        let settings = machine.write("user/.codex/config.toml", "model = 'x'\n");
        machine.done(&["install", "codex"]);
        if is_home_gone {
            fs::remove_dir_all(machine.place.home().join("installed")).unwrap();
            let told = machine.done(&["uninstall", "codex"]);
            assert!(is_open(&machine) && told.contains("postrider uninstall codex --scope user"), "{told}");
        }
        machine.done(&["uninstall", "codex", "--scope", "user"]);
        assert_eq!(fs::read_to_string(&settings).unwrap(), "model = 'x'\n");
    }
}

#[test]
fn a_receipt_that_a_command_in_a_sandbox_can_have_written_puts_no_text_back() {
    let machine = Machine::new();
    machine.write("repo/.codex/hooks.json", "{}\n");
    machine.done(&["install", "codex"]);
    let mut forged = 0;
    for receipt in fs::read_dir(machine.place.home().join("installed")).unwrap() {
        let path = receipt.unwrap().path();
        let mut receipt: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        if receipt["hash"].is_string() {
            receipt["former"] = json!("\"hooks\": \"EVIL\"");
            fs::write(&path, receipt.to_string()).unwrap();
            forged += 1;
        }
    }
    assert!(forged >= 2, "{forged}");
    machine.done(&["uninstall", "codex"]);
    let said = machine.everything().into_values().flatten().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(said.into_iter().all(|text| !text.contains("EVIL")));
    assert_eq!(machine.json("repo/.codex/hooks.json"), json!({}));
}

#[test]
fn a_client_whose_sandbox_knows_no_hooks_is_not_kept_from_starting_and_nobody_is_told_that_hooks_start_a_server() {
    let machine = Machine::new();
    for network in ["closed", "open"] {
        let settings = format!("{{ \"tools\": {{ \"executionSandbox\": {{ \"network\": \"{network}\" }} }} }}");
        machine.write("user/.qwen/settings.json", &settings);
        let before = machine.everything();
        for options in [&[][..], &["--start-on-demand"], &["--scope", "user"]] {
            let refused = machine.run(&[&["install", "qwen", "--json"], options].concat());
            assert!(refused.stdout.contains("SANDBOX_EXCLUDES_INSTALL"), "{}", refused.stdout);
            assert!(refused.stdout.contains("keep `postrider serve` running"), "{}", refused.stdout);
            assert_eq!(machine.everything(), before);
        }
    }
    machine.write("user/.qwen/settings.json", "{ \"tools\": { \"executionSandbox\": { \"network\": \"closed\" } } }");
    let settings = machine.place.home().join("postrider.toml");
    fs::create_dir_all(machine.place.home()).unwrap();
    fs::write(settings, "[server]\nstart = \"on-demand\"\n").unwrap();
    let doctor: Value = serde_json::from_str(&machine.run(&["doctor", "--quick", "--json"]).stdout).unwrap();
    let reach = doctor["sandboxes"].as_array().unwrap().iter().find(|one| one["client"] == "qwen").unwrap();
    assert_eq!(reach["reach"], "outbox", "{doctor}");
}
