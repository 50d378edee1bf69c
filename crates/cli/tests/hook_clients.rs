//! What `postrider hook` promises to every client that offers it, by recorded examples of what each says.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent, with};
use crate::harness::{Place, Server};
use crate::hooks::voices::{VOICES, Voice, context_in, hold_in, refusal_in};
use crate::hooks::{Agent, ended, send};

fn office() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    server
}

fn green(server: &Server, voice: &Voice) -> Agent {
    Agent::new(&server.place, voice.client, Some("GreenDog"))
}

/// What a session is told first: at its start, else at the first event that reaches the model.
fn introduced(agent: &Agent, voice: &Voice, start: &str, id: &str) -> String {
    let told = agent.answer_to(start, voice.session(id));
    let told = match voice.hears_start {
        true => told.expect("something is told at the start"),
        false => {
            assert_eq!(told, None, "{}: nothing that is said at the start reaches the model", voice.client);
            agent.answer_to(voice.told[0], voice.session(id)).expect("something is told at the first event")
        }
    };
    context_in(&told).expect("a context").to_owned()
}

fn name_in(told: &str) -> String {
    told.strip_prefix("You are ").and_then(|rest| rest.split(' ').next()).expect("a name").to_owned()
}

#[test]
fn every_session_is_told_who_it_is_and_what_waits_once() {
    for voice in VOICES {
        let server = office();
        let agent = Agent::new(&server.place, voice.client, None);
        let told = introduced(&agent, &voice, voice.start, "one");
        let name = name_in(&told);
        assert!(told.contains(PROJECT) && told.contains("fetch_inbox"), "{}: {told}", voice.client);
        let program = server.call("whois", as_agent(&name, json!({})))["program"].to_string();
        assert!(program.contains(voice.client), "{}: {program}", voice.client);
        for event in voice.told {
            assert_eq!(agent.answer_to(event, voice.session("one")), None, "{} {event}: no mail", voice.client);
        }
    }
}

#[test]
fn new_mail_is_told_once_at_every_event_that_reaches_the_model() {
    for voice in VOICES {
        let server = office();
        let agent = green(&server, &voice);
        introduced(&agent, &voice, voice.start, "one");
        for event in voice.told {
            let id = send(&server, "BlueLake", "GreenDog", "Parser", json!({ "body_md": "Take it." }));
            let told = agent.told_at(event, voice.session("one")).expect("it is told");
            assert!(
                told.contains(&format!("#{id} BlueLake: Parser\n> Take it.\n")),
                "{} {event}: {told}",
                voice.client
            );
            for later in voice.told {
                assert_eq!(agent.answer_to(later, voice.session("one")), None, "{} {later}", voice.client);
            }
        }
    }
}

#[test]
fn mail_that_came_before_a_start_that_nobody_hears_is_told_with_who_the_agent_is() {
    for voice in VOICES.into_iter().filter(|voice| !voice.hears_start) {
        let server = office();
        let id = send(&server, "BlueLake", "GreenDog", "Early", json!({ "body_md": "Take it." }));
        let told = introduced(&green(&server, &voice), &voice, voice.start, "one");
        assert!(
            told.starts_with("You are GreenDog ") && told.contains(&format!("#{id} BlueLake: Early\n> Take it.\n")),
            "{told}"
        );
        assert!(told.len() <= 4_000, "{told}");
    }
}

#[test]
fn a_prompt_that_nobody_typed_takes_no_mail() {
    let server = office();
    let agent = Agent::new(&server.place, "qwen", Some("GreenDog"));
    server.mail("BlueLake", "GreenDog", "Parser");
    assert_eq!(agent.answer("UserPromptSubmit-empty"), None);
    assert!(agent.told("PostToolUse").unwrap().contains("Parser"));
}

#[test]
fn an_agent_that_is_done_is_held_once_for_each_message_that_presses() {
    for voice in VOICES {
        let server = office();
        let agent = green(&server, &voice);
        send(&server, "BlueLake", "GreenDog", "Now", json!({ "importance": "urgent" }));
        let Some(stop) = voice.stop else { continue };
        let answer = agent.answer(stop).expect("mail presses");
        assert!(hold_in(&answer).is_some_and(|reason| reason.contains("Now")), "{}: {answer}", voice.client);
        assert_eq!(agent.answer(stop), None, "{}", voice.client);
    }
}

