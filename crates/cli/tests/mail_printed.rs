//! What could not be printed was not answered: the exit code says so, and no delivery is read that nobody could see.

use std::fs::File;
use std::process::Stdio;

use crate::harness::{Place, Ran};

/// A place where BlueLake has unread mail.
fn with_mail() -> Place {
    let place = Place::new();
    place.done(&["join", "GreenDog", "--project", "/p"]);
    place.done(&["join", "BlueLake", "--project", "/p"]);
    for subject in ["First", "Second"] {
        place.done(&["mail", "send", "BlueLake", "-s", subject, "-m", "Text.", "--as", "GreenDog", "--project", "/p"]);
    }
    place
}

/// Runs a command whose output goes to a disk that is full.
fn on_a_full_disk(place: &Place, words: &[&str]) -> Ran {
    let full = File::options().write(true).open("/dev/full").expect("the system has a full device");
    let mut command = place.command(words);
    command.stdout(full).stderr(Stdio::piped());
    command.spawn().and_then(|child| child.wait_with_output()).expect("the binary runs").into()
}

/// Runs a command whose output nobody reads.
fn into_a_closed_pipe(place: &Place, words: &[&str]) -> Ran {
    let mut command = place.command(words);
    let (reader, writer) = std::io::pipe().expect("the system has pipes");
    drop(reader);
    command.stdout(writer).stderr(Stdio::piped());
    command.spawn().and_then(|child| child.wait_with_output()).expect("the binary runs").into()
}

const INBOX: [&str; 6] = ["mail", "inbox", "--as", "BlueLake", "--project", "/p"];

fn read(place: &Place, how: fn(&Place, &[&str]) -> Ran, more: &[&str]) -> Ran {
    how(place, &[&["mail", "read", "--as", "BlueLake", "--project", "/p"], more].concat())
}

#[test]
fn a_delivery_that_could_not_be_printed_is_not_read() {
    let place = with_mail();
    for more in [&["1"][..], &["1", "2"], &["1", "--json"], &["1", "99", "--json"]] {
        let ran = read(&place, on_a_full_disk, more);
        assert_eq!(ran.code, Some(1), "{more:?}");
        assert!(ran.stderr.contains("cannot print"), "{more:?}: {}", ran.stderr);
        read(&place, into_a_closed_pipe, more);
        assert_eq!(place.json(&INBOX).as_array().map(Vec::len), Some(2), "{more:?}");
    }
    let printed = place.done(&["mail", "read", "1", "2", "--as", "BlueLake", "--project", "/p"]);
    assert!(printed.contains("First") && printed.contains("Second"));
    assert_eq!(place.json(&INBOX).as_array().map(Vec::len), Some(0), "what was printed is read");
}

#[test]
fn whatever_cannot_be_printed_is_a_failure_and_a_closed_pipe_is_none() {
    let place = with_mail();
    let exec = ["exec-mail", "inbox", "BlueLake"];
    for words in [&INBOX[..], &["--help"], &["--version"], &["schema"], &["export"], &["man"]] {
        let ran = on_a_full_disk(&place, words);
        assert_eq!(ran.code, Some(1), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot"), "{words:?}: {}", ran.stderr);
    }
    let mut command = place.command(&exec);
    command.env("GC_CITY", "/p").stdout(File::options().write(true).open("/dev/full").expect("a full device"));
    assert_eq!(command.status().expect("the binary runs").code(), Some(1));
    for words in [&INBOX[..], &["--help"], &["schema"]] {
        let ran = into_a_closed_pipe(&place, words);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn complaints_that_cannot_be_printed_end_nothing_early() {
    let place = with_mail();
    let mut command = place.command(&["mail", "archive", "99", "1", "--as", "BlueLake", "--project", "/p"]);
    command.stderr(File::options().write(true).open("/dev/full").expect("a full device")).stdout(Stdio::piped());
    let ran: Ran = command.spawn().and_then(|child| child.wait_with_output()).expect("the binary runs").into();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "Message 1 is archived.\n"));
}
