//! A text that is written in an editor, by somebody at a terminal: sent, given up, or kept when it cannot be sent.
//!
//! Python makes the terminal. Without it the tests say loudly that they did not run; on a build machine they fail.

use std::fs;

use crate::harness::mcp::PROJECT;
use crate::harness::{Place, Ran, has_python};

/// Runs a program at a terminal of its own and shows what it shows.
const TERMINAL: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// A place in which two have joined, if there is a Python to make terminals.
fn place() -> Option<Place> {
    if !has_python("mail from an editor") {
        return None;
    }
    let place = Place::new();
    for name in ["GreenDog", "BlueLake"] {
        place.done(&["join", name, "--project", PROJECT]);
    }
    Some(place)
}

/// Sends to `to` with an editor that is this shell script.
fn edited(place: &Place, to: &str, script: &str) -> Ran {
    fs::write(place.file("editor.sh"), script).expect("the place can be written to");
    let mut command = place.shell("exec python3 -c \"$TERMINAL\" postrider mail send \"$TO\" -s Hello --as GreenDog");
    command.env("TERMINAL", TERMINAL).env("TO", to).env("POSTRIDER_PROJECT", PROJECT);
    // The editor has an option, as in 'code --wait'.
    command.env_remove("VISUAL").env("EDITOR", "sh -e editor.sh").env("TMPDIR", place.folder());
    command.output().expect("a shell runs").into()
}

/// The texts that were left behind.
fn left(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.folder()).expect("the place can be read");
    let names = entries.map(|entry| entry.expect("an entry").path());
    let texts = names.filter(|path| path.extension().is_some_and(|end| end == "md"));
    texts.map(|path| fs::read_to_string(path).expect("a text")).collect()
}

#[test]
fn what_is_written_in_the_editor_is_sent() {
    let Some(place) = place() else { return };
    let ran = edited(&place, "BlueLake", "printf 'Written in\\nan editor.\\n' > \"$1\"");
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let delivery = place.json(&["mail", "peek", "1", "--as", "BlueLake", "--project", PROJECT]);
    assert_eq!(delivery["body"], "Written in\nan editor.");
    assert!(left(&place).is_empty());
}

#[test]
fn an_empty_text_or_an_editor_that_fails_sends_nothing() {
    let Some(place) = place() else { return };
    for (script, word) in [(":", "the message is empty"), ("exit 3", "failed")] {
        let ran = edited(&place, "BlueLake", script);
        assert!(ran.code == Some(1) && ran.stdout.contains(word), "{}", ran.stdout);
    }
    let check = place.run(&["mail", "check", "--as", "BlueLake", "--project", PROJECT]);
    assert_eq!(check.code, Some(3), "nothing came");
    assert!(left(&place).is_empty());
}

#[test]
fn a_text_that_cannot_be_sent_is_kept() {
    let Some(place) = place() else { return };
    let ran = edited(&place, "Nobody", "echo 'Hard work.' > \"$1\"");
    assert!(ran.code == Some(1) && ran.stdout.contains("Your text is kept in"), "{}", ran.stdout);
    assert_eq!(left(&place), ["Hard work.\n"]);
}