#[test]
fn what_cannot_be_held_or_refused_is_never_answered_and_takes_nothing() {
    let server = office();
    let paths = json!({ "paths": ["**"], "exclusive": true });
    server.call("file_reservation_paths", as_agent("BlueLake", paths));
    let cline = Agent::new(&server.place, "cline", Some("GreenDog"));
    send(&server, "BlueLake", "GreenDog", "Now", json!({ "importance": "urgent" }));
    let write = json!({ "preToolUse": { "toolName": "write_to_file", "parameters": { "path": "src/lib.rs" } } });
    assert_eq!(cline.answer_to("PreToolUse", write), None, "a refusal would end the whole run");
    assert_eq!(cline.answer("TaskComplete"), None);
    let kimi = Agent::new(&server.place, "kimi", Some("GreenDog"));
    assert_eq!((kimi.answer("PostToolUse"), kimi.answer("Stop")), (None, None));
    assert!(kimi.told("UserPromptSubmit").unwrap().contains("Now"), "it is still to be told");
}

#[test]
fn a_write_to_what_another_has_reserved_is_refused() {
    for voice in VOICES {
        let server = office();
        let agent = green(&server, &voice);
        for event in voice.writes {
            assert_eq!(agent.answer(event), None, "{} {event}: nobody holds it", voice.client);
        }
        let paths = json!({ "paths": ["src/**"], "exclusive": true });
        server.call("file_reservation_paths", as_agent("BlueLake", paths));
        for event in voice.writes {
            let answer = agent.answer(event).expect("an objection");
            let reason = refusal_in(&answer).unwrap_or_else(|| panic!("{} {event}: {answer}", voice.client));
            assert!(reason.contains("'src/lib.rs' is reserved by 'BlueLake' ('src/**')"), "{reason}");
        }
    }
}

#[test]
fn a_session_keeps_its_name_over_clear_resume_and_restart() {
    for voice in VOICES {
        let server = Server::start();
        let agent = Agent::new(&server.place, voice.client, None);
        let name = name_in(&introduced(&agent, &voice, voice.start, "one"));
        let paths = json!({ "paths": ["src/**"], "exclusive": true });
        server.call("file_reservation_paths", as_agent(&name, paths));
        let resumed = introduced(&agent, &voice, voice.start, "one");
        assert_eq!(name_in(&resumed), name, "{}: resumed", voice.client);
        if let Some((end, start)) = voice.clear {
            if let Some(end) = end {
                assert_eq!(agent.answer_to(end, voice.session("one")), None, "{}", voice.client);
            }
            let cleared = introduced(&agent, &voice, start, "two");
            assert_eq!(name_in(&cleared), name, "{}: cleared", voice.client);
            assert!(cleared.contains("Your reservations: 1"), "{}: {cleared}", voice.client);
        }
        let Some(end) = voice.end else { continue };
        assert_eq!(agent.answer_to(end, voice.session("two")), None, "{}", voice.client);
        assert_eq!(name_in(&introduced(&agent, &voice, voice.start, "three")), name, "{}: restarted", voice.client);
    }
}

#[test]
fn a_sub_agent_has_a_name_of_its_own_below_its_parents_and_takes_none_of_its_mail() {
    for voice in VOICES {
        let Some([start, tool]) = voice.below else { continue };
        let server = office();
        let agent = green(&server, &voice);
        agent.answer(voice.start);
        server.mail("BlueLake", "GreenDog", "Parser");
        let told = agent.told(start).expect("it is told whose it is");
        assert!(
            told.contains("sub-agent of GreenDog") && told.contains("'GreenDog/general"),
            "{}: {told}",
            voice.client
        );
        assert_eq!(agent.answer(tool), None, "{}", voice.client);
        assert!(agent.told(voice.told[1]).unwrap().contains("Parser"), "{}", voice.client);
    }
}

