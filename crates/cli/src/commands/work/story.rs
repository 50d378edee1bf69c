//! One item in full, and its story: a line for every message about it. Bodies are not shown.

use api::answers::{StoryAnswer, WorkAnswer};
use jiff::Timestamp;
use mail::agents::signed;
use mail::messages::Vouched;

use super::Story;
use super::board::{percent, state_name, style_of};
use crate::commands::mail::ago::{age, at};
use crate::output::Screen;
use crate::output::grid::{Cell, Layout};
use crate::output::text;

/// How wide the names of details are at least.
const LABEL: usize = 14;

const TABLE: Layout<4> = Layout {
    columns: [("TIME", 20), ("FROM → TO", 50), ("KIND", 24), ("WHAT", 400)],
    // Who gives way where there is no room, and how far: what, the names, the kind, and the first two once more. Fifty
    // columns are enough.
    giving: &[(3, 16), (1, 12), (2, 6), (3, 10), (1, 8)],
};

/// The item and its story, for people.
pub fn text(Story { item, story, has_more, .. }: &Story, now: Timestamp, screen: &Screen) -> String {
    let mut lines = head(item, screen);
    lines.push(String::new());
    for (label, value) in details(item, now) {
        push_detail(&mut lines, label, &value);
    }
    lines.push(String::new());
    lines.extend(TABLE.lines(story.iter().map(row), screen));
    if *has_more {
        lines.push("… and more".to_owned());
    }
    lines.join("\n")
}

fn head(item: &WorkAnswer, screen: &Screen) -> Vec<String> {
    let state = screen.paint(&text::unbroken(&state_name(&item.state)), style_of(item));
    let mut first = format!("{}: {state}", text::unbroken(&item.work_id));
    if !item.agent.is_empty() {
        first.push_str(&format!(", {}", text::unbroken(&item.agent)));
    }
    let title = text::unbroken(&item.title);
    [first, title].into_iter().filter(|line| !line.is_empty()).collect()
}

/// What the state says more, the help that is wanted among it, in the order in which people ask.
fn details(item: &WorkAnswer, now: Timestamp) -> Vec<(&'static str, String)> {
    let detail = &item.detail;
    let check = |passed: Option<bool>| passed.map(|passed| if passed { "pass" } else { "FAIL" }.to_owned());
    let mut details = vec![
        ("percent", percent(detail.percent)),
        ("step", detail.step.clone()),
        ("status", detail.status.clone()),
        ("context", percent(detail.context_usage.map(f64::from))),
        ("expected", detail.estimated_completion_ts.as_ref().map(|time| at(time.0)).unwrap_or_default()),
    ];
    if let Some(help) = &detail.help {
        details.extend([
            ("overdue", yes(help.overdue)),
            ("asked", at(help.asked_ts.0)),
            ("asked by", help.from.clone()),
            ("issue type", help.issue_type.clone()),
            ("problem", help.problem.clone()),
            ("question", help.question.clone()),
        ]);
    }
    details.extend([
        ("failure type", detail.failure_type.clone()),
        ("reason", detail.reason.clone()),
        ("recommendation", detail.recommendation.clone()),
        ("progress", detail.progress.clone()),
        ("next steps", detail.next_steps.clone()),
        ("commit", detail.commit_sha.clone()),
        ("partial commit", detail.partial_commit_sha.clone()),
        ("tests", check(detail.tests_pass).unwrap_or_default()),
        ("lint", check(detail.lint_pass).unwrap_or_default()),
        ("build", check(detail.build_pass).unwrap_or_default()),
        ("in message", detail.help.as_ref().map(|help| help.message_id.to_string()).unwrap_or_default()),
        ("to review", detail.offered.map(yes).unwrap_or_default()),
        ("orchestrator", detail.orchestrator.clone()),
        ("session", detail.session.clone()),
        ("summary", detail.summary.clone()),
    ]);
    details.extend(task(item));
    let changed = item.changed_ts.0;
    details.push(("changed", format!("{} ({} ago), by message {}", at(changed), age(changed, now), item.changed_by)));
    let acks = item.open_acks.iter().map(|ack| format!("{} has to acknowledge message {}", ack.agent, ack.message_id));
    details.push(("open acks", acks.collect::<Vec<_>>().join("\n")));
    details
}

