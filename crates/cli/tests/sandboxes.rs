//! Commands inside the sandboxes of clients: what `install` writes lets the mail through, a refusal names it, and without it an outbox
//! carries what is sent.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::foreign::until;
use crate::harness::Place;
use crate::sandbox::{Closed, Sandbox};

const SEND: [&str; 8] = ["mail", "send", "BlueLake", "-s", "From inside", "-m", "x", "--as"];

/// A sandbox in a place where two agents are known.
fn sandbox(place: &Place, closed: Closed) -> Option<Sandbox> {
    let sandbox = Sandbox::new(place, closed, "commands in a sandbox")?;
    for name in ["GreenDog", "BlueLake"] {
        assert_eq!(sandbox.outside(&["join", name]).code, Some(0));
    }
    Some(sandbox)
}

/// The subjects in the inbox of BlueLake.
fn inbox(sandbox: &Sandbox) -> Vec<String> {
    let ran = sandbox.outside(&["mail", "inbox", "--as", "BlueLake", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    let messages = said.as_array().or_else(|| said["messages"].as_array()).expect("a list").clone();
    messages.iter().map(|message| message["subject"].as_str().expect("a subject").to_owned()).collect()
}

/// Leaves a message in the outbox, from inside; its id.
fn queue(sandbox: &Sandbox, sender: &[&str]) -> String {
    let said = sandbox.done_inside(&[&SEND[..], sender, &["--json"]].concat());
    let said: Value = serde_json::from_str(&said).expect("--json prints JSON");
    assert_eq!(said["because"]["code"], "SANDBOXED");
    said["queued"][0]["id"].as_str().expect("an id").to_owned()
}

fn outbox(sandbox: &Sandbox) -> PathBuf {
    sandbox.place.file("repo/.postrider/outbox")
}

/// Runs a hook outside, in the repository.
fn hook(sandbox: &Sandbox) {
    let input = json!({ "session_id": "s", "cwd": sandbox.place.file("repo"), "tool_name": "Bash" });
    let line = format!("echo '{input}' | postrider hook codex PostToolUse --within 60000");
    let ran = sandbox.place.shell(&line).output().expect("a shell runs");
    assert!(ran.status.success() && ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Asks `postrider stdio` something, in the repository.
fn stdio(sandbox: &Sandbox) {
    let line = r#"echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | postrider stdio"#;
    let mut shell = sandbox.place.shell(line);
    let ran = shell.current_dir(sandbox.place.file("repo")).output().expect("a shell runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn several_who_take_in_the_same_deliver_it_once() {
    let place = Place::new();
    let Some(sandbox) = sandbox(&place, Closed::Connections) else { return };
    let ids: Vec<String> = (0..8).map(|_| queue(&sandbox, &["GreenDog"])).collect();
    let _server = place.serve();
    std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| hook(&sandbox))));
    until("all is taken in", || {
        ids.iter().all(|id| outbox(&sandbox).join(format!("{id}.done")).exists()).then_some(())
    });
    assert_eq!(inbox(&sandbox).len(), ids.len());
    let left = fs::read_dir(outbox(&sandbox)).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| name.ends_with(".done")));
}

fn told(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).expect("it is JSON")
}

#[test]
fn a_socket_is_reached_from_a_sandbox_that_closes_the_network() {
    let place = Place::new();
    let Some(sandbox) = sandbox(&place, Closed::Nothing) else { return };
    let refused = sandbox.refused_inside(&["mail", "inbox", "--as", "BlueLake"]);
    assert_eq!(refused["code"], "SANDBOXED");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("Gemini CLI") && hint.contains("postrider serve"), "{hint}");
    let server = place.serve();
    sandbox.use_mail_inside("Socket");
    server.kill();
    let _next = place.serve();
    sandbox.use_mail_inside("Replaced");
}

