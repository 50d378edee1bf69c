//! What is written is read back as the same message, whatever its values say.

use formats::markdown::{
    BeadAccepted, Checkpoint, CheckpointReason, Failed, FailureType, HelpRequest, HelpResponse, IssueType, Message,
    Offering, Progress, SpawnAck, SpawnRequest, SpawnStatus, Unknown, Written, block, files, line, read,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Pieces of text that mean something to the reader.
const PIECES: [&str; 70] = [
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\r\r\n",
    " ",
    "   ",
    "\t",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\0",
    "## ",
    "### ",
    "#",
    "##",
    "  ## Question",
    "### What I Tried so far",
    "#### Progress",
    "## Summary",
    "## Next Steps",
    "```",
    "````",
    "~~~",
    "``` sh",
    "> ",
    "- ",
    "* ",
    "-",
    "**",
    "\\",
    "[",
    "]",
    "[a-1] ",
    ",",
    ":",
    "Re: ",
    "Bead: b-2",
    "Accepted bead: b-3",
    "**Bead:** b-4",
    "*Bead:* b-6",
    "_",
    "*",
    "1. ",
    "• ",
    "    ",
    "+5%",
    "/",
    "Step: s",
    "Status: FAILED",
    "Issue: b-5",
    "Issue Type: BLOCKED",
    "Reason: r",
    "Type: ERROR",
    "Commit: c",
    "Files: f",
    "Files touched: g",
    "Tests: PASS",
    "Context usage: 5%",
    "Resume: true",
    "DONE",
    "HELP-REQUEST",
    "a",
    "b-1",
    "é",
    "漢字",
    "K",
];

fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![8 => select(&PIECES[..]).prop_map(String::from), 1 => any::<char>().prop_map(String::from)];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn one_line() -> impl Strategy<Value = String> {
    nasty().prop_map(|text| line(&text)).prop_filter("a value", |text| !text.is_empty())
}

fn text() -> impl Strategy<Value = String> {
    nasty().prop_map(|text| block(&text)).prop_filter("a value", |text| !text.is_empty())
}

fn maybe<T: Strategy<Value = String>>(text: T) -> impl Strategy<Value = String> {
    option::of(text).prop_map(Option::unwrap_or_default)
}

fn file_list() -> impl Strategy<Value = Vec<String>> {
    vec(nasty(), 0..4).prop_map(files)
}

fn id() -> impl Strategy<Value = String> {
    one_line().prop_map(|text| line(&text.replace(char::is_control, "-"))).prop_filter("an id", |id| id.len() <= 256)
}

fn usage() -> impl Strategy<Value = Option<u8>> {
    option::of(0..=100u8)
}

fn started_at() -> impl Strategy<Value = String> {
    select(&["", "2026-01-31T10:00:00Z", "2026-01-31T10:00:00.25+01:00"][..]).prop_map(String::from)
}

fn reports() -> impl Strategy<Value = Message> {
    let accepted = (id(), one_line(), started_at())
        .prop_map(|(bead_id, title, started_at)| Message::BeadAccepted(BeadAccepted { bead_id, title, started_at }));
    let progress = (id(), one_line(), one_line(), usage(), file_list()).prop_map(
        |(bead_id, step, status, context_usage, files_touched)| {
            Message::Progress(Progress { bead_id, step, status, context_usage, files_touched })
        },
    );
    let issue_type = select(vec![IssueType::Stuck, IssueType::SpecUnclear, IssueType::Blocked, IssueType::Technical]);
    let request = (id(), issue_type, text(), maybe(text()), file_list(), text()).prop_map(
        |(bead_id, issue_type, problem, what_tried, files_touched, question)| {
            let issue_type = Some(issue_type);
            Message::HelpRequest(HelpRequest { bead_id, issue_type, problem, what_tried, files_touched, question })
        },
    );
    let response =
        (id(), text()).prop_map(|(bead_id, guidance)| Message::HelpResponse(HelpResponse { bead_id, guidance }));
    prop_oneof![accepted, progress, request, response]
}

fn endings() -> impl Strategy<Value = Message> {
    let verdicts = (any::<bool>(), any::<bool>(), any::<bool>());
    let offering = (id(), one_line(), file_list(), verdicts, text(), any::<bool>()).prop_map(
        |(bead_id, commit_sha, files, (tests, lint, build), summary, is_done)| {
            let (status, tests, lint, build) = ("DONE".into(), Some(tests), Some(lint), Some(build));
            let offering = Offering { bead_id, status, commit_sha, files, tests, lint, build, summary };
            if is_done { Message::Done(offering) } else { Message::OfferingReady(offering) }
        },
    );
    let failure_type = select(vec![FailureType::TestsFail, FailureType::ContextHigh, FailureType::Error]);
    let failed =
        (id(), failure_type, one_line(), option::of(any::<u32>()), maybe(one_line()), file_list(), maybe(text()))
            .prop_map(
                |(bead_id, failure_type, reason, internal_attempts, partial_commit_sha, files, recommendation)| {
                    let failure_type = Some(failure_type);
                    Message::Failed(Failed {
                        bead_id,
                        failure_type,
                        reason,
                        internal_attempts,
                        partial_commit_sha,
                        files,
                        recommendation,
                    })
                },
            );
    let reason = select(vec![CheckpointReason::ContextHigh, CheckpointReason::Manual, CheckpointReason::Timeout]);
    let checkpoint = (id(), reason, one_line(), one_line(), usage(), text()).prop_map(
        |(bead_id, reason, partial_commit_sha, progress, context_usage, next_steps)| {
            let reason = Some(reason);
            Message::Checkpoint(Checkpoint { bead_id, reason, partial_commit_sha, progress, context_usage, next_steps })
        },
    );
    prop_oneof![offering, failed, checkpoint]
}

fn spawns() -> impl Strategy<Value = Message> {
    let request = (maybe(id()), id(), any::<bool>(), one_line(), one_line()).prop_map(
        |(bead_id, issue_id, resume, partial_commit_sha, orchestrator)| {
            Message::SpawnRequest(SpawnRequest { bead_id, issue_id, resume, partial_commit_sha, orchestrator })
        },
    );
    let status = select(vec![SpawnStatus::Spawned, SpawnStatus::Failed]);
    let ack = (maybe(id()), id(), status, maybe(one_line())).prop_map(|(bead_id, issue_id, status, session)| {
        Message::SpawnAck(SpawnAck { bead_id, issue_id, status: Some(status), session })
    });
    prop_oneof![request, ack]
}

fn well_formed() -> impl Strategy<Value = Message> {
    prop_oneof![4 => reports(), 3 => endings(), 2 => spawns()]
}

fn read_back(written: &Written) -> Message {
    read(&written.subject, &written.body).value
}

/// A longer run asks for more by the environment.
fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { usual } else { ProptestConfig { cases: 2_000, ..usual } }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_well_formed_message_is_read_back_as_it_was_and_without_a_problem(message in well_formed()) {
        let written = message.write();
        let parsed = read(&written.subject, &written.body);
        prop_assert_eq!(parsed.strict(), Ok(message), "{:?}", written);
    }

    #[test]
    fn the_normal_form_of_a_value_is_its_own(text in nasty()) {
        prop_assert_eq!(line(&line(&text)), line(&text));
        prop_assert_eq!(block(&block(&text)), block(&text));
        prop_assert_eq!(files(files([&text])), files([&text]));
    }

    /// Reading can find in one line of a text what it also keeps as part of a longer value, and writing closes fences
    /// and escapes headings: so one round may change a message, but a second one changes nothing.
    #[test]
    fn what_was_read_from_any_text_is_settled_once_it_was_written(
        kind in select(&formats::markdown::Kind::ALL[..]), subject in nasty(), body in nasty()
    ) {
        let message = read(&format!("{kind} {subject}"), &body).value;
        let settled = read_back(&message.write());
        prop_assert_eq!(settled.kind(), message.kind());
        prop_assert_eq!(read_back(&settled.write()), settled);
    }
}