/// What was said of it when it was assigned.
fn task(item: &WorkAnswer) -> [(&'static str, String); 6] {
    let deadline = item.deadline_ts.as_ref().map(|time| at(time.0)).unwrap_or_default();
    [
        ("priority", item.priority.clone()),
        ("waiting for", item.waiting_for.join(", ")),
        ("depends on", item.dependencies.join(", ")),
        ("deadline", if item.late { format!("{deadline} (late)") } else { deadline }),
        ("estimated", item.estimated_minutes.map(|minutes| format!("{minutes} minutes")).unwrap_or_default()),
        ("criteria", item.acceptance_criteria.join("\n")),
    ]
}

fn yes(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

/// Adds a detail whole: its name, and its lines below each other. One that says nothing is left out.
fn push_detail(lines: &mut Vec<String>, mut label: &str, value: &str) {
    for line in text::lines(value).trim().lines() {
        lines.push(format!("  {label:LABEL$}  {line}").trim_end().to_owned());
        label = "";
    }
}

fn row(told: &StoryAnswer) -> [Cell; 4] {
    let kind = told.kind.as_deref().unwrap_or("-").to_owned();
    let is_human = told.vouched.as_deref() == Some(Vouched::Human.as_str());
    let way = format!("{} → {}", signed(&told.from, is_human), told.to.join(", "));
    [at(told.created_ts.0).into(), way.into(), kind.into(), told.gist.clone().into()]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::board::tests::item;
    use super::*;

    const WIDE: Screen = Screen { width: 100, height: None, is_coloured: false };

    fn shown_text(told: Value, story: Value, screen: &Screen) -> String {
        let story = serde_json::from_value(story).unwrap();
        let story = Story { project: String::new(), item: item(told), story, has_more: false };
        text(&story, "2026-01-11T16:30:00Z".parse().unwrap(), screen)
    }

    #[test]
    fn every_detail_is_told_in_full() {
        let long = "word ".repeat(100);
        let help = json!({ "asked_ts": "2026-01-11T16:00:00Z", "overdue": true, "question": "One?\nTwo?" });
        let told =
            json!({ "work_id": "bd-1", "state": "help_wanted", "title": "Form", "help": help, "next_steps": long });
        let text = shown_text(told, json!([]), &WIDE);
        assert!(text.starts_with("bd-1: help wanted\nForm\n\n"), "{text}");
        assert!(text.contains("  question        One?\n                  Two?\n"), "{text}");
        assert!(text.contains("  overdue         yes\n") && text.contains("2026-01-11 16:00:00Z"), "{text}");
        assert!(text.contains(long.trim()), "{text}");
    }

    #[test]
    fn a_message_of_the_story_is_one_line_that_fits() {
        let told = json!({
            "message_id": 1, "created_ts": "2026-01-11T16:00:00.123456Z", "from": "Anna", "to": ["Bob", "Eve"],
            "kind": null, "gist": "a\nb".repeat(200),
        });
        let whole = shown_text(json!({ "work_id": "x", "state": "done" }), json!([told]), &WIDE);
        let last = whole.lines().last().unwrap();
        assert!(last.starts_with("2026-01-11 16:00:00Z  Anna → Bob, Eve  -     a ba b"), "{last}");
        assert!(text::width(last) <= 100 && last.ends_with('…'), "{last}");
        let narrow = Screen { width: 50, ..WIDE };
        let narrow = shown_text(json!({ "work_id": "x", "state": "done" }), json!([told]), &narrow);
        let last = narrow.lines().last().unwrap();
        assert!(text::width(last) <= 50 && last.ends_with('…'), "{last}");
    }

    #[test]
    fn what_a_person_wrote_is_shown_so() {
        let told = json!({
            "message_id": 1, "created_ts": "2026-01-11T16:00:00Z", "from": "Anna", "vouched": "human", "to": ["Bob"],
            "gist": "",
        });
        let whole = shown_text(json!({ "work_id": "x", "state": "done" }), json!([told]), &WIDE);
        assert!(whole.lines().last().unwrap().starts_with("2026-01-11 16:00:00Z  Anna (human) → Bob"), "{whole}");
    }

    #[test]
    fn no_detail_can_steer_the_terminal() {
        let evil = "\x1b[2J\u{9b}1m\r";
        let item = json!({
            "work_id": evil, "state": evil, "agent": evil, "title": evil, "summary": evil,
            "open_acks": [{ "message_id": 1, "agent": evil }],
        });
        let told = json!({
            "message_id": 1, "created_ts": "2026-01-11T16:00:00Z", "from": evil, "to": [evil], "kind": evil, "gist": evil,
        });
        let text = shown_text(item, json!([told]), &WIDE);
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
    }
}