#[test]
fn what_install_writes_lets_commands_inside_use_the_mail_with_a_server_and_without() {
    for (client, closed) in [("codex", Closed::Connections), ("claude", Closed::LocalSockets)] {
        let place = Place::new();
        let Some(mut sandbox) = sandbox(&place, closed) else { return };
        if client == "claude" {
            let settings = place.file("user/.claude/settings.json");
            fs::create_dir_all(settings.parent().unwrap()).unwrap();
            fs::write(settings, r#"{ "sandbox": { "enabled": true } }"#).unwrap();
        }
        let installed = sandbox.outside(&["install", client]);
        assert_eq!(installed.code, Some(0), "{}", installed.stderr);
        let folders: Vec<PathBuf> = match client {
            "codex" => {
                let text = fs::read_to_string(place.file("user/.codex/config.toml")).unwrap();
                let home = place.home().canonicalize().unwrap();
                assert_eq!(text, format!("[sandbox_workspace_write]\nwritable_roots = [\"{}\"]\n", home.display()));
                vec![home]
            }
            _ => {
                let settings = told(&place.file("user/.claude/settings.json"));
                let paths = |list: &str| -> Vec<PathBuf> {
                    let paths = settings["sandbox"]["filesystem"][list].as_array().unwrap();
                    paths.iter().map(|path| PathBuf::from(path.as_str().unwrap())).collect()
                };
                sandbox.kept = paths("denyWrite");
                assert!(sandbox.kept.contains(&place.home().canonicalize().unwrap().join("postrider.toml")));
                paths("allowWrite")
            }
        };
        sandbox.writable = folders;
        sandbox.use_mail_inside("Alone");
        let _server = place.serve();
        sandbox.use_mail_inside("Beside");
    }
}

#[test]
fn without_a_setting_the_refusal_names_the_sandbox_and_what_opens_it() {
    for (closed, title, setting) in [
        (Closed::Connections, "Codex", "`sandbox_workspace_write.writable_roots` of ~/.codex/config.toml"),
        (Closed::LocalSockets, "Claude Code", "`sandbox.filesystem.allowWrite` of ~/.claude/settings.json"),
    ] {
        for with_server in [false, true] {
            let place = Place::new();
            let Some(sandbox) = sandbox(&place, closed) else { return };
            let _server = with_server.then(|| place.serve());
            for arguments in [&["mail", "inbox", "--as", "BlueLake"][..], &["reserve", "a.rs", "--as", "GreenDog"]] {
                let refused = sandbox.refused_inside(arguments);
                let (code, message) = (&refused["code"], refused["message"].as_str().unwrap());
                assert_eq!(code, "SANDBOXED", "{refused}");
                assert!(
                    message.starts_with(&format!("The sandbox of {title} keeps this shell from the mail")),
                    "{message}"
                );
                assert!(refused["hint"].as_str().unwrap().contains(setting), "{refused}");
            }
        }
    }
}

#[test]
fn what_waits_in_an_outbox_is_taken_in_by_whoever_passes_by_and_once() {
    for who in ["a server", "a hook", "stdio"] {
        let place = Place::new();
        let Some(sandbox) = sandbox(&place, Closed::Connections) else { return };
        let id = queue(&sandbox, &["GreenDog"]);
        assert!(inbox(&sandbox).is_empty());
        let waiting = outbox(&sandbox).join(format!("{id}.json"));
        let (written, done) = (fs::read(&waiting).unwrap(), outbox(&sandbox).join(format!("{id}.done")));
        let server = (who == "a server").then(|| place.serve());
        let take_in = || {
            match who {
                "a hook" => hook(&sandbox),
                "stdio" => stdio(&sandbox),
                _ => {}
            }
            until("it is taken in", || (!waiting.exists() && done.exists()).then_some(()));
        };
        take_in();
        assert_eq!(inbox(&sandbox), ["From inside"]);
        // As after a crash between doing it and taking it away.
        fs::remove_file(&done).unwrap();
        fs::write(&waiting, &written).unwrap();
        take_in();
        assert_eq!(inbox(&sandbox), ["From inside"]);
        let ignored = fs::read_to_string(place.file("repo/.postrider/.gitignore")).unwrap();
        assert_eq!(ignored, "*\n");
        drop(server);
    }
}

#[test]
fn what_an_outbox_may_not_carry_is_refused_beside_it() {
    let place = Place::with_settings("identity = 'strict'\n");
    let Some(sandbox) = Sandbox::new(&place, Closed::Connections, "an outbox in a sandbox") else { return };
    let joined = sandbox.outside(&["join", "GreenDog", "--json"]);
    let token = serde_json::from_str::<Value>(&joined.stdout).unwrap();
    let token = token["registration_token"].as_str().or(token["token"].as_str()).expect("a token").to_owned();
    assert_eq!(sandbox.outside(&["join", "BlueLake"]).code, Some(0));
    let unproved = queue(&sandbox, &["GreenDog"]);
    let proved = queue(&sandbox, &["GreenDog", "--token", &token]);
    // A file that a repository brought along: it names another project, and nobody here sealed it.
    let foreign = outbox(&sandbox).join("0-foreign.json");
    let operation = fs::read_to_string(outbox(&sandbox).join(format!("{proved}.json"))).unwrap();
    fs::write(&foreign, operation.replace("From inside", "From elsewhere")).unwrap();
    hook(&sandbox);
    let refused = told(&outbox(&sandbox).join(format!("{unproved}.refused.json")));
    assert_eq!(refused["error"]["code"], "IDENTITY_REQUIRED");
    assert_eq!(refused["operation"]["arguments"]["subject"], "From inside", "it is not lost");
    assert!(foreign.exists() && !outbox(&sandbox).join("0-foreign.refused.json").exists(), "it is not ours");
    assert!(outbox(&sandbox).join(format!("{proved}.done")).exists());
}

#[test]
fn a_server_that_a_hook_began_serves_alone_and_ends_when_nobody_needs_it() {
    let place = Place::with_settings("port = 0\n[server]\nstart = 'on-demand'\nstop_after = '1s'\n");
    fs::create_dir_all(place.file("repo/.git")).unwrap();
    let input = json!({ "session_id": "s", "cwd": place.file("repo"), "source": "startup" });
    // Two at once: one gets the database, and nothing is heard of the other.
    let line = format!(
        "for one in 1 2; do echo '{input}' | postrider hook codex SessionStart --within 60000 >/dev/null & done; wait"
    );
    let ran = place.shell(&line).output().expect("a shell runs");
    assert!(ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    let answers = || place.run(&["doctor", "--server"]).code == Some(0);
    until("a server answers", || answers().then_some(()));
    let owner: Value =
        serde_json::from_str(&fs::read_to_string(place.home().join("postrider.db.owner")).unwrap()).unwrap();
    assert!(place.home().join("postrider.sock").exists());
    assert!(fs::read_to_string(place.home().join("server.log")).unwrap().is_empty(), "no complaint of either");
    // Their sessions are over.
    let line = format!("echo '{input}' | postrider hook codex SessionEnd --within 60000");
    assert!(place.shell(&line).status().expect("a shell runs").success());
    until("it is gone", || (!Path::new(&format!("/proc/{}", owner["pid"])).exists()).then_some(()));
    assert!(!place.home().join("postrider.sock").exists());
}

#[test]
fn a_home_with_too_long_a_path_is_served_at_the_port_alone_and_the_reason_is_logged() {
    let place = Place::new();
    let home = place.file(&"x".repeat(100));
    let mut command = place.command(&["serve", "--port", "0", "--json"]);
    command.env("POSTRIDER_HOME", &home);
    let (server, said) = place.start(command);
    assert!(said["socket"].is_null(), "{said}");
    assert!(place.log().contains("a socket's can have at most 107"), "{}", place.log());
    let mut command = place.command(&["doctor", "--server"]);
    assert!(command.env("POSTRIDER_HOME", &home).status().unwrap().success());
    drop(server);
}
