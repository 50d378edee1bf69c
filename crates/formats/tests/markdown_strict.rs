//! What a strict reader of coordination messages refuses.

use formats::markdown::{Kind, read};

/// The problems of a message, each with its path and what it found.
fn problems(subject: &str, body: &str) -> Vec<(String, Option<String>)> {
    read(subject, body).problems.into_iter().map(|problem| (problem.path, problem.found)).collect()
}

fn missing(subject: &str, body: &str) -> Vec<String> {
    let problems = problems(subject, body);
    assert!(problems.iter().all(|(_, found)| found.is_none()), "{problems:?}");
    problems.into_iter().map(|(path, _)| path).collect()
}

fn wrong(subject: &str, body: &str) -> Vec<(String, String)> {
    problems(subject, body).into_iter().filter_map(|(path, found)| Some((path, found?))).collect()
}

/// The messages of the protocol's own text, filled in.
const WELL_FORMED: [(&str, &str); 16] = [
    ("[a-1] BEAD_ACCEPTED", "Accepted bead: a-1\nTitle: t\nStarting implementation at: 2026-01-31T10:00:00Z"),
    ("PROGRESS", "Bead: a-1\nStep: 4\nStatus: s\nContext usage: 45%\nFiles touched: a, b"),
    ("HELP_REQUEST", "Bead: a-1\nIssue Type: STUCK\n\n## Problem\np\n\n## Question\nq"),
    ("HELP_RESPONSE", "look there"),
    (
        "OFFERING_READY",
        "Bead: a-1\nStatus: DONE\n\n## Changes\n- Commit: c\n- Files: a\n\n## Self-Validation\n- Tests: PASS\n- Lint: \
         FAIL\n- Build: ok\n\n## Summary\ns",
    ),
    (
        "[a-1] DONE",
        "Status: done\n## Changes\n- Commit: c\n## Self-Validation\n- Tests: PASS\n- Lint: no\n- Build: PASS\n## Summary\ns",
    ),
    ("FAILED", "Bead: a-1\nStatus: FAILED\n\n## Failure\nType: ERROR\nReason: r\nInternal Attempts: 3"),
    ("a-1: CHECKPOINT", "Reason: manual\n## Progress\n- Commit: c\n- Description: d\n## Next Steps for Successor\nn"),
    ("SPAWN_REQUEST", "Issue: a-1\nResume: true\nCheckpoint: c\nOrchestrator: o"),
    ("SPAWN_REQUEST", "Issue: a-1\nResume: false\nOrchestrator: o"),
    ("SPAWN_ACK", "Issue: a-1\nStatus: spawned\nSession: s"),
    ("OFFERING_ACCEPTED", "Issue: a-1\nCommit: c"),
    ("[a-1] OFFERING_ACCEPTED", "Issue a-1 closed."),
    ("RETRY_REQUIRED", "Bead: a-1\nReason: two tests fail"),
    ("a-1: RETRY_REQUIRED", ""),
    (
        "[a-1] COMPLETED",
        "Status: completed\n## Changes\n- Commit: c\n## Self-Validation\n- Tests: PASS\n- Lint: no\n- Build: PASS\n\
         ## Summary\ns",
    ),
];

#[test]
fn a_message_as_the_protocol_shows_it_is_accepted() {
    for (subject, body) in WELL_FORMED {
        assert_eq!(problems(subject, body), [], "{subject}");
    }
}

#[test]
fn an_empty_message_lacks_what_its_kind_asks_for_in_the_order_of_the_protocol() {
    for kind in Kind::ALL {
        let wanted: &[&str] = match kind {
            Kind::BeadAccepted => &["bead_id", "title"],
            Kind::Progress => &["bead_id", "step", "status"],
            Kind::HelpRequest => &["bead_id", "issue_type", "problem", "question"],
            Kind::HelpResponse => &["guidance"],
            Kind::OfferingAccepted | Kind::RetryRequired => &["bead_id"],
            Kind::Completed => &["bead_id", "commit_sha", "tests_pass", "lint_pass", "build_pass", "summary"],
            Kind::OfferingReady | Kind::Done => {
                &["bead_id", "status", "commit_sha", "tests_pass", "lint_pass", "build_pass", "summary"]
            }
            Kind::Failed => &["bead_id", "failure_type", "reason"],
            Kind::Checkpoint => &["bead_id", "checkpoint_reason", "partial_commit_sha", "progress", "next_steps"],
            Kind::SpawnRequest => &["issue_id", "resume", "orchestrator"],
            Kind::SpawnAck => &["issue_id", "status"],
        };
        assert_eq!(missing(kind.as_str(), ""), wanted, "{kind}");
    }
}

