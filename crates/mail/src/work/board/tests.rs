//! What the board makes of the words about one piece of work.

use formats::Typed;

use super::super::{Checkpoint, Failure, WorkOutcome};
use super::*;
use crate::clock::from_micros;
use crate::ids::ProjectId;
use crate::messages::{Importance, Vouched};

const ASKS: &str = "Bead: a-1\nIssue Type: STUCK\n\n## Problem\nNo module.\n\n## Question\nWhere is it?";

/// The item after these words, each `(from, subject, body)`.
fn item(words: &[(&str, &str, &str)]) -> WorkItem {
    let words: Vec<Message> =
        (1..).zip(words).map(|(id, (from, subject, body))| word(id, from, subject, body)).collect();
    record(&words)
}

fn record(words: &[Message]) -> WorkItem {
    let newest = words.last().map_or(MessageId(0), |word| word.id);
    item_of(WorkRecord { id: "a-1".into(), newest, words: words.to_vec(), open_acks: vec![] })
}

fn state(words: &[(&str, &str, &str)]) -> State {
    item(words).state
}

fn word(id: i64, from: &str, subject: &str, body: &str) -> Message {
    Message {
        id: MessageId(id),
        project: ProjectId(1),
        from: from.into(),
        to: vec!["worker".into(), "w".into()],
        cc: vec![],
        subject: subject.into(),
        body: body.into(),
        thread: "a-1".into(),
        reply_to: None,
        importance: Importance::Normal,
        ack_required: false,
        kind: Typed::read(subject, body).value.kind(),
        work_id: Some("a-1".into()),
        door: "mcp".into(),
        vouched: Vouched::Claimed,
        created_at: from_micros(id),
        problems: vec![],
    }
}

#[test]
fn the_last_word_counts() {
    let accepted = ("w", "BEAD_ACCEPTED", "Accepted bead: a-1\nTitle: Parser");
    let progress = ("w", "PROGRESS", "Bead: a-1\nStep: 2\nStatus: busy\nContext usage: 45%");
    let done =
        ("w", "DONE", "Bead: a-1\n\n## Changes\n- Commit: abc\n\n## Self-Validation\n- Tests: PASS\n- Lint: FAIL");
    assert_eq!(state(&[accepted]), State::Accepted);
    let at =
        Progress { percent: None, step: "2".into(), status: "busy".into(), context_usage: Some(45), expected_at: None };
    assert_eq!(state(&[accepted, progress]), State::InProgress(at));
    let item = item(&[accepted, progress, done]);
    let outcome = WorkOutcome { commit: "abc".into(), tests: Some(true), lint: Some(false), ..WorkOutcome::default() };
    assert_eq!(item.state, State::Done(outcome));
    assert_eq!((item.title.as_str(), item.agent.as_str(), item.changed_by), ("Parser", "w", MessageId(3)));
    assert_eq!(item.changed_at, from_micros(3));
}

#[test]
fn an_offering_is_done_and_waits_for_a_review() {
    let offered = |subject| match state(&[("w", subject, "Bead: a-1")]) {
        State::Done(outcome) => outcome.offered,
        other => panic!("{other:?}"),
    };
    assert!(offered("OFFERING_READY") && !offered("DONE"));
}

#[test]
fn an_accepted_offering_waits_for_nobody() {
    let ready = ("w", "OFFERING_READY", "Bead: a-1\n\n## Changes\n- Commit: abc\n\n## Summary\nA parser.");
    let accepted = |from| (from, "OFFERING_ACCEPTED", "Issue a-1 closed.\nCommit: def");
    let item = item(&[ready, accepted("boss")]);
    let outcome = WorkOutcome { commit: "abc".into(), summary: "A parser.".into(), ..WorkOutcome::default() };
    assert_eq!((item.state, item.agent.as_str(), item.changed_by), (State::Done(outcome), "w", MessageId(2)));
    let State::Done(outcome) = state(&[ready, accepted("w")]) else { panic!() };
    assert!(outcome.offered, "nobody accepts its own work");
    let unheard = state(&[("w", "PROGRESS", "Bead: a-1"), accepted("boss")]);
    assert_eq!(unheard, State::Done(WorkOutcome { commit: "def".into(), ..WorkOutcome::default() }));
}

