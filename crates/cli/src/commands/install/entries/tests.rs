//! What install and uninstall make of configurations in many shapes.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::clients::{CLAUDE, ConfigPart, Event};
use crate::commands::install::server::{Server, ServerShape};

const EVENTS: [&str; 3] = ["SessionStart", "PreToolUse", "Stop"];
const CLIENT: Client = Client {
    events: &[(Event::SessionStart, EVENTS[0]), (Event::BeforeTool, EVENTS[1]), (Event::Stop, EVENTS[2])],
    ..CLAUDE
};

/// The hooks of a client as they are without options.
fn hooks<'a>(client: &'a Client, program: &str) -> Hooks<'a> {
    Hooks { client, program: program.to_owned(), options: None }
}

/// How most clients have their servers.
fn usual() -> ServerShape {
    ServerShape::of(ConfigPart::Server).expect("it is a server")
}

/// Both parts.
fn installed(text: &str, program: &str) -> String {
    let text = install_hooks(text, &hooks(&CLIENT, program), &[]).unwrap();
    usual().install(&text, program).unwrap()
}

fn uninstalled(text: &str) -> String {
    usual().uninstall(&uninstall_hooks(text, &[]).unwrap()).unwrap()
}

const FOREIGN: &str = r#"{
  // Who reads this?
  "permissions": { "allow": ["Bash(ls:*)"], },
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "check.sh" }] }, // ours
    ],
    "Stop": [
      {
        "hooks": [
          { "type": "command", "command": "say done" }
        ]
      }
    ]
  },
  "mcpServers": {"other": {"command": "other", "args": []}}
}
"#;

#[test]
fn an_empty_file_gets_every_hook_and_the_server() {
    let value = json::read(&installed("", "postrider")).unwrap();
    let hook = json!({ "type": "command", "command": "postrider hook claude Stop", "timeout": 5 });
    assert_eq!(value["hooks"]["Stop"], json!([{ "hooks": [hook] }]));
    assert_eq!(value["hooks"].as_object().unwrap().len(), EVENTS.len());
    assert_eq!(value["mcpServers"], json!({ "postrider": { "command": "postrider", "args": ["stdio"] } }));
    let named = Client { names_hooks: true, ..CLIENT };
    let value = json::read(&install_hooks("", &hooks(&named, "postrider"), &[]).unwrap()).unwrap();
    assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["name"], "postrider");
}

#[test]
fn what_is_there_is_kept_and_comes_back_byte_for_byte() {
    for text in [
        FOREIGN,
        &FOREIGN.replace('\n', "\r\n"),
        &FOREIGN.replace("  ", "\t"),
        "{\"hooks\":{\"Stop\":[{\"hooks\":[]}]},\"mcpServers\":{\"a\":{\"command\":\"a\"}}}",
        "{ \"a\": 1, \"b\": [] }",
        "{\n    \"a\": 1\n}",
        "{\n  \"a\": 1\n\n\n}\n\n",
        "{}",
    ] {
        let whole = installed(text, "postrider");
        let (before, mut after) = (json::read(text).unwrap(), json::read(&whole).unwrap());
        assert_eq!(after["mcpServers"]["postrider"]["args"], json!(["stdio"]));
        for event in EVENTS {
            let groups = after["hooks"][event].as_array_mut().unwrap();
            assert_eq!(groups.pop().unwrap()["hooks"][0]["command"], format!("postrider hook claude {event}"));
            assert_eq!(*groups, before["hooks"][event].as_array().cloned().unwrap_or_default());
        }
        for comment in text.lines().filter_map(|line| line.split_once("//")) {
            assert!(whole.contains(comment.1), "{whole}");
        }
        assert_eq!(installed(&whole, "postrider"), whole, "a second time changes nothing");
        assert_eq!(uninstalled(&whole), text);
    }
}