#[test]
fn a_value_that_its_rule_does_not_allow_is_told_with_what_stands_there() {
    let is_wrong = |subject, body, path: &str, found: &str| {
        assert!(wrong(subject, body).contains(&(path.into(), found.into())), "{subject}: {body}");
    };
    is_wrong("BEAD_ACCEPTED", "Starting implementation at: noon", "started_at", "noon");
    is_wrong("PROGRESS", "Context usage: 101%", "context_usage", "101%");
    is_wrong("PROGRESS", "Context usage: 4 5%", "context_usage", "4 5%");
    is_wrong("PROGRESS", "Bead: a\u{1b}b", "bead_id", "a\u{fffd}b");
    is_wrong("HELP_REQUEST", "Issue Type: lost", "issue_type", "lost");
    is_wrong("DONE", "Status: nearly", "status", "nearly");
    is_wrong("DONE", "## Self-Validation\n- Lint: PASSED", "lint_pass", "PASSED");
    is_wrong("FAILED", "Status: DONE", "status", "DONE");
    is_wrong("FAILED", "## Failure\nType: BAD\nInternal Attempts: ++3", "failure_type", "BAD");
    is_wrong("FAILED", "## Failure\nType: BAD\nInternal Attempts: ++3", "internal_attempts", "++3");
    is_wrong("CHECKPOINT", "Reason: tired", "checkpoint_reason", "tired");
    is_wrong("SPAWN_REQUEST", "Resume: maybe", "resume", "maybe");
    is_wrong("SPAWN_ACK", "Status: perhaps", "status", "perhaps");
}

#[test]
fn work_to_resume_needs_its_checkpoint() {
    assert_eq!(missing("SPAWN_REQUEST", "Issue: a-1\nResume: yes\nOrchestrator: o"), ["partial_commit_sha"]);
}

#[test]
fn a_bead_will_do_where_an_issue_is_asked_for() {
    assert!(missing("[a-1] SPAWN_ACK", "Status: failed").is_empty());
    assert_eq!(missing("SPAWN_ACK", "Bead: a-1"), ["status"]);
}

#[test]
fn a_subject_without_a_kind_is_told_and_a_slip_with_what_was_meant() {
    let problem = |subject| read(subject, "Bead: a-1").problems.remove(0);
    assert!(problem("hello").wanted.starts_with("BEAD_ACCEPTED | PROGRESS | "));
    assert_eq!(problem("Help request").to_string(), "subject: found 'Help request', wanted HELP_REQUEST");
    assert_eq!(problem(" ").found, None);
}

#[test]
fn the_text_of_a_help_response_does_not_repeat_its_bead() {
    let guidance = |body| {
        let response = read("HELP_RESPONSE", body).value;
        (response.bead_id().to_owned(), response.text("guidance").to_owned())
    };
    assert_eq!(guidance("\u{feff}\n**Bead:** a-1\r\n\r\nLook\r\nthere"), ("a-1".into(), "Look\nthere".into()));
    assert_eq!(guidance("Look\nBead: a-1"), ("a-1".into(), "Look\nBead: a-1".into()));
}

#[test]
fn a_section_of_several_lines_has_plain_line_feeds() {
    let body = "## Problem\r\none\r\n\r\ntwo\rthree\r\n## Question\r\nq\r\n";
    let request = read("HELP_REQUEST", body).value;
    assert_eq!((request.text("problem"), request.text("question")), ("one\n\ntwo\rthree", "q"));
}