#[test]
fn work_that_is_sent_back_is_its_workers_again() {
    let taken = ("w", "BEAD_ACCEPTED", "Accepted bead: a-1\nTitle: Parser");
    let (ready, back) = (("w", "OFFERING_READY", "Bead: a-1"), ("boss", "RETRY_REQUIRED", "Reason: two tests"));
    let item = item(&[taken, ready, back]);
    assert_eq!((item.state, item.agent.as_str(), item.title.as_str()), (State::Assigned, "w", "Parser"));
    assert_eq!(item.changed_by, MessageId(3));
    let asks = ("w", "HELP_REQUEST", ASKS);
    assert_eq!(state(&[taken, asks, back]), State::Assigned, "no question outlives it");
    assert_eq!(state(&[taken, ready, back, ("w", "PROGRESS", "Step: 2")]).name(), "in_progress");
    let accepted = ("boss", "OFFERING_ACCEPTED", "");
    assert_eq!(state(&[taken, ready, back, ready, accepted]), State::Done(WorkOutcome::default()));
}

#[test]
fn work_that_is_sent_to_others_is_theirs() {
    let words = |to: &str| {
        let back = Message { to: vec![to.into()], ..word(2, "boss", "RETRY_REQUIRED", "Reason: two tests") };
        [word(1, "w", "DONE", "Bead: a-1"), back]
    };
    assert_eq!((record(&words("w2")).agent, record(&words("w")).agent), ("w2".into(), "w".into()));
    let own = [word(1, "w", "DONE", "Bead: a-1"), Message { from: "w".into(), ..words("boss")[1].clone() }];
    assert_eq!(record(&own).agent, "w", "who sends its own work back keeps it");
}

#[test]
fn completed_is_another_word_for_done() {
    let body = "Bead: a-1\n\n## Changes\n- Commit: abc\n\n## Self-Validation\n- Tests: PASS";
    let [done, completed] = ["DONE", "COMPLETED"].map(|subject| state(&[("w", subject, body)]));
    assert_eq!(done, completed);
    assert_eq!(state(&[("w", "HELP_REQUEST", ASKS), ("w", "COMPLETED", body)]), done);
}

#[test]
fn a_question_is_open_until_somebody_else_answers() {
    let asks = ("w", "HELP_REQUEST", ASKS);
    let State::HelpWanted(question) = state(&[asks]) else { panic!() };
    assert_eq!((question.message, question.asked_by.as_str(), question.issue.as_str()), (MessageId(1), "w", "STUCK"));
    assert_eq!((question.problem.as_str(), question.question.as_str()), ("No module.", "Where is it?"));
    let answer = |from| (from, "HELP_RESPONSE", "In lib.");
    assert_eq!(state(&[asks, answer("w")]).name(), "help_wanted", "nobody answers itself");
    assert_eq!(state(&[asks, answer("chiron")]).name(), "in_progress");
    assert_eq!(state(&[asks, answer("chiron"), asks]).name(), "help_wanted", "asked again");
}

#[test]
fn an_answer_gives_back_the_state_from_before() {
    let progress = ("w", "PROGRESS", "Bead: a-1\nStep: 2");
    let (asks, answer) = (("w", "HELP_REQUEST", ASKS), ("chiron", "HELP_RESPONSE", "In lib."));
    let item = item(&[progress, asks, answer]);
    assert_eq!(item.state, State::InProgress(Progress { step: "2".into(), ..Progress::default() }));
    assert_eq!((item.agent.as_str(), item.changed_by), ("w", MessageId(3)), "who answers is not on the work");
}

#[test]
fn going_on_answers_no_question_and_an_end_settles_it() {
    let asks = ("w", "HELP_REQUEST", ASKS);
    assert_eq!(state(&[asks, ("w", "PROGRESS", "Step: 3")]).name(), "help_wanted");
    for (end, name) in [("DONE", "done"), ("FAILED", "failed"), ("CHECKPOINT", "checkpointed")] {
        assert_eq!(state(&[asks, ("w", end, "Bead: a-1")]).name(), name);
    }
    assert_eq!(state(&[asks, ("boss", "SPAWN_REQUEST", "Issue: a-1")]).name(), "spawn_requested");
}

#[test]
fn a_failure_and_a_checkpoint_tell_why_and_what_next() {
    let failed = "Bead: a-1\n\n## Failure\nType: TESTS_FAIL\nReason: two of ten\n\n## Recommendation\nPin the clock.";
    let State::Failed(failure) = state(&[("w", "FAILED", failed)]) else { panic!() };
    assert_eq!((failure.failure_type.as_str(), failure.reason.as_str()), ("TESTS_FAIL", "two of ten"));
    assert_eq!(failure.recommendation, "Pin the clock.");
    let left = "Bead: a-1\nReason: CONTEXT_HIGH\n\n## Progress\n- Commit: abc\n- Description: half\n\n\
                ## Next Steps for Successor\n1. The rest";
    let State::Checkpointed(left) = state(&[("w", "CHECKPOINT", left)]) else { panic!() };
    assert_eq!((left.reason.as_str(), left.commit.as_str()), ("CONTEXT_HIGH", "abc"));
    assert_eq!((left.progress.as_str(), left.next_steps.as_str()), ("half", "1. The rest"));
}

