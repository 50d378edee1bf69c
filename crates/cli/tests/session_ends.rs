//! The life of a session, as the office knows it: begun, at work, idle, ended, or dead without a word; and what ends with it.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::driven::{Client, Home};
use crate::harness::mcp::{PROJECT, as_agent, with};
use crate::harness::{DEADLINE, Place, Server};
use crate::hooks::Agent;

/// Each client, and what it calls the event in which its user says something and the one in which it is done.
const CLIENTS: [(&str, &str, &str); 3] = [
    ("claude", "UserPromptSubmit", "Stop"),
    ("codex", "UserPromptSubmit", "Stop"),
    ("gemini", "BeforeAgent", "AfterAgent"),
];

/// The name that a session with this id begins with, and what else it is told.
fn begin(agent: &Agent, id: &str) -> (String, String) {
    let answer = agent.answer_to("SessionStart", json!({ "session_id": id })).expect("it is told who it is");
    let told = answer["hookSpecificOutput"]["additionalContext"].as_str().expect("text").to_owned();
    (told.strip_prefix("You are ").and_then(|rest| rest.split(' ').next()).expect("a name").to_owned(), told)
}

fn end(agent: &Agent, id: &str) {
    assert_eq!(agent.answer_to("SessionEnd", json!({ "session_id": id, "reason": "other" })), None);
}

fn reserve(server: &Server, name: &str, path: &str, exclusive: bool) {
    server.call("file_reservation_paths", as_agent(name, json!({ "paths": [path], "exclusive": exclusive })));
}

fn reserved(server: &Server) -> Vec<String> {
    let list = server.call("list_reservations", json!({ "project_key": PROJECT }));
    let list = list["reservations"].as_array().expect("a list").clone();
    list.iter().map(|one| one["path_pattern"].as_str().expect("a pattern").to_owned()).collect()
}

/// The open sessions of an agent.
fn sessions(server: &Server, name: &str) -> Vec<Value> {
    let about = server.call("whois", json!({ "project_key": PROJECT, "agent_name": name }));
    about["sessions"].as_array().cloned().unwrap_or_default()
}

/// Lets the processes of all sessions of this place be dead, as after `kill -9`.
fn kill_all(place: &Place) {
    for file in fs::read_dir(place.home().join("sessions")).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        if let Ok(mut record) = serde_json::from_str::<Value>(&text)
            && record["process"].is_object()
        {
            record["process"] = json!({ "pid": 1, "started": 18_446_744_073_709_551_615_u64 });
            fs::write(path, record.to_string()).unwrap();
        }
    }
}

#[test]
fn the_office_knows_whether_a_session_is_at_work_or_idle() {
    for (client, prompt, stop) in CLIENTS {
        let server = Server::start();
        let agent = Agent::new(&server.place, client, None);
        let (name, _) = begin(&agent, "one");
        let is_idle = || sessions(&server, &name)[0]["is_idle"].as_bool().expect("a session says it");
        assert!(is_idle(), "{client}: nobody has said anything yet");
        let here = json!({ "session_id": "one" });
        agent.answer_to(prompt, here.clone());
        assert!(!is_idle(), "{client}");
        agent.answer_to(stop, here.clone());
        assert!(is_idle(), "{client}");
        let known = sessions(&server, &name);
        agent.answer_to(stop, here);
        assert_eq!(sessions(&server, &name), known, "{client}: what is no news is not told");
        let place = known[0]["place"].as_str().unwrap();
        assert_eq!((known.len(), known[0]["client"].as_str(), place), (1, Some(client), PROJECT));
    }
}