#[test]
fn a_message_is_written_as_the_protocol_shows_it() {
    let done = Offering {
        bead_id: "ol-1".into(),
        status: "DONE".into(),
        commit_sha: "abc".into(),
        files: files(["a.rs, b.rs"]),
        tests: Some(true),
        lint: Some(false),
        build: None,
        summary: "All\ngood.".into(),
    };
    let body = "Bead: ol-1\nStatus: DONE\n\n## Changes\n- Commit: abc\n- Files: a.rs, b.rs\n\n## Self-Validation\n\
                - Tests: PASS\n- Lint: FAIL\n\n## Summary\nAll\ngood.";
    assert_eq!(Message::Done(done).write(), Written { subject: "[ol-1] DONE".into(), body: body.into() });

    let response = HelpResponse { bead_id: "ol-1".into(), guidance: "Look there.".into() };
    let written = Message::HelpResponse(response).write();
    assert_eq!((written.subject.as_str(), written.body.as_str()), ("[ol-1] HELP_RESPONSE", "Look there."));
}

#[test]
fn an_id_that_the_subject_cannot_hold_stands_in_the_body_alone() {
    for bead_id in ["a]b", "FAILED", "help-request"] {
        let message = Message::HelpResponse(HelpResponse { bead_id: bead_id.into(), guidance: "x".into() });
        assert_eq!(message.write().subject, "HELP_RESPONSE");
        assert_eq!(read_back(&message.write()), message);
    }
}

#[test]
fn a_file_with_a_comma_in_its_name_is_read_back() {
    let files = vec!["a,b".to_owned(), "c".to_owned()];
    let message = Message::Failed(Failed { partial_commit_sha: "c".into(), files: files.clone(), ..Failed::default() });
    assert_eq!(read_back(&message.write()), message);
    let message = Message::Progress(Progress { step: "s".into(), files_touched: files, ..Progress::default() });
    assert_eq!(read_back(&message.write()), message);
}

#[test]
fn words_of_the_senders_own_and_messages_of_no_kind_are_read_back() {
    let issue_type = Some(IssueType::read("lost"));
    let message = Message::HelpRequest(HelpRequest { issue_type, ..HelpRequest::default() });
    assert_eq!(read_back(&message.write()), message);
    let message = Message::Unknown(Unknown { bead_id: "a b".into(), issue_id: "c".into() });
    assert_eq!(read_back(&message.write()), message);
}
