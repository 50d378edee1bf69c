//! A script that speaks to an agent-mail server with curl and jq works at ours, driven by `postrider mail`: it introduces the
//! sender to the recipient before each send, and proves names with the tokens that registering gave it.
//!
//! Mail goes from the terminal through the script and a server back to the terminal, where names are claimed and where they
//! have to be proved.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::mcp::tool_call;
use crate::harness::{Place, Ran, Server, not_run};

const CITY: &str = "/data/projects/my city";

/// A terminal whose mail the script keeps at a server.
struct Bridge {
    server: Server,
    terminal: Place,
}

impl Bridge {
    /// One to a server with these settings; `None`, and a loud word, without the programs that the script wants.
    fn to(settings: &str) -> Option<Self> {
        for program in ["curl", "jq"] {
            if !Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success()) {
                not_run("a script that bridges to a server", &format!("there is no {program}"));
                return None;
            }
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bridge/agent_mail.sh");
        let terminal = Place::with_settings(&format!("[mail]\nprovider = \"exec\"\ncommand = {:?}\n", script));
        Some(Self { server: Place::with_settings(settings).serve(), terminal })
    }

    fn mail(&self, name: &str, words: &[&str]) -> Ran {
        let mut command = self.terminal.command(&[&["mail"], words, &["--as", name, "--project", CITY]].concat());
        command.env("AGENT_MAIL_URL", format!("http://{}", self.server.address));
        command.env("BRIDGE_STATE", self.terminal.file("bridge")).output().expect("the binary runs").into()
    }

    /// What a verb prints that has to succeed.
    fn done(&self, name: &str, words: &[&str]) -> String {
        let ran = self.mail(name, words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}{}", ran.stderr, ran.stdout);
        ran.stdout
    }

    fn json(&self, name: &str, words: &[&str]) -> Value {
        serde_json::from_str(&self.done(name, &[words, &["--json"]].concat())).expect("JSON")
    }

    /// What an agent gets over MCP, as the server has it.
    fn at_the_server(&self, name: &str) -> Value {
        let token = format!("{}.token", name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>());
        let token = std::fs::read_to_string(self.terminal.file("bridge").join(token)).expect("a token was kept");
        let arguments = json!({ "project_key": CITY, "agent_name": name, "registration_token": token.trim() });
        let headers = [("content-type", "application/json")];
        let answer = self.server.send("POST", "/mcp/", &headers, tool_call("fetch_inbox", &arguments)).json();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str(text).expect("the text is JSON")
    }
}

fn a_letter_and_its_answer(bridge: &Bridge) {
    let sent = bridge.json("mayor", &["send", "deputy", "-s", "The bridge", "-m", "It is \"open\".\n\nReally."]);
    let id = sent["id"].as_str().expect("an id").to_owned();
    let inbox = bridge.json("deputy", &["inbox"]);
    assert_eq!((&inbox[0]["id"], &inbox[0]["from"], &inbox[0]["read"]), (&json!(id), &json!("mayor"), &json!(false)));
    assert_eq!(inbox[0]["body"], "It is \"open\".\n\nReally.");
    assert_eq!(bridge.done("deputy", &["check"]), "1 unread\n");
    assert!(bridge.done("deputy", &["read", &id]).ends_with("Really.\n"));
    assert_eq!(bridge.mail("deputy", &["check"]).code, Some(3), "it was read");
    assert_eq!(bridge.done("deputy", &["count"]), "0 unread, 1 in all\n");

    bridge.done("deputy", &["reply", &id, "-m", "Good."]);
    let answer = bridge.json("mayor", &["inbox"]);
    assert_eq!((&answer[0]["from"], &answer[0]["reply_to"]), (&json!("deputy"), &json!(id)));
    assert_eq!((&answer[0]["subject"], &answer[0]["thread_id"]), (&json!("Re: The bridge"), &sent["thread_id"]));

    bridge.done("deputy", &["archive", &id]);
    let again = bridge.mail("deputy", &["archive", &id]);
    assert!(again.code == Some(0) && again.stderr.contains("was archived before"), "{}", again.stderr);
    assert_eq!(bridge.json("deputy", &["all"]), json!([]));
    assert_eq!(bridge.mail("deputy", &["peek", &id]).code, Some(1), "the script hides it");
    let kept = bridge.at_the_server("deputy");
    assert_eq!((&kept[0]["subject"], kept[0]["read_ts"].is_string()), (&json!("The bridge"), true), "{kept}");
}

#[test]
fn a_bridge_script_carries_mail_where_names_are_claimed() {
    let Some(bridge) = Bridge::to("") else { return };
    a_letter_and_its_answer(&bridge);
}

#[test]
fn a_bridge_script_carries_mail_where_names_have_to_be_proved() {
    let Some(bridge) = Bridge::to("identity = \"strict\"\n") else { return };
    a_letter_and_its_answer(&bridge);
    assert_eq!(bridge.at_the_server("mayor")[0]["vouched"], "verified", "the script passed its token");
    assert_eq!(
        bridge.mail("mayor", &["send", "deputy", "-s", "Again", "-m", "And again."]).code,
        Some(0),
        "kept tokens serve"
    );
}

#[test]
fn a_server_that_is_away_is_told_of_and_nothing_is_lost() {
    let Some(Bridge { server, terminal }) = Bridge::to("") else { return };
    let address = server.address.clone();
    server.stop();
    let mut command =
        terminal.command(&["mail", "send", "deputy", "-s", "S", "-m", "B", "--as", "mayor", "--project", CITY]);
    command.env("AGENT_MAIL_URL", format!("http://{address}")).env("BRIDGE_STATE", terminal.file("bridge"));
    let ran: Ran = command.output().expect("the binary runs").into();
    assert!(ran.code == Some(1) && ran.stderr.contains("[PROVIDER_FAILED]"), "{}", ran.stderr);
}