#[test]
fn an_entry_of_another_version_is_brought_up_to_date_and_not_doubled() {
    let events = &[(Event::SessionStart, "SessionStart"), (Event::Prompt, "Gone"), (Event::Stop, "Stop")];
    let old = Client { events, ..CLIENT };
    let text = install_hooks(FOREIGN, &hooks(&old, "'/old place/postrider'"), &[]).unwrap();
    let text = usual().install(&text, "/old place/postrider").unwrap();
    let text =
        text.replace("SessionStart\",\n            \"timeout\": 5", "SessionStart\",\n            \"timeout\": 9");
    let whole = installed(&text, "postrider");
    assert!(!whole.contains("old place") && !whole.contains("Gone"), "{whole}");
    assert_eq!(whole.matches("postrider hook claude").count(), EVENTS.len(), "{whole}");
    assert!(whole.contains("\"timeout\": 9"), "what somebody set stays: {whole}");
    assert_eq!(uninstalled(&whole), FOREIGN);
    let doubled = whole.replace("say done", "postrider hook claude Stop");
    assert_eq!(installed(&doubled, "postrider").matches("postrider hook claude").count(), EVENTS.len());
}

#[test]
fn how_sessions_are_named_is_written_stays_and_goes() {
    let with = |text: &str, options: Option<&str>| {
        let hooks = Hooks { options: options.map(str::to_owned), ..hooks(&CLIENT, "postrider") };
        install_hooks(text, &hooks, &[]).unwrap()
    };
    let fixed = with(FOREIGN, Some("--names fixed --as 'it is me'"));
    assert_eq!(fixed.matches("Stop --names fixed --as 'it is me'\"").count(), 1, "{fixed}");
    assert_eq!(fixed.matches("--names fixed").count(), EVENTS.len());
    assert_eq!(with(&fixed, None), fixed, "what nobody speaks of stays");
    assert_eq!(with(&fixed, Some("--names fixed --as 'it is me'")), fixed);
    let own = with(&fixed, Some("--names per-session"));
    assert_eq!((own.matches("--names per-session").count(), own.matches("--as").count()), (EVENTS.len(), 0));
    assert_eq!(with(&own, Some("")), with(FOREIGN, None), "back to what is usual");
    assert_eq!(uninstall_hooks(&fixed, &[]).unwrap(), FOREIGN);
}

#[test]
fn a_hook_of_an_event_that_is_new_to_us_is_as_the_others() {
    let old = Client { events: &[(Event::Stop, "Stop")], ..CLIENT };
    let wanted = Hooks { options: Some("--names fixed".to_owned()), ..hooks(&old, "postrider") };
    let text = install_hooks("", &wanted, &[]).unwrap();
    let whole = install_hooks(&text, &hooks(&CLIENT, "postrider"), &[]).unwrap();
    assert_eq!(whole.matches("--names fixed").count(), EVENTS.len(), "{whole}");
}

#[test]
fn only_what_runs_our_hook_and_nothing_else_is_ours() {
    for command in ["postrider hook claude Stop", "/a/postrider hook x y", "'/it'\\''s me/postrider' hook x y"] {
        assert!(is_our_hook(command), "{command}");
    }
    for command in [
        "postrider",
        "postrider hook",
        "postriders hook claude Stop",
        "echo postrider hook claude Stop",
        "postrider hook claude Stop; say done",
        "postrider hook claude Stop && x",
        "cd /a && /b/postrider hook claude Stop",
        "'postrider hook claude Stop",
        "",
    ] {
        assert!(!is_our_hook(command), "{command}");
        let text = json!({ "hooks": { "Stop": [{ "hooks": [{ "command": command }] }] } }).to_string();
        assert_eq!(uninstalled(&text), text);
    }
}

#[test]
fn a_server_of_our_name_that_is_not_ours_is_left_alone() {
    for entry in [
        json!({ "type": "http", "url": "http://127.0.0.1:8765/mcp" }),
        json!({ "command": "postrider", "args": ["serve"] }),
        json!({ "command": "npx", "args": ["stdio"] }),
        json!(null),
    ] {
        let text = json!({ "mcpServers": { "postrider": entry } }).to_string();
        assert_eq!(usual().server(&text).unwrap(), Server::Foreign, "{text}");
        assert_eq!(usual().install(&text, "postrider").unwrap(), text);
        assert_eq!(usual().uninstall(&text).unwrap(), text);
    }
}

#[test]
fn what_a_user_added_to_an_entry_of_ours_stays_until_it_goes() {
    let text = r#"{"mcpServers":{"postrider":{"command":"/old/postrider","args":["stdio","--tools","lean"],"env":{"A":"1"}}}}"#;
    assert_eq!(usual().install(text, "postrider").unwrap(), text.replace("/old/", ""));
    assert_eq!(usual().uninstall(text).unwrap(), "{}");
}