#[test]
fn a_stop_that_holds_the_agent_up_leaves_it_at_work() {
    let server = Server::start();
    let agent = Agent::new(&server.place, "claude", None);
    let (name, _) = begin(&agent, "one");
    let here = json!({ "session_id": "one" });
    agent.answer_to("UserPromptSubmit", here.clone());
    server.register(&["BlueLake"]);
    let urgent = json!({ "importance": "urgent", "ack_required": true });
    server.call("send_message", with(crate::harness::mcp::message("BlueLake", &name, "Now"), urgent));
    assert!(agent.answer_to("Stop", here.clone()).is_some(), "it goes on");
    assert_eq!(sessions(&server, &name)[0]["is_idle"], false);
    assert_eq!(agent.answer_to("Stop-again", here), None);
    assert_eq!(sessions(&server, &name)[0]["is_idle"], true);
}

#[test]
fn with_the_last_session_end_its_exclusive_reservations() {
    // Two sessions of Codex in one process are not taken for one agent.
    for client in ["claude", "gemini"] {
        let server = Server::start();
        let agent = Agent::new(&server.place, client, Some("GreenDog"));
        begin(&agent, "first");
        begin(&agent, "second");
        reserve(&server, "GreenDog", "src/**", true);
        reserve(&server, "GreenDog", "docs/**", false);
        end(&agent, "first");
        assert_eq!((sessions(&server, "GreenDog").len(), reserved(&server).len()), (1, 2), "{client}: one is open");
        end(&agent, "second");
        end(&agent, "second");
        assert_eq!(
            (sessions(&server, "GreenDog").len(), reserved(&server)),
            (0, vec!["docs/**".to_owned()]),
            "{client}"
        );
    }
}

#[test]
fn which_reservations_end_is_a_setting() {
    for (release, left) in [("all", 0), ("none", 2)] {
        let server = Place::with_settings(&format!("[sessions]\nrelease = '{release}'\n")).serve();
        let agent = Agent::new(&server.place, "claude", Some("GreenDog"));
        begin(&agent, "one");
        reserve(&server, "GreenDog", "src/**", true);
        reserve(&server, "GreenDog", "docs/**", false);
        end(&agent, "one");
        assert_eq!(reserved(&server).len(), left, "{release}");
    }
}

#[test]
fn the_next_session_gets_the_name_of_one_that_died_and_nothing_that_it_held_alone() {
    for (client, said) in CLIENTS.iter().flat_map(|(client, ..)| [(*client, None), (*client, Some("GreenDog"))]) {
        let server = Server::start();
        let agent = Agent::new(&server.place, client, said);
        let (name, _) = begin(&agent, "first");
        reserve(&server, &name, "src/**", true);
        kill_all(&server.place);
        let (again, told) = begin(&agent, "second");
        assert_eq!(again, name, "{client}");
        assert!(!told.contains("Your reservations") && reserved(&server).is_empty(), "{client}: {told}");
        assert_eq!(sessions(&server, &name).len(), 1, "{client}");
    }
}

#[test]
fn a_session_that_is_resumed_after_its_process_died_holds_nothing_of_its_last_run_alone() {
    let server = Server::start();
    let agent = Agent::new(&server.place, "claude", None);
    let (name, _) = begin(&agent, "one");
    reserve(&server, &name, "src/**", true);
    kill_all(&server.place);
    assert_eq!(begin(&agent, "one").0, name);
    assert_eq!((reserved(&server).len(), sessions(&server, &name).len()), (0, 1));
}