#[test]
fn a_call_of_our_tools_by_a_sub_agent_that_says_no_name_is_not_taken_for_its_parents() {
    for (client, event, member, tool, arguments) in [
        ("qwen", "PreToolUse-subagent-shell", "tool_name", "mcp__postrider__fetch_inbox", "tool_input"),
        ("opencode", "tool.execute.before-subagent", "tool_name", "postrider_fetch_inbox", "tool_input"),
        ("copilot", "preToolUse-subagent", "toolName", "postrider-fetch_inbox", "toolArgs"),
        ("copilot", "PreToolUse-as-claude", "tool_name", "mcp__postrider__fetch_inbox", "tool_input"),
    ] {
        let server = office();
        let agent = Agent::new(&server.place, client, Some("GreenDog"));
        let below = json!({ "agent_id": "061f", "parent_agent_id": "f728db16-e8d3-4a49-82b2-79f8d8fad21b" });
        let below = if event.ends_with("-as-claude") { below } else { json!({}) };
        let call = |tool: &str, said: Value| {
            agent.answer_to(event, with(below.clone(), json!({ member: tool, arguments: said })))
        };
        let refused = call(tool, json!({ "limit": 1 })).unwrap_or_else(|| panic!("{client}: it is refused"));
        assert!(refusal_in(&refused).unwrap().contains("agent_name = 'GreenDog/"), "{client}: {refused}");
        assert_eq!(call(tool, json!({ "agent_name": "GreenDog/general-061f" })), None, "{client}");
        assert_eq!(call(&tool.replace("fetch_inbox", "health_check"), json!({})), None, "{client}: nobody's call");
    }
}

/// What the hooks of each client have in their environment, and a shell of it hands on.
const ENVIRONMENTS: [(&str, &[(&str, &str)]); 5] = [
    ("claude", &[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "of another")]),
    ("codex", &[("PLUGIN_ROOT", "/plugin"), ("CLAUDE_PLUGIN_ROOT", "/plugin")]),
    ("gemini", &[("GEMINI_SESSION_ID", "of another"), ("CLAUDE_PROJECT_DIR", PROJECT)]),
    ("qwen", &[("QWEN_CODE_SESSION_ID", "of another"), ("GEMINI_PROJECT_DIR", PROJECT)]),
    ("copilot", &[("COPILOT_CLI", "1"), ("CLAUDE_PROJECT_DIR", PROJECT)]),
];

