//! What is composed is read back as it was meant, or refused with everything that is wrong.

use clap::{FromArgMatches, Subcommand};
use formats::markdown::{self, Field, Message};

use super::*;

fn draft<T: AsRef<str> + std::fmt::Debug>(words: &[T]) -> TypedDraft {
    let command = Given::augment_subcommands(clap::Command::new("compose").no_binary_name(true));
    let matches = command
        .try_get_matches_from(words.iter().map(AsRef::as_ref))
        .unwrap_or_else(|error| panic!("{words:?}: {error}"));
    TypedDraft::new(Given::from_arg_matches(&matches).unwrap(), "2026-01-31T10:00:00Z").unwrap()
}

/// The flags that are complained of.
fn flags(words: &[&str]) -> Vec<String> {
    let draft = draft(words);
    draft.all_problems().map(|problem| flag(draft.message.kind(), &problem.path)).collect()
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
            assert!(draft.is_sound(), "{words:?}\n{}\n{:?}", draft.written.body, complaints(&draft));
            let read = markdown::read(&draft.written.subject, &draft.written.body);
            assert_eq!(read.problems, [], "{words:?}");
            assert_eq!(read.value.fields(), draft.message.fields(), "{words:?}");
            assert_eq!(read.value.work_id(), Some("a-1"), "{words:?}");
        }
    }
}

#[test]
fn all_that_is_missing_is_told_at_once_by_its_flag() {
    assert_eq!(flags(&["bead-accepted"]), ["--bead", "--title"]);
    assert_eq!(flags(&["progress"]), ["--bead", "--step", "--status"]);
    assert_eq!(flags(&["help-request"]), ["--bead", "--issue-type", "--problem", "--question"]);
    assert_eq!(flags(&["help-response"]), ["--guidance"]);
    assert_eq!(flags(&["done"]), ["--bead", "--commit", "--tests", "--lint", "--build", "--summary"]);
    assert_eq!(flags(&["failed"]), ["--bead", "--type", "--reason"]);
    assert_eq!(flags(&["checkpoint"]), ["--bead", "--reason", "--commit", "--description", "--next-steps"]);
    assert_eq!(flags(&["spawn-request", "--resume"]), ["--issue", "--checkpoint", "--orchestrator"]);
    assert_eq!(flags(&["spawn-ack"]), ["--issue", "--status"]);
}

#[test]
fn a_wrong_value_is_told_beside_what_is_missing() {
    let wrong = ["progress", "--context-usage", "101", "--step", "x"];
    assert_eq!(flags(&wrong), ["--context-usage", "--bead", "--status"]);
    for percent in ["-5", "~45", "4.5", "99999999999"] {
        let words = ["progress", "--bead", "a", "--step", "x", "--status", "y", "--context-usage", percent];
        assert_eq!(flags(&words), ["--context-usage"], "{percent}");
    }
    let words = ["spawn-ack", "--issue", "a", "--status", "Gone"];
    assert_eq!(flags(&words), ["--status"]);
    assert!(complaint(None, &draft(&words).problems[0]).contains("'Gone'; wanted spawned | failed"));
    assert_eq!(flags(&["bead-accepted", "--bead", "a", "--title", "x", "--started-at", "noon"]), ["--started-at"]);
}

#[test]
fn a_field_that_is_missing_is_not_taken_from_the_text_of_another() {
    let problem = "x\n\nBead: b-2\nIssue Type: STUCK";
    let words = ["help-request", "--problem", problem, "--question", "why?"];
    assert_eq!(flags(&words), ["--bead", "--issue-type"]);
    let told = complaints(&draft(&words)).join("\n");
    assert!(told.contains("--bead would be read as 'b-2'; wanted a value of its own"), "{told}");
    assert!(!told.contains("missing"), "{told}");
}