#[test]
fn a_server_says_that_a_session_ended_whose_process_died() {
    let place = Place::new();
    let agent = Agent::new(&place, "gemini", None);
    let (name, _) = begin(&agent, "one");
    kill_all(&place);
    let server = place.serve();
    let until = Instant::now() + DEADLINE;
    while !sessions(&server, &name).is_empty() {
        assert!(Instant::now() < until, "its end is not noticed: {}", place.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(place.done(&["who", "--project", PROJECT]).contains("OFFLINE"));
}

#[test]
fn a_cleared_session_is_one_session() {
    for (client, ..) in CLIENTS {
        let server = Server::start();
        let agent = Agent::new(&server.place, client, None);
        let (name, _) = begin(&agent, "before");
        reserve(&server, &name, "src/**", true);
        agent.answer_to("SessionStart-clear", json!({ "session_id": "after" }));
        assert_eq!((sessions(&server, &name).len(), reserved(&server).len()), (1, 1), "{client}");
        end(&agent, "after");
        assert_eq!((sessions(&server, &name).len(), reserved(&server).len()), (0, 0), "{client}");
    }
}

#[test]
fn two_sessions_under_one_name_are_both_shown_with_their_clients_and_places() {
    let place = Place::new();
    begin(&Agent::new(&place, "claude", Some("GreenDog")), "one");
    begin(&Agent::new(&place, "codex", Some("GreenDog")), "two");
    let table = place.done(&["who", "--project", PROJECT]);
    for client in ["claude", "codex"] {
        assert!(table.contains(&format!("GreenDog: {client} in {PROJECT} on ")), "{table}");
    }
    let listed = place.json(&["who", "--project", PROJECT]);
    assert_eq!(listed["agents"][0]["sessions"].as_array().map(Vec::len), Some(2));
}

#[test]
fn whoever_leaves_gives_back_what_it_held_alone_and_stays_who_it_is() {
    let server = Server::start();
    let agent = Agent::new(&server.place, "claude", None);
    let (name, _) = begin(&agent, "one");
    reserve(&server, &name, "src/**", true);
    let told = server.place.json(&["leave"]);
    assert_eq!((told["agent"].as_str(), told["is_last"].as_bool()), (Some(name.as_str()), Some(true)));
    assert_eq!(told["released"][0]["path_pattern"], "src/**");
    assert!(server.place.done(&["who", "--project", PROJECT]).contains("OFFLINE"));
    assert!(server.place.done(&["leave"]).contains(&format!("'{name}' has left.")), "its shell is its shell");
    // The call in which it left ends, and so does its turn.
    for event in ["PostToolUse", "Stop"] {
        agent.answer_to(event, json!({ "session_id": "one" }));
        assert_eq!(sessions(&server, &name).len(), 0, "{event}");
    }
    agent.answer_to("UserPromptSubmit", json!({ "session_id": "one" }));
    assert_eq!(sessions(&server, &name).len(), 1, "it goes on");
}

#[test]
fn a_renamed_agent_keeps_its_session_and_is_reached_under_both_names() {
    for (client, prompt, _) in CLIENTS {
        let server = Server::start();
        server.register(&["BlueLake"]);
        let agent = Agent::new(&server.place, client, None);
        let (name, _) = begin(&agent, "one");
        server.place.done(&["rename", &name, "Reviewer", "--project", PROJECT]);
        server.mail("BlueLake", &name, "To the old name");
        let told = agent.answer_to(prompt, json!({ "session_id": "one" })).expect("it is told of its mail");
        assert!(told.to_string().contains("To the old name"), "{client}: {told}");
        server.place.done(&["mail", "send", "BlueLake", "-s", "Hi", "-m", "Hello", "--project", PROJECT]);
        let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({})));
        assert_eq!(inbox[0]["from"], "Reviewer", "{client}: its shell knows its name");
        end(&agent, "one");
        assert_eq!(begin(&agent, "two").0, "Reviewer", "{client}: so does the next session");
    }
}

#[test]
fn a_session_follows_its_agent_also_where_the_project_is_called_by_its_slug() {
    let server = Server::start();
    server.register(&["BlueLake"]);
    let agent = Agent::new(&server.place, "claude", None);
    let (name, _) = begin(&agent, "one");
    let slug = server.place.json(&["who", "--project", PROJECT])["project"].as_str().unwrap().to_owned();
    server.place.done(&["rename", &name, "Reviewer", "--project", &slug]);
    server.place.done(&["mail", "send", "BlueLake", "-s", "Hi", "-m", "Hello", "--project", &slug]);
    let inbox = server.call("fetch_inbox", as_agent("BlueLake", json!({})));
    assert_eq!(inbox[0]["from"], "Reviewer");
}