#[test]
fn a_configuration_that_is_not_what_a_client_reads_is_refused_with_its_place() {
    for (text, line, what) in [
        ("[]", 1, "the content is no object"),
        ("null", 1, "the content is no object"),
        ("{\n\"hooks\": []}", 2, "'hooks' is no object"),
        ("{\n\"hooks\": null}", 2, "'hooks' is no object"),
        ("{\"hooks\": {\n\n\"Stop\": {}}}", 3, "'hooks.Stop' is no list"),
        ("{\"a\": 1,,}", 1, "it is no JSON"),
    ] {
        let fault = install_hooks(text, &hooks(&CLIENT, "postrider"), &[]).unwrap_err();
        assert!(fault.line == line && fault.what.contains(what), "{text}: {fault:?}");
    }
    let fault = usual().install("{\"mcpServers\": \"x\"}", "postrider").unwrap_err();
    assert!(fault.what.contains("'mcpServers' is no object"), "{fault:?}");
    for odd in ["[]", "{\"hooks\": [1], \"mcpServers\": 2}", "{\"hooks\": {\"Stop\": [1, {\"hooks\": {}}]}}"] {
        assert_eq!(uninstalled(odd), odd, "nothing of ours is in it");
    }
}

#[test]
fn a_file_full_of_our_hooks_is_refused_rather_than_worked_on_for_hours() {
    let hook = r#"{"command":"postrider hook claude Stop"}"#;
    let many = format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{}]}}]}}}}"#, vec![hook; MOST_ENTRIES + 2].join(","));
    assert!(uninstall_hooks(&many, &[]).unwrap_err().what.contains("more than"));
}

/// JSON as people and programs write it: pretty or not, with foreign hooks and servers or not.
fn configurations() -> impl Strategy<Value = String> {
    let word = "[a-z]{1,4}";
    let leaf = prop_oneof![Just(json!(null)), any::<bool>().prop_map(Value::from), "[ -~é]{0,6}".prop_map(Value::from)];
    let tree = leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(word, inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let object = move |tree| prop::collection::btree_map(word, tree, 1..4);
    let group = "[a-z ]{1,9}".prop_map(|command| json!({ "matcher": "x", "hooks": [{ "command": command }] }));
    let events = prop::collection::btree_map(
        prop_oneof![Just("Stop".to_owned()), Just("Other".to_owned())],
        prop::collection::vec(group, 1..3),
        1..3,
    );
    let parts = (object(tree.clone()), prop::option::of(events), prop::option::of(object(tree)));
    let indents = prop_oneof![Just(""), Just(" "), Just("  "), Just("\t")];
    (parts, indents, any::<bool>(), any::<bool>()).prop_map(
        |((plain, events, servers), indent, is_crlf, is_commented)| {
            let mut value = json!(plain);
            if let Some(events) = events {
                value["hooks"] = json!(events);
            }
            if let Some(servers) = servers {
                value["mcpServers"] = json!(servers);
            }
            written(&value, indent, is_crlf, is_commented)
        },
    )
}

fn written(value: &Value, indent: &str, is_crlf: bool, is_commented: bool) -> String {
    if indent.is_empty() {
        return value.to_string();
    }
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(value, &mut serializer).unwrap();
    let mut text = String::from_utf8(bytes).unwrap() + "\n";
    if is_commented {
        text = text.replace("{\n", "{ // begins, \"\n").replace("\n}", "\n/* ends } */\n}");
    }
    if is_crlf { text.replace('\n', "\r\n") } else { text }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn install_then_uninstall_is_the_same_file_and_installing_twice_is_installing_once(text in configurations()) {
        let whole = installed(&text, "postrider");
        prop_assert_eq!(&installed(&whole, "postrider"), &whole);
        prop_assert_eq!(usual().server(&whole).unwrap(), Server::Ours("postrider".to_owned()));
        let moved = installed(&whole, "/elsewhere/postrider");
        prop_assert_eq!(&installed(&moved, "postrider"), &whole);
        prop_assert_eq!(uninstalled(&whole), text);
    }

    #[test]
    fn no_text_makes_the_editor_panic(text in "[{}\\[\\],:\" /*\\na-c0-9é\u{feff}]{0,40}") {
        let _ = install_hooks(&text, &hooks(&CLIENT, "postrider"), &[]).map(|whole| uninstall_hooks(&whole, &[]).unwrap());
        let _ = usual().install(&text, "postrider").map(|whole| usual().uninstall(&whole).unwrap());
    }
}