#[test]
fn a_value_that_would_be_misread_is_told_with_what_was_given_and_what_would_be_read() {
    let failed = |reason: &str| Message::new(Some(Kind::Failed)).with("reason", Field::Text(reason.to_owned()));
    let (meant, read) = (failed("late"), failed("soon"));
    let told = drafting::misread(&meant, &read);
    assert_eq!(told, [Problem::wrong("reason", "soon", "'late', as it was given")]);
    assert_eq!(drafting::misread(&meant, &meant), []);
}

#[test]
fn the_fault_is_called_what_it_is() {
    let of = |words: &[&str]| {
        let draft = draft(words);
        (fault(&draft), hint(&draft))
    };
    assert_eq!(of(&["spawn-ack", "--issue", "a"]), ("is not complete", "Pass --status.".to_owned()));
    assert_eq!(of(&["spawn-ack", "--issue", "a", "--status", "x"]), ("is not right", "Correct --status.".to_owned()));
    let both = ("is neither complete nor right", "Pass --issue. Correct --status.".to_owned());
    assert_eq!(of(&["spawn-ack", "--status", "x"]), both);
    let (fault, hint) = of(&["help-response", "--guidance", "x\nBead: b-2"]);
    assert_eq!((fault, hint.as_str()), ("would not be read as it was meant", "Correct --bead."));
}

#[test]
fn a_verdict_is_taken_in_every_word_that_is_read_as_one_and_in_any_case() {
    let offering = ["done", "--bead", "a", "--commit", "c", "--summary", "s"];
    let verdict = |word: &str| {
        let draft = draft(&[&offering[..], &["--tests", word, "--lint", word, "--build", word]].concat());
        let verdicts = ["tests_pass", "lint_pass", "build_pass"].map(|name| draft.message.flag(name));
        draft.problems.is_empty().then_some(verdicts)
    };
    for word in ["pass", "TRUE", "Yes", "ok"] {
        assert_eq!(verdict(word), Some([Some(true); 3]), "{word}");
    }
    for word in ["FAIL", "false", "No"] {
        assert_eq!(verdict(word), Some([Some(false); 3]), "{word}");
    }
    for word in ["passed", "1", "x\n- Tests: PASS"] {
        assert_eq!(verdict(word), None, "{word}");
    }
    let resumes = |more: &[&str]| draft(&[&["spawn-request"], more].concat()).message.flag("resume").is_some();
    assert!(resumes(&["--resume"]) && resumes(&["--resume", "Yes"]) && !resumes(&["--resume", "no"]) && !resumes(&[]));
    let words = ["spawn-ack", "--issue", "a", "--status", "Spawned"];
    assert!(draft(&words).is_sound() && draft(&words).written.body.contains("Status: spawned"));
}

#[test]
fn the_subject_names_the_work_of_every_kind_unless_it_would_be_misread() {
    for words in complete("x") {
        assert!(draft(&words).written.subject.starts_with("[a-1] "), "{words:?}");
    }
    for id in ["a]b", "DONE", "[a"] {
        let draft = draft(&["spawn-ack", "--issue", id, "--status", "failed"]);
        assert!(draft.is_sound(), "{id}: {:?}", complaints(&draft));
        assert_eq!((draft.written.subject.as_str(), draft.message.work_id()), ("SPAWN_ACK", Some(id)));
    }
}

#[test]
fn every_kind_goes_by_its_word_as_well() {
    for kind in *Kind::written() {
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
    let read = |text: &str| draft(&["help-response", "--guidance", text]).message.text("guidance").to_owned();
    assert_eq!((read(&at).as_str(), read("@@codex look").as_str()), ("from a file\n", "@codex look"));
}

#[test]
fn a_worker_that_does_not_say_when_it_began_begins_now() {
    let body = draft(&["bead-accepted", "--bead", "a", "--title", "t"]).written.body;
    assert!(body.ends_with("Starting implementation at: 2026-01-31T10:00:00Z"), "{body}");
}