#[test]
fn a_worker_is_wanted_started_or_could_not_be() {
    let wish = ("boss", "SPAWN_REQUEST", "Issue: a-1\nResume: true\nCheckpoint: abc\nOrchestrator: boss");
    let wanted = State::SpawnRequested { orchestrator: "boss".into(), from_commit: "abc".into() };
    assert_eq!(state(&[wish]), wanted);
    let ack = |status| ("spawner", "SPAWN_ACK", status);
    let spawned = ack("Issue: a-1\nStatus: spawned\nSession: s-1");
    assert_eq!(state(&[wish, spawned]), State::Spawned { session: "s-1".into() });
    assert_eq!(state(&[wish, ack("Issue: a-1\nStatus: failed")]).name(), "failed");
    assert_eq!(item(&[wish, spawned]).agent, "", "neither of them is on the work");
}

#[test]
fn a_successor_takes_over() {
    let left = ("w1", "CHECKPOINT", "Bead: a-1\nReason: TIMEOUT");
    let item = item(&[left, ("w2", "BEAD_ACCEPTED", "Accepted bead: a-1")]);
    assert_eq!((item.state, item.agent.as_str()), (State::Accepted, "w2"));
}

#[test]
fn json_tells_the_same() {
    let task = r#"{"type":"task_assignment","task_id":"a-1","description":"Parser"}"#;
    let assigned = item(&[("boss", "x", task)]);
    assert_eq!(
        (assigned.state, assigned.agent.as_str(), assigned.title.as_str()),
        (State::Assigned, "worker", "Parser")
    );
    let update = r#"{"type":"status_update","update_type":"progress","status_summary":"s","progress":{"percentage":70,"current_step":"c"}}"#;
    let at =
        Progress { percent: Some(70.0), step: "c".into(), status: "s".into(), context_usage: None, expected_at: None };
    assert_eq!(state(&[("w", "x", update)]), State::InProgress(at));
    let blocked = r#"{"type":"status_update","update_type":"blocker","status_summary":"s","blockers":["b"]}"#;
    let State::HelpWanted(question) = state(&[("w", "x", blocked)]) else { panic!() };
    assert_eq!((question.problem.as_str(), question.question.as_str()), ("s", "b"));
    let free = r#"{"type":"status_update","update_type":"unblocker","status_summary":"s"}"#;
    assert_eq!(state(&[("w", "x", blocked), ("w", "x", free)]).name(), "in_progress");
}

