//! What is written is read back as the same message, whatever its values say.

use formats::markdown::{Field, Kind, Message, Written, block, files, line, read};
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

fn of(kind: Kind, fields: Vec<(&'static str, Option<Field>)>) -> Message {
    fields.into_iter().fold(Message::new(Some(kind)), |message, (name, field)| message.with(name, field))
}

fn said(text: impl Into<String>) -> Option<Field> {
    Some(Field::Text(text.into()))
}

fn usage() -> impl Strategy<Value = Option<Field>> {
    option::of((0..=100u64).prop_map(Field::Number))
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = Option<Field>> {
    select(words).prop_map(said)
}

fn reports() -> impl Strategy<Value = Message> {
    let times = &["", "2026-01-31T10:00:00Z", "2026-01-31T10:00:00.25+01:00"];
    let accepted = (id(), one_line(), one_of(times)).prop_map(|(bead, title, started_at)| {
        of(Kind::BeadAccepted, vec![("bead_id", said(bead)), ("title", said(title)), ("started_at", started_at)])
    });
    let progress =
        (id(), one_line(), one_line(), usage(), file_list()).prop_map(|(bead, step, status, usage, files)| {
            let fields = vec![("bead_id", said(bead)), ("step", said(step)), ("status", said(status))];
            let more = [("context_usage", usage), ("files_touched", Some(Field::List(files)))];
            of(Kind::Progress, fields.into_iter().chain(more).collect())
        });
    let issue_type = one_of(&["STUCK", "SPEC_UNCLEAR", "BLOCKED", "TECHNICAL"]);
    let request = (id(), issue_type, text(), maybe(text()), file_list(), text()).prop_map(
        |(bead, issue_type, problem, what_tried, files, question)| {
            let fields = vec![("bead_id", said(bead)), ("issue_type", issue_type), ("problem", said(problem))];
            let files = Some(Field::List(files));
            let more = [("what_tried", said(what_tried)), ("files_touched", files), ("question", said(question))];
            of(Kind::HelpRequest, fields.into_iter().chain(more).collect())
        },
    );
    let response = (id(), text()).prop_map(|(bead, guidance)| help(&bead, &guidance));
    prop_oneof![accepted, progress, request, response]
}

fn help(bead: &str, guidance: &str) -> Message {
    of(Kind::HelpResponse, vec![("bead_id", said(bead)), ("guidance", said(guidance))])
}

fn endings() -> impl Strategy<Value = Message> {
    let verdict = || any::<bool>().prop_map(|flag| Some(Field::Flag(flag)));
    let verdicts = (verdict(), verdict(), verdict());
    let kind = select(&[Kind::Done, Kind::OfferingReady][..]);
    let offering = (kind, id(), one_line(), file_list(), verdicts, text()).prop_map(
        |(kind, bead, commit, files, (tests, lint, build), summary)| {
            let fields = vec![("bead_id", said(bead)), ("status", said("DONE")), ("commit_sha", said(commit))];
            let verdicts = [("tests_pass", tests), ("lint_pass", lint), ("build_pass", build)];
            let more = [("files", Some(Field::List(files))), ("summary", said(summary))];
            of(kind, fields.into_iter().chain(verdicts).chain(more).collect())
        },
    );
    let failure_type = one_of(&["TESTS_FAIL", "CONTEXT_HIGH", "ERROR"]);
    let attempts = option::of(any::<u32>().prop_map(|count| Field::Number(count.into())));
    let failed = (id(), failure_type, one_line(), attempts, maybe(one_line()), file_list(), maybe(text())).prop_map(
        |(bead, failure_type, reason, attempts, commit, files, recommendation)| {
            let fields = vec![("bead_id", said(bead)), ("failure_type", failure_type), ("reason", said(reason))];
            let partial = [("partial_commit_sha", said(commit)), ("files", Some(Field::List(files)))];
            let more = [("internal_attempts", attempts), ("recommendation", said(recommendation))];
            of(Kind::Failed, fields.into_iter().chain(partial).chain(more).collect())
        },
    );
    let reason = one_of(&["CONTEXT_HIGH", "MANUAL", "TIMEOUT"]);
    let checkpoint = (id(), reason, one_line(), one_line(), usage(), text()).prop_map(
        |(bead, reason, commit, progress, usage, next_steps)| {
            let fields = vec![("bead_id", said(bead)), ("checkpoint_reason", reason), ("context_usage", usage)];
            let more =
                [("partial_commit_sha", said(commit)), ("progress", said(progress)), ("next_steps", said(next_steps))];
            of(Kind::Checkpoint, fields.into_iter().chain(more).collect())
        },
    );
    prop_oneof![offering, failed, checkpoint]
}

fn spawns() -> impl Strategy<Value = Message> {
    let request = (maybe(id()), id(), any::<bool>(), one_line(), one_line()).prop_map(
        |(bead, issue, resume, commit, orchestrator)| {
            let resume = resume.then_some(Field::Flag(true));
            let fields = vec![("bead_id", said(bead)), ("issue_id", said(issue)), ("resume", resume)];
            let more = [("partial_commit_sha", said(commit)), ("orchestrator", said(orchestrator))];
            of(Kind::SpawnRequest, fields.into_iter().chain(more).collect())
        },
    );
    let ack = (maybe(id()), id(), one_of(&["spawned", "failed"]), maybe(one_line())).prop_map(
        |(bead, issue, status, session)| {
            let fields = vec![("bead_id", said(bead)), ("issue_id", said(issue)), ("status", status)];
            of(Kind::SpawnAck, fields.into_iter().chain([("session", said(session))]).collect())
        },
    );
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
        kind in select(&Kind::ALL[..]), subject in nasty(), body in nasty()
    ) {
        let message = read(&format!("{kind} {subject}"), &body).value;
        let settled = read_back(&message.write());
        prop_assert_eq!(settled.kind(), message.kind());
        prop_assert_eq!(read_back(&settled.write()), settled);
    }
}

#[test]
fn a_message_is_written_as_the_protocol_shows_it() {
    let texts = [("bead_id", "ol-1"), ("status", "DONE"), ("commit_sha", "abc"), ("summary", "All\ngood.")];
    let fields = texts.into_iter().map(|(name, text)| (name, said(text))).collect();
    let done = of(Kind::Done, fields).with("files", Field::List(files(["a.rs, b.rs"])));
    let done = done.with("tests_pass", Field::Flag(true)).with("lint_pass", Field::Flag(false));
    let body = "Bead: ol-1\nStatus: DONE\n\n## Changes\n- Commit: abc\n- Files: a.rs, b.rs\n\n## Self-Validation\n\
                - Tests: PASS\n- Lint: FAIL\n\n## Summary\nAll\ngood.";
    assert_eq!(done.write(), Written { subject: "[ol-1] DONE".into(), body: body.into() });

    let written = help("ol-1", "Look there.").write();
    assert_eq!((written.subject.as_str(), written.body.as_str()), ("[ol-1] HELP_RESPONSE", "Look there."));
}

#[test]
fn an_id_that_the_subject_cannot_hold_stands_in_the_body_alone() {
    for bead_id in ["a]b", "FAILED", "help-request"] {
        let message = help(bead_id, "x");
        assert_eq!(message.write().subject, "HELP_RESPONSE");
        assert_eq!(read_back(&message.write()), message);
    }
}

#[test]
fn a_file_with_a_comma_in_its_name_is_read_back() {
    let files = Some(Field::List(vec!["a,b".to_owned(), "c".to_owned()]));
    let message = of(Kind::Failed, vec![("partial_commit_sha", said("c")), ("files", files.clone())]);
    assert_eq!(read_back(&message.write()), message);
    let message = of(Kind::Progress, vec![("step", said("s")), ("files_touched", files)]);
    assert_eq!(read_back(&message.write()), message);
}

#[test]
fn words_of_the_senders_own_and_messages_of_no_kind_are_read_back() {
    let message = of(Kind::HelpRequest, vec![("issue_type", said("LOST"))]);
    assert_eq!(read_back(&message.write()), message);
    let message = Message::new(None).with("bead_id", said("a b")).with("issue_id", said("c"));
    assert_eq!(read_back(&message.write()), message);
}