#[test]
fn a_session_elsewhere_learns_its_new_name_when_it_begins_again() {
    let server = Server::start();
    let agent = Agent::new(&server.place, "claude", None);
    let (name, _) = begin(&agent, "one");
    server.call("rename_agent", as_agent(&name, json!({ "new_name": "Reviewer" })));
    assert_eq!(begin(&agent, "one").0, "Reviewer");
}

#[test]
fn a_retired_agent_is_written_to_by_nobody_and_comes_back_with_its_next_session() {
    let server = Server::start();
    server.register(&["BlueLake"]);
    let agent = Agent::new(&server.place, "codex", None);
    let (name, _) = begin(&agent, "one");
    end(&agent, "one");
    assert!(server.place.done(&["retire", &name, "--project", PROJECT]).contains("is retired"));
    assert!(server.place.done(&["retire", &name, "--project", PROJECT]).contains("was retired before"));
    let send = ["mail", "send", &name, "-s", "Hi", "-m", "Hello", "--project", PROJECT, "--as", "BlueLake"];
    assert!(server.place.run(&send).stderr.contains("is retired since"));
    assert_eq!(begin(&agent, "two").0, name);
    server.place.done(&send);
}

#[test]
fn names_that_are_proved_are_given_up_with_their_proof() {
    let server = Place::with_settings("identity = 'strict'\n").serve();
    server.call("ensure_project", json!({ "human_key": PROJECT }));
    let registered = server.call("register_agent", json!({ "project_key": PROJECT, "name": "Mine" }));
    let token = registered["registration_token"].as_str().unwrap();
    for command in [&["rename", "Mine", "Yours"][..], &["retire", "Mine"], &["leave", "--as", "Mine"]] {
        let command = [command, &["--project", PROJECT]].concat();
        let ran = server.place.run(&command);
        assert!(ran.code == Some(1) && ran.stderr.contains("IDENTITY_REQUIRED"), "{command:?}: {}", ran.stderr);
        server.place.done(&[&command[..], &["--token", token]].concat());
        if command[0] == "rename" {
            server.place.done(&["rename", "Yours", "Mine", "--project", PROJECT, "--token", token]);
        }
    }
}

#[test]
fn a_sub_agent_of_codex_is_known_at_its_own_shell() {
    let server = Server::start();
    let agent = Agent::new(&server.place, "codex", None);
    let example = agent.example("SubagentStart");
    let (root, thread) = (example["session_id"].as_str().unwrap(), example["agent_id"].as_str().unwrap());
    let (name, _) = begin(&agent, root);
    let told = agent.told("SubagentStart").expect("it is told its name");
    let own = told.split('\'').nth(1).expect("the name stands between quotation marks").to_owned();
    assert!(own.starts_with(&format!("{name}/")), "{told}");
    let mut shell = server.place.command(&["mail", "inbox", "--project", PROJECT]);
    shell.env("CODEX_SESSION_ID", root).env("CODEX_THREAD_ID", thread);
    let ran = crate::harness::repository::ran(shell);
    assert!(ran.code == Some(1) && ran.stderr.contains(&format!("'{own}' not found")), "{}", ran.stderr);
    let mut main = server.place.command(&["mail", "inbox", "--project", PROJECT]);
    main.env("CODEX_SESSION_ID", root).env("CODEX_THREAD_ID", root);
    assert_eq!(crate::harness::repository::ran(main).code, Some(0));
}

#[test]
fn a_sub_agent_of_claude_says_its_name_at_a_shell_that_cannot_tell_it() {
    let place = Place::new();
    let agent = Agent::new(&place, "claude", None);
    let example = agent.example("PreToolUse-subagent");
    let (name, _) = begin(&agent, example["session_id"].as_str().unwrap());
    let at_shell = |command: &str| {
        let more = json!({ "tool_name": "Bash", "tool_input": { "command": command } });
        agent.answer_to("PreToolUse-subagent", more)
    };
    let refused = at_shell("cd src && postrider mail inbox").expect("it is refused").to_string();
    assert!(refused.contains("deny") && refused.contains(&format!("--as {name}/")), "{refused}");
    assert_eq!(at_shell(&format!("postrider mail inbox --as {name}/agent-0000")), None);
    assert!(at_shell("postrider --json mail read 7").is_some(), "an option of all commands is no name");
    assert_eq!(at_shell("postrider reservations"), None, "it acts in nobody's name");
    assert_eq!(at_shell("cargo test"), None);
}