#[test]
fn json_of_another_major_version_says_nothing_to_the_board() {
    let done = |version: &str| {
        format!(r#"{{"type":"task_completion","task_id":"t","version":"{version}","status":"complete"}}"#)
    };
    let state_of = |version: &str| state(&[("bob", "t", &done(version))]);
    assert!(matches!(state_of("1.7.0"), State::Done(_)));
    assert!(matches!(state_of("oops"), State::Done(_)), "a fault of form is read over");
    for other in ["2.0.0", "0.9.0"] {
        assert_eq!(state_of(other), State::Mentioned, "{other}");
    }
}

#[test]
fn json_completions_and_errors_count_by_what_they_say() {
    let completion = |status: &str, failed: u8| {
        format!(
            r#"{{"type":"task_completion","status":"{status}","test_results":{{"unit_tests":{{"failed":{failed}}}}}}}"#
        )
    };
    let done = |body: &str| match state(&[("w", "x", body)]) {
        State::Done(outcome) => outcome.tests,
        other => panic!("{other:?}"),
    };
    assert_eq!((done(&completion("complete", 0)), done(&completion("complete", 1))), (Some(true), Some(false)));
    assert_eq!(done(r#"{"type":"task_completion","status":"complete"}"#), None);
    assert_eq!(state(&[("w", "x", &completion("partial", 0))]).name(), "checkpointed");
    assert_eq!(state(&[("w", "x", &completion("blocked", 0))]).name(), "help_wanted");
    let error = |severity: &str| format!(r#"{{"type":"error_report","severity":"{severity}","error":{{"code":"E"}}}}"#);
    assert_eq!(state(&[("w", "x", &error("blocking"))]).name(), "help_wanted");
    assert_eq!(state(&[("w", "x", &error("low"))]), State::Mentioned, "a small error is no state");
    assert_eq!(state(&[("w", "x", &error("high")), ("w", "x", &error("low"))]).name(), "help_wanted");
    assert_eq!(state(&[("w", "x", &completion("failed", 0))]), State::Mentioned, "no word of the format");
}

#[test]
fn what_says_nothing_about_the_state_changes_nothing() {
    let files = ("w", "x", r#"{"type":"file_reservation","task_id":"a-1"}"#);
    assert_eq!((state(&[files]), state(&[])), (State::Mentioned, State::Mentioned));
    assert_eq!(state(&[("chiron", "HELP_RESPONSE", "In lib.")]), State::Mentioned);
    let item = item(&[("w", "DONE", "Bead: a-1"), files]);
    assert_eq!((item.state.name(), item.changed_by), ("done", MessageId(1)));
}

#[test]
fn each_who_asks_waits_for_an_answer_of_its_own() {
    let to = |name: &str, word: Message| Message { to: vec![name.into()], ..word };
    let first = word(1, "w1", "HELP_REQUEST", ASKS);
    let second = word(2, "w2", "HELP_REQUEST", ASKS);
    let asked_by = |words: &[Message]| match record(words).state {
        State::HelpWanted(question) => question.asked_by,
        other => other.name().to_owned(),
    };
    let both = [first.clone(), second.clone()];
    assert_eq!(asked_by(&both), "w1", "who has waited longest");
    let answer = to("w1", word(3, "chiron", "HELP_RESPONSE", "In lib."));
    assert_eq!(asked_by(&[first.clone(), second.clone(), answer]), "w2");
    let other = to("boss", word(3, "chiron", "HELP_RESPONSE", "I told w1."));
    assert_eq!(asked_by(&[first.clone(), other.clone()]), "w1", "it is written to somebody else");
    let reply = Message { reply_to: Some(MessageId(2)), ..to("w1", other) };
    assert_eq!(asked_by(&[first, second, reply]), "w1", "it answers the other question");
}

#[test]
fn asking_again_makes_a_question_no_younger() {
    let words = [word(1, "w", "HELP_REQUEST", ASKS), word(2, "w", "HELP_REQUEST", "## Question\nStill: where?")];
    let State::HelpWanted(question) = record(&words).state else { panic!() };
    assert_eq!((question.asked_at, question.message), (from_micros(1), MessageId(2)));
    assert_eq!(question.question, "Still: where?");
    let reply = Message { reply_to: Some(MessageId(1)), ..word(3, "chiron", "HELP_RESPONSE", "In lib.") };
    let words = [words[0].clone(), words[1].clone(), reply, word(4, "w", "HELP_REQUEST", ASKS)];
    let State::HelpWanted(question) = record(&words).state else { panic!() };
    assert_eq!(question.asked_at, from_micros(4), "the first was answered");
}

#[test]
fn a_worker_is_started_only_if_that_is_said() {
    let ack = |status: &str| state(&[("s", "SPAWN_ACK", &format!("Issue: a-1\nStatus: {status}"))]).name();
    assert_eq!((ack("spawned"), ack("Spawned"), ack("FAILED")), ("spawned", "spawned", "failed"));
    assert_eq!((ack("queued"), ack("")), ("mentioned", "mentioned"));
}

#[test]
fn long_texts_are_cut_in_a_list() {
    let body = format!("Step: {}\nStatus: {}", "x".repeat(500), "é".repeat(501));
    let State::InProgress(at) = item(&[("w", "PROGRESS", &body)]).cut().state else { panic!() };
    assert_eq!((at.step, at.status), ("x".repeat(500), format!("{}…", "é".repeat(500))));
}

#[test]
fn every_state_has_a_name_in_the_list() {
    let states = [
        State::Mentioned,
        State::Assigned,
        State::Accepted,
        State::InProgress(Progress::default()),
        State::Done(WorkOutcome::default()),
        State::Failed(Failure::default()),
        State::Checkpointed(Checkpoint::default()),
        State::SpawnRequested { orchestrator: String::new(), from_commit: String::new() },
        State::Spawned { session: String::new() },
        state(&[("w", "HELP_REQUEST", ASKS)]),
    ];
    let mut names: Vec<&str> = states.iter().map(State::name).collect();
    names.sort_by_key(|name| State::NAMES.iter().position(|known| known == name));
    assert_eq!(names, State::NAMES);
}
