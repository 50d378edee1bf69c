//! The sample is well-formed and whole: each typed message reads without a problem, and what is promised of it is there.

use std::collections::BTreeMap;
use std::time::Instant;

use formats::{Typed, secrets};
use mail::office::WorkRequest;

use super::*;
use crate::commands::demo::step::{Deed, filled as worded};
use crate::config::{Config, SettingsFile};

/// A text of a step; empty if it has none.
fn text<'s>(step: &'s Table, name: &str) -> &'s str {
    step.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The texts of a list in a step.
fn list<'s>(step: &'s Table, name: &str) -> impl Iterator<Item = &'s str> {
    step.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn messages(sample: &Sample) -> impl Iterator<Item = (&str, &Told)> {
    sample.steps().filter(|(_, told)| told.does("send") || told.does("reply"))
}

async fn filled() -> (tempfile::TempDir, LocalOffice) {
    let home = tempfile::tempdir().unwrap();
    let config = Config { home: home.path().to_owned(), source: None, file: SettingsFile::default() };
    let local = LocalOffice::open(&config).await.unwrap();
    Sample::read().unwrap().fill(&local).await.unwrap();
    (home, local)
}

#[test]
fn every_typed_message_reads_without_a_problem_and_all_kinds_are_there() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, told) in messages(&Sample::read().unwrap()) {
        let words = words_at(Timestamp::now(), "a seed");
        let (subject, body) = (text(&told.step, "subject"), worded(text(&told.step, "body_md").trim(), &words));
        assert!(!body.contains("{{") && !subject.contains("{{"), "{subject}: {body}");
        assert!(secrets::find(&body).is_empty(), "{subject}");
        let typed = Typed::read(subject, &body);
        let Some(kind) = typed.value.kind() else {
            assert!(!body.starts_with('{'), "{subject} looks like JSON and is none");
            continue;
        };
        assert_eq!(typed.problems, [], "{subject}");
        *kinds.entry(kind.as_str()).or_default() += 1;
    }
    assert_eq!(kinds.len(), 16, "ten kinds of Markdown and six of JSON: {kinds:?}");
}

#[test]
fn whoever_is_spoken_of_is_there_and_nobody_answers_what_was_not_said() {
    let sample = Sample::read().unwrap();
    let members = sample.members();
    for (project, told) in messages(&sample) {
        let step = &told.step;
        let named =
            ["to", "cc", "bcc"].into_iter().flat_map(|name| list(step, name)).chain([text(step, "sender_name")]);
        for name in named.filter(|name| *name != "all" && !name.starts_with('#')) {
            assert!(members[project].iter().any(|member| member == name), "{name}");
        }
        let label = text(step, "answers");
        let answered = messages(&sample).find(|(_, one)| !label.is_empty() && text(&one.step, "label") == label);
        assert_eq!(answered.is_some(), told.does("reply"), "{step}");
        assert!(answered.is_none_or(|(_, answered)| answered.ago > told.ago), "{step}");
        assert!(step.contains_key("subject") || answered.is_some(), "{step}");
    }
}

#[test]
fn every_step_has_all_that_its_request_has_and_no_more() {
    for (project, told) in Sample::read().unwrap().steps() {
        let labels = Labels::from([(text(&told.step, "answers").to_owned(), 1)]);
        let step = Step::read(&told.step, project, &Phrases::new(), &labels).unwrap();
        let known: &[&str] = match step.deed {
            Deed::Join(_) => &["name", "program", "model", "task_description"],
            Deed::Send(_) => &["to", "cc", "bcc", "sender_name", "subject", "body_md", "thread_id", "importance"],
            Deed::Reply(_) => &["to", "cc", "sender_name", "subject", "body_md", "importance", "answers"],
            Deed::Is(_) => &["agent_name", "state", "substate", "channel"],
            _ => &["agent_name", "paths", "ttl_seconds", "exclusive", "wait_seconds", "reason"],
        };
        let around = ["do", "ack_required", "label", "unread", "acked", "archived"];
        let unknown = told.step.keys().find(|key| !known.contains(&key.as_str()) && !around.contains(&key.as_str()));
        assert_eq!(unknown, None, "{}", told.step);
    }
}

#[tokio::test]
async fn the_board_shows_work_in_every_state_and_a_question_that_is_overdue() {
    let (_home, local) = filled().await;
    let request = WorkRequest { project_key: MAIN, state: None, agent: None, before: None, limit: 100 };
    let items = local.office.work(request).await.unwrap().items;
    let states: BTreeMap<&str, &str> = items.iter().map(|item| (item.id.as_str(), item.state.name())).collect();
    for (work, state) in [
        ("ws-21", "done"),
        ("ws-23", "failed"),
        ("ws-26", "in_progress"),
        ("ws-29", "done"),
        ("ws-30", "checkpointed"),
        ("ws-31", "in_progress"),
        ("ws-33", "help_wanted"),
        ("ws-34", "assigned"),
        ("ws-35", "accepted"),
        ("ws-36", "spawn_requested"),
        ("ws-37", "spawned"),
    ] {
        assert_eq!(states.get(work), Some(&state), "{work}");
    }
    let overdue = local.office.work(WorkRequest { state: Some("overdue"), ..request }).await.unwrap().items;
    assert_eq!(overdue.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["ws-33"]);
    assert!(items.iter().filter(|item| !item.open_acks.is_empty()).count() >= 3);
}

#[tokio::test]
async fn somebody_is_awake_working_idle_silent_or_gone() {
    let (_home, local) = filled().await;
    let (_, present) = local.office.present(MAIN, None, 100).await.unwrap();
    let shown: BTreeMap<&str, String> =
        present.iter().map(|one| (one.agent.name.as_str(), one.shown(Timestamp::now()))).collect();
    let wanted = [
        ("AmberHeron", "OFFLINE"),
        ("BlueLake", "AWAKE/WORKING"),
        ("GreenDog", "AWAKE/WORKING"),
        ("JadeRiver", "STALE/WORKING"),
        ("Orchestrator", "AWAKE/WORKING"),
        ("RedFox", "AWAKE/IDLE"),
        ("Reviewer", "AWAKE/IDLE"),
        ("postrider", "OFFLINE (no presence file)"),
    ];
    assert_eq!(shown, wanted.map(|(name, state)| (name, state.to_owned())).into());
    let (_, reservations) = local.office.reservations(MAIN, None, 100).await.unwrap();
    assert_eq!(reservations.len(), 10, "{reservations:?}");
}

#[tokio::test]
async fn mail_is_of_the_last_two_days_and_is_there_at_once() {
    let begun = Instant::now();
    let (_home, local) = filled().await;
    // Two seconds where nobody else works; a machine that runs all tests at once may take longer.
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    let count = local.office.count_open(MAIN, None).await.unwrap();
    assert!(count.unread >= 10 && count.total > 2 * count.unread, "{count:?}");
}
