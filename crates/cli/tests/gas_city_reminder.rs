//! The reminder of `postrider mail check` when something is wrong: the prompt goes on as if there were none.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::json;

use crate::harness::mcp::PROJECT;
use crate::harness::{Place, Ran, Server};
use crate::hooks::output_of;

/// Nothing is printed but one line of complaint, and nobody is told of a failure.
fn assert_harmless(what: &str, ran: &Ran) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{what}: {}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{what}: {:?}", ran.stderr);
    assert!(ran.stderr.starts_with("postrider mail check: "), "{what}: {}", ran.stderr);
}

#[test]
fn a_command_line_that_cannot_be_read_is_a_line_and_no_failure() {
    let place = Place::new();
    for line in [
        "mail check --hook-format bogus",
        "mail check --hook-format",
        "mail check --inject --bogus",
        "mail check --inject one two",
        "--json mail --as clerk check --inject --within x",
        "mail check --inject --within 60001",
    ] {
        assert_harmless(line, &place.run(&line.split(' ').collect::<Vec<_>>()));
    }
    let help = place.run(&["mail", "check", "--inject", "--help"]);
    assert!(help.code == Some(0) && help.stdout.contains("--within"), "{}", help.stderr);
    for line in ["mail check --bogus", "mail check --within 5"] {
        assert_eq!(place.run(&line.split(' ').collect::<Vec<_>>()).code, Some(1), "{line}: nobody reminds");
    }
}

#[test]
fn a_program_that_keeps_the_mail_and_does_not_answer_is_not_waited_for() {
    let place = Place::new();
    let program = place.file("mail.sh");
    let script = "#!/bin/sh\necho $$ >\"$(dirname \"$0\")/leader\"; exec sleep 1000\n";
    fs::write(&program, script).expect("the place can be written to");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    let settings = format!("[mail]\nprovider = \"exec:{}\"\n", program.display());
    fs::write(place.home().join("postrider.toml"), settings).expect("a home");
    for flags in [&["--inject"][..], &["--hook-format", "claude"], &["--inject", "--within", "500"]] {
        let mut command = place.command(&[&["mail", "check", "mayor"], flags].concat());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ran = output_of(command.spawn().expect("the binary runs"));
        assert_harmless(&format!("{flags:?}"), &ran);
        assert!(ran.stderr.contains("in time"), "{}", ran.stderr);
    }
}

#[test]
fn a_key_for_good_and_a_key_while_it_is_open_are_not_given_together() {
    let server = Server::start();
    server.register(&["clerk", "mayor"]);
    let sent = |keys: [&str; 2]| {
        let mut request =
            json!({ "project_key": PROJECT, "sender_name": "clerk", "to": ["mayor"], "subject": "S", "body_md": "B" });
        for key in keys.iter().filter(|key| !key.is_empty()) {
            request[*key] = json!("disk");
        }
        request
    };
    let refused = server.refused("send_mail", sent(["key", "idempotency_key"]));
    assert_eq!(refused.code, "INVALID_ARGUMENT");
    assert!(refused.message.contains("'disk'") && refused.message.contains("idempotency_key"), "{}", refused.message);
    server.call("send_mail", sent(["key", ""]));
    server.call("send_mail", sent(["", "idempotency_key"]));
}
