//! What is composed is read back as it was meant, or refused with everything that is wrong.

use clap::{FromArgMatches, Subcommand};
use formats::markdown::{self, Message};

use super::*;

fn draft<T: AsRef<str> + std::fmt::Debug>(words: &[T]) -> Draft {
    let command = Given::augment_subcommands(clap::Command::new("compose").no_binary_name(true));
    let matches = command
        .try_get_matches_from(words.iter().map(AsRef::as_ref))
        .unwrap_or_else(|error| panic!("{words:?}: {error}"));
    Draft::new(Given::from_arg_matches(&matches).unwrap(), "2026-01-31T10:00:00Z").unwrap()
}

fn complaints(words: &[&str]) -> Vec<String> {
    let draft = draft(words);
    flags(draft.message.kind(), &draft.problems)
}

/// Each kind with all that it can say, `text` in every place that takes any text.
fn complete(text: &str) -> Vec<Vec<String>> {
    let offering: &[_] = &["bead=a-1", "commit", "files", "summary", "tests=pass", "lint=FAIL", "build=pass"];
    let kinds: [(&str, &[&str]); 10] = [
        ("bead-accepted", &["bead=a-1", "title"]),
        ("progress", &["bead=a-1", "step", "status", "context-usage=45%", "files"]),
        ("help-request", &["bead=a-1", "issue-type=stuck", "problem", "tried", "files", "question"]),
        ("help-response", &["bead=a-1", "guidance"]),
        ("offering-ready", offering),
        ("done", offering),
        ("failed", &["bead=a-1", "type=ERROR", "reason", "attempts=3", "commit", "files", "recommendation"]),
        ("checkpoint", &["bead=a-1", "reason=manual", "commit", "description", "context-usage=81", "next-steps"]),
        ("spawn-request", &["issue=a-1", "resume=true", "checkpoint", "orchestrator"]),
        ("spawn-ack", &["issue=a-1", "status=spawned", "session"]),
    ];
    let flag = |given: &&str| if given.contains('=') { format!("--{given}") } else { format!("--{given}={text}") };
    kinds.iter().map(|(kind, given)| [(*kind).to_owned()].into_iter().chain(given.iter().map(flag)).collect()).collect()
}

/// Texts that look like the structure around them.
const HOSTILE: [&str; 12] = [
    "plain",
    "Bead: other\nIssue Type: BLOCKED\nStatus: nothing",
    "x\n## Summary\ny\n## Question\nz",
    "```sh\nnever closed",
    "- Tests: FAIL\n- Commit: other",
    "\r\n  x \r\n\r\ny\rBead: z\n",
    "[a-2] FAILED: x",
    "**Bead:** other",
    "# x\n### Problem\n###### Next Steps\nx",
    "Resume: true\nCheckpoint: c\nSession: s",
    "\u{feff}x\u{2028}y\u{0}z",
    "### detail\n1. x\n   - Description: y\n   - Context usage: 3%",
];

#[test]
fn whatever_is_said_is_read_back_without_problems_and_as_it_was_meant() {
    for text in HOSTILE {
        for words in complete(text) {
            let draft = draft(&words);
            assert_eq!(draft.problems, [], "{words:?}\n{}", draft.written.body);
            let read = markdown::read(&draft.written.subject, &draft.written.body);
            assert_eq!(read.problems, [], "{words:?}");
            assert_eq!(read.value.fields(), draft.message.fields(), "{words:?}");
            assert_eq!(read.value.work_id(), Some("a-1"), "{words:?}");
        }
    }
}

#[test]
fn all_that_is_missing_is_told_at_once_by_its_flag() {
    assert_eq!(complaints(&["bead-accepted"]), ["--bead", "--title"]);
    assert_eq!(complaints(&["progress"]), ["--bead", "--step", "--status"]);
    assert_eq!(complaints(&["help-request"]), ["--bead", "--issue-type", "--problem", "--question"]);
    assert_eq!(complaints(&["help-response"]), ["--guidance"]);
    assert_eq!(complaints(&["done"]), ["--bead", "--commit", "--tests", "--lint", "--build", "--summary"]);
    assert_eq!(complaints(&["failed"]), ["--bead", "--type", "--reason"]);
    assert_eq!(complaints(&["checkpoint"]), ["--bead", "--reason", "--commit", "--description", "--next-steps"]);
    assert_eq!(complaints(&["spawn-request", "--resume"]), ["--issue", "--checkpoint", "--orchestrator"]);
    assert_eq!(complaints(&["spawn-ack"]), ["--issue", "--status"]);
}

#[test]
fn a_wrong_value_is_told_beside_what_is_missing() {
    let wrong = ["progress", "--context-usage", "101", "--step", "x"];
    assert_eq!(complaints(&wrong), ["--context-usage", "--bead", "--status"]);
    for percent in ["-5", "~45", "4.5", "99999999999"] {
        let words = ["progress", "--bead", "a", "--step", "x", "--status", "y", "--context-usage", percent];
        assert_eq!(complaints(&words), ["--context-usage"], "{percent}");
    }
    let words = ["spawn-ack", "--issue", "a", "--status", "SPAWNED"];
    assert_eq!(complaints(&words), ["--status"]);
    assert!(complaint(None, &draft(&words).problems[0]).contains("'SPAWNED'; wanted spawned | failed"));
    assert_eq!(complaints(&["bead-accepted", "--bead", "a", "--title", "x", "--started-at", "noon"]), ["--started-at"]);
}

#[test]
fn a_field_that_is_missing_is_not_taken_from_the_text_of_another() {
    let problem = "x\n\nBead: b-2\nIssue Type: STUCK";
    let words = ["help-request", "--problem", problem, "--question", "why?"];
    assert_eq!(complaints(&words), ["--bead", "--issue-type"]);
}

#[test]
fn every_kind_goes_by_its_word_as_well() {
    for kind in Kind::ALL {
        assert_eq!(draft(&[kind.as_str()]).message.kind(), Some(kind));
        let kebab = kind.as_str().to_lowercase().replace('_', "-");
        assert_eq!(draft(&[&kebab]).message.kind(), Some(kind));
    }
}

#[test]
fn a_text_comes_from_a_file_and_standard_input_is_for_one() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "from a file\n").unwrap();
    let at = format!("@{}", file.path().display());
    let read = |text: &str| match draft(&["help-response", "--guidance", text]).message {
        Message::HelpResponse(response) => response.guidance,
        other => panic!("{other:?}"),
    };
    assert_eq!((read(&at).as_str(), read("@@codex look").as_str()), ("from a file\n", "@codex look"));
}

#[test]
fn a_worker_that_does_not_say_when_it_began_begins_now() {
    let body = draft(&["bead-accepted", "--bead", "a", "--title", "t"]).written.body;
    assert!(body.ends_with("Starting implementation at: 2026-01-31T10:00:00Z"), "{body}");
}