/// A call as Codex makes it, of this tool with these arguments.
fn codex_call(client: &mut Client, tool: &str, arguments: Value, thread: Option<&str>) -> Value {
    let mut call: Value = serde_json::from_str(include_str!("calls/codex.json")).unwrap();
    call["params"]["name"] = tool.into();
    call["params"]["arguments"] = arguments;
    if let Some(thread) = thread {
        call["params"]["_meta"]["threadId"] = thread.into();
    }
    let answer = client.ask("tools/call", call["params"].clone());
    answer["result"]["structuredContent"].clone()
}

#[test]
fn a_call_of_codex_that_says_no_name_is_made_by_the_agent_of_its_session() {
    let home = Home::new();
    let mut client = home.client();
    client.initialize();
    client.register("Anna");
    let start = json!({ "project_key": crate::driven::PROJECT, "program": "codex-cli" });
    let me = codex_call(&mut client, "macro_start_session", start.clone(), None);
    let name = me["agent"]["name"].as_str().unwrap().to_owned();
    let again = codex_call(&mut client, "macro_start_session", start, None);
    assert_eq!(again["agent"]["name"], name.as_str(), "it is not given another name");
    client.send("Anna", &name, "hello");
    let inbox = codex_call(&mut client, "fetch_inbox", json!({ "agent_name": null }), None);
    assert_eq!(crate::driven::subjects(&inbox), ["hello"]);
    let below = codex_call(&mut client, "fetch_inbox", json!({}), Some("another-thread"));
    assert_eq!(below["error"]["code"], "AGENT_NOT_FOUND", "its sub-agent has no part in that: {below}");
    let about = client.call("whois", json!({ "project_key": crate::driven::PROJECT, "agent_name": name }));
    assert_eq!(about["sessions"][0]["client"], "codex", "the office knows the session");
    client.leave();
    let mut other = home.client();
    other.initialize();
    let about = |client: &mut Client| {
        client.call("whois", json!({ "project_key": crate::driven::PROJECT, "agent_name": name }))
    };
    assert_eq!(about(&mut other)["sessions"], Value::Null, "it ended with its client");
    let again = json!({ "project_key": crate::driven::PROJECT, "agent_name": name });
    codex_call(&mut other, "macro_start_session", again, None);
    assert_eq!(about(&mut other)["sessions"][0]["client"], "codex", "it goes on in a new process");
}

#[test]
fn a_call_of_a_sub_agent_of_claude_is_known_by_what_its_hook_said() {
    let place = Place::new();
    let agent = Agent::new(&place, "claude", None);
    let example = agent.example("PreToolUse-subagent");
    let (name, _) = begin(&agent, example["session_id"].as_str().unwrap());
    let call = json!({ "tool_name": "mcp__postrider__fetch_inbox", "tool_input": {}, "tool_use_id": "toolu_1" });
    assert_eq!(agent.answer_to("PreToolUse-subagent", call), None);
    let ask = |tool_use: &str| {
        let meta = json!({ "claudecode/toolUseId": tool_use });
        let params = json!({ "name": "fetch_inbox", "arguments": {}, "_meta": meta });
        let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "claude-code", "version": "1" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string();
        let mut command = place.command(&["stdio"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        use std::io::Write;
        child.stdin.take().unwrap().write_all(format!("{hello}\n{line}\n").as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    assert!(ask("toolu_2").contains(r#""isError":false"#), "the main agent's own call");
    let refused = ask("toolu_1");
    assert!(refused.contains("AGENT_NOT_FOUND") && refused.contains(&format!("{name}/")), "{refused}");
}