/// What a hook answers that has to find out who calls it, in this environment; the example may be said with less in it.
fn by_itself(place: &Place, example: &Agent, event: &str, without: &[&str], environment: &[(&str, &str)]) -> String {
    let mut input = example.example(event);
    without.iter().for_each(|name| drop(input.as_object_mut().unwrap().remove(*name)));
    let called = event.split('-').next().unwrap();
    let mut command = place.command(&["hook", "auto", called, "--within", "60000"]);
    std::fs::write(place.file("input.json"), input.to_string()).unwrap();
    let input = std::fs::File::open(place.file("input.json")).unwrap();
    command.env("POSTRIDER_AGENT", "GreenDog").envs(environment.iter().copied()).stdin(input);
    let output = command.output().expect("the binary runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{} {event}", example.client);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_hook_finds_out_by_itself_which_client_calls_whatever_environment_that_inherited() {
    let starts = ["claude", "codex", "gemini", "qwen", "copilot"];
    for client in starts {
        let server = office();
        let agent = Agent::new(&server.place, client, Some("GreenDog"));
        let event = if client == "copilot" { "SessionStart-as-claude" } else { "SessionStart" };
        let is_of_client = |environment: &[(&str, &str)], without: &[&str]| {
            let told = by_itself(&server.place, &agent, event, without, environment);
            let sessions = server.place.home().join("sessions");
            let files = std::fs::read_dir(&sessions).unwrap().flatten();
            let begun: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
            let is_record = |name: &&String| starts.iter().any(|client| name.starts_with(&format!("{client}-")));
            let records: Vec<&String> = begun.iter().filter(is_record).collect();
            assert!(records.iter().all(|name| name.starts_with(&format!("{client}-"))), "{client}: {records:?}");
            std::fs::remove_dir_all(sessions).unwrap();
            assert!(told.contains("You are GreenDog"), "{client}: {told}");
            assert_eq!(told.contains("hookSpecificOutput"), client != "copilot", "{told}");
        };
        let (_, own) = ENVIRONMENTS.into_iter().find(|(name, _)| *name == client).unwrap();
        is_of_client(own, &["transcript_path"]);
        is_of_client(&[], &[]);
        for (_, outer) in ENVIRONMENTS {
            is_of_client(&[outer, own].concat(), &[]);
        }
    }
}

#[test]
fn the_session_that_both_input_and_environment_name_decides_who_calls() {
    let server = office();
    let agent = Agent::new(&server.place, "qwen", Some("GreenDog"));
    let id = agent.example("SessionStart")["session_id"].as_str().unwrap().to_owned();
    let environment = [("COPILOT_CLI", "1"), ("CLAUDECODE", "1"), ("QWEN_CODE_SESSION_ID", id.as_str())];
    let told = by_itself(&server.place, &agent, "SessionStart", &["transcript_path"], &environment);
    assert!(told.contains("hookSpecificOutput"), "{told}");
}

#[test]
fn a_hook_that_cannot_find_out_who_calls_says_so_and_an_event_of_one_client_needs_no_more() {
    let server = office();
    server.mail("BlueLake", "GreenDog", "Parser");
    let run = |event: &str| {
        let mut command = server.place.command(&["hook", "auto", event, "--within", "60000"]);
        let input = json!({ "session_id": "1", "cwd": PROJECT }).to_string();
        std::fs::write(server.place.file("input.json"), input).unwrap();
        let input = std::fs::File::open(server.place.file("input.json")).unwrap();
        let output = command.env("POSTRIDER_AGENT", "GreenDog").stdin(input).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (told, complaint) = run("PostToolUse");
    assert!(told.is_empty() && complaint.contains("'auto'") && complaint.lines().count() == 1, "{complaint}");
    assert!(run("BeforeAgent").0.contains("Parser"));
}

#[test]
fn copilot_is_refused_in_the_format_in_which_it_asks() {
    let server = office();
    let paths = json!({ "paths": ["src/**"], "exclusive": true });
    server.call("file_reservation_paths", as_agent("BlueLake", paths));
    let agent = Agent::new(&server.place, "copilot", Some("GreenDog"));
    assert_eq!(agent.answer("preToolUse").unwrap()["permissionDecision"], "deny");
    assert_eq!(agent.answer("PreToolUse-as-claude").unwrap()["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn the_folder_that_serves_several_clients_calls_only_hooks_that_one_of_them_has() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks/one-folder");
    for (file, clients) in
        [("hooks.json", ["claude", "gemini", "qwen", "copilot"].as_slice()), ("codex.json", &["codex"])]
    {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let hooks: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (event, groups) in hooks["hooks"].as_object().unwrap() {
            assert_eq!(groups[0]["hooks"][0]["command"], format!("postrider hook auto {event}"));
            let place = Place::new();
            let knows = |client: &str| {
                let mut command = place.command(&["hook", client, event]);
                let ran = command.stdin(std::process::Stdio::null()).output().unwrap();
                !String::from_utf8(ran.stderr).unwrap().contains("there is no event")
            };
            assert!(clients.iter().any(|client| knows(client)), "{event}");
        }
    }
}

#[test]
fn a_session_of_cline_that_was_silent_for_long_leaves_its_name_to_the_next() {
    let server = office();
    let agent = Agent::new(&server.place, "cline", None);
    let voice = VOICES.into_iter().find(|voice| voice.client == "cline").unwrap();
    let first = name_in(&introduced(&agent, &voice, voice.start, "one"));
    let second = name_in(&introduced(&agent, &voice, voice.start, "two"));
    assert_ne!(first, second, "the first may still go on");
    for file in std::fs::read_dir(server.place.home().join("sessions")).unwrap().flatten() {
        let file = std::fs::File::options().write(true).open(file.path()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(2 * 3600)).unwrap();
    }
    assert_eq!(name_in(&introduced(&agent, &voice, voice.start, "three")), first);
}

#[test]
fn a_shell_that_may_be_a_sub_agents_acts_in_no_name_that_is_not_said() {
    for (client, is_told) in [("gemini", true), ("cline", false), ("kimi", false)] {
        let server = office();
        let agent = Agent::new(&server.place, client, None);
        let voice = VOICES.into_iter().find(|voice| voice.client == client).unwrap();
        let name = name_in(&introduced(&agent, &voice, voice.start, "one"));
        let inbox = ["mail", "inbox", "--project", PROJECT];
        let ran = server.place.run(&inbox);
        assert_eq!(ran.code == Some(0), is_told, "{client}: {}{}", ran.stdout, ran.stderr);
        assert!(is_told || ran.stderr.contains("--as NAME"), "{client}: {}", ran.stderr);
        server.place.done(&[&inbox[..], &["--as", &name]].concat());
    }
}

#[test]
fn a_session_of_cline_is_named_by_its_root() {
    let server = office();
    let agent = Agent::new(&server.place, "cline", Some("GreenDog"));
    let below = json!({ "parent_agent_id": "agent_1" });
    server.mail("BlueLake", "GreenDog", "Parser");
    let input = with(agent.example("PostToolUse"), below).to_string();
    assert_eq!(ended(agent.begin("PostToolUse", input.as_bytes(), &["--within", "60000"])), None);
    assert!(agent.told("PostToolUse").unwrap().contains("Parser"));
}
