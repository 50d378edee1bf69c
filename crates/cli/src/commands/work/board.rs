//! All items as a table, for people, with a line that says how each stands. Which items those are, and in which order, is the
//! office's to say. A state that is not known here shows the title.

use std::collections::HashSet;

use anstyle::{AnsiColor, Style};
use api::answers::{HelpAnswer, WorkAnswer};
use jiff::Timestamp;

use crate::commands::mail::ago::age;
use crate::output::Screen;
use crate::output::grid::{self, Cell, Layout};

const TABLE: Layout<6> = Layout {
    columns: [("WORK", 30), ("STATE", 20), ("AGENT", 24), ("WHAT", 400), ("CHANGED", 7), ("ACKS", 30)],
    // Who gives way where there is no room, and how far: what, acknowledgements, agent, id, state, and what once more. Fifty
    // columns are enough.
    giving: &[(3, 16), (5, 4), (2, 6), (0, 8), (1, 5), (3, 10)],
};
/// The table and the line that sums it up. Rows for which the screen has no lines are only counted.
pub fn text(items: &[WorkAnswer], now: Timestamp, screen: &Screen) -> String {
    TABLE.summed(items.iter().map(|item| row(item, now)), &sum(items), screen)
}

/// A state as people read it.
pub fn state_name(state: &str) -> String {
    state.replace('_', " ")
}

/// How a state looks.
pub fn style_of(item: &WorkAnswer) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match &*item.state {
        "help_wanted" if is_overdue(item) => colour(AnsiColor::Red).bold(),
        "help_wanted" => colour(AnsiColor::Yellow),
        "failed" => colour(AnsiColor::Red),
        "done" => colour(AnsiColor::Green),
        "in_progress" => colour(AnsiColor::Cyan),
        "checkpointed" => colour(AnsiColor::Magenta),
        "accepted" | "assigned" => colour(AnsiColor::Blue),
        _ => Style::new(),
    }
}

fn row(item: &WorkAnswer, now: Timestamp) -> [Cell; 6] {
    let what = Cell { text: what(item, now), style: if is_overdue(item) { style_of(item) } else { Style::new() } };
    [
        item.work_id.clone().into(),
        Cell { text: state_name(&item.state), style: style_of(item) },
        item.agent.clone().into(),
        what,
        age(item.changed_ts.0, now).into(),
        acks(item).into(),
    ]
}

/// How many items there are, and how many in each state, in the order of the work.
fn sum(items: &[WorkAnswer]) -> String {
    let overdue = items.iter().filter(|item| is_overdue(item)).count();
    let states = items.iter().map(|item| {
        let known = mail::work::State::NAMES.iter().position(|name| *name == item.state);
        let name = match &*item.state {
            "help_wanted" if overdue > 0 => format!("help wanted ({overdue} overdue)"),
            state => state_name(state),
        };
        (known.unwrap_or(usize::MAX), name)
    });
    grid::sum("item", states)
}

/// How much of a commit's name is shown in a line.
const SHORT_COMMIT: usize = 10;

/// Whether somebody has waited too long for help.
fn is_overdue(item: &WorkAnswer) -> bool {
    item.detail.help.as_ref().is_some_and(|help| help.overdue)
}

/// How it stands, in a line: short facts first, since the end of a line may be cut.
fn what(item: &WorkAnswer, now: Timestamp) -> String {
    let detail = &item.detail;
    let (facts, words) = match &*item.state {
        "in_progress" => {
            let context = percent(detail.context_usage.map(f64::from));
            let facts = vec![percent(detail.percent), tagged("context ", &context)];
            (facts, first([&detail.step, &detail.status]))
        }
        "help_wanted" => detail.help.as_ref().map(|help| asked(help, now)).unwrap_or_default(),
        "done" => (outcome(item), detail.summary.as_str()),
        "failed" => (vec![detail.failure_type.clone()], detail.reason.as_str()),
        "checkpointed" => (vec![detail.reason.clone()], detail.next_steps.as_str()),
        "spawn_requested" => {
            let from = tagged("from ", &short(&detail.partial_commit_sha));
            (vec![tagged("for ", &detail.orchestrator), from], "")
        }
        "spawned" => (vec![tagged("session ", &detail.session)], ""),
        _ => (Vec::new(), ""),
    };
    let mut facts = facts;
    if !item.waiting_for.is_empty() {
        facts.insert(0, format!("waiting for {}", item.waiting_for.join(", ")));
    }
    if item.late {
        facts.insert(0, "late".to_owned());
    }
    let facts = facts.into_iter().filter(|fact| !fact.trim().is_empty()).collect::<Vec<_>>().join(", ");
    let words = if words.trim().is_empty() { item.title.as_str() } else { words };
    match (facts.is_empty(), words.trim().is_empty()) {
        (true, _) => words.to_owned(),
        (false, true) => facts,
        (false, false) => format!("{facts}: {words}"),
    }
}

fn outcome(WorkAnswer { detail, .. }: &WorkAnswer) -> Vec<String> {
    let check = |name: &str, passed: Option<bool>| {
        passed.map(|passed| format!("{name} {}", if passed { "pass" } else { "FAIL" })).unwrap_or_default()
    };
    vec![
        if detail.offered == Some(true) { "to review".to_owned() } else { String::new() },
        short(&detail.commit_sha),
        check("tests", detail.tests_pass),
        check("lint", detail.lint_pass),
        check("build", detail.build_pass),
    ]
}

fn asked(help: &HelpAnswer, now: Timestamp) -> (Vec<String>, &str) {
    let mut facts = vec![help.issue_type.clone()];
    if help.overdue {
        facts.insert(0, format!("overdue, asked {} ago", age(help.asked_ts.0, now)));
    }
    (facts, first([&help.question, &help.problem]))
}

/// How many acknowledgements are due, and from whom; empty if none is.
fn acks(WorkAnswer { open_acks, .. }: &WorkAnswer) -> String {
    if open_acks.is_empty() {
        return String::new();
    }
    let mut seen = HashSet::new();
    let names: Vec<&str> = open_acks.iter().map(|ack| ack.agent.as_str()).filter(|name| seen.insert(*name)).collect();
    format!("{}: {}", open_acks.len(), names.join(", "))
}

/// A percentage as people write it; empty if there is none.
pub fn percent(value: Option<f64>) -> String {
    value.map(|value| format!("{}%", (value * 10.0).round() / 10.0)).unwrap_or_default()
}

/// The first text that says something.
fn first<const N: usize>(texts: [&str; N]) -> &str {
    texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
}

fn tagged(tag: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{tag}{text}") }
}

/// The name of a commit, cut if it is a whole one.
fn short(commit: &str) -> String {
    let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { commit[..SHORT_COMMIT].to_owned() } else { commit.to_owned() }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::output::text;

    const NOW: &str = "2026-01-11T16:30:00Z";

    /// An item of which the office says this, and as little as it can of the rest.
    pub fn item(told: Value) -> WorkAnswer {
        let mut whole = json!({
            "work_id": "", "state": "", "changed_ts": "2026-01-11T16:00:00Z", "changed_by": 1, "open_acks": [],
        });
        whole.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
        if let Some(help) = told["help"].as_object() {
            whole["help"] = json!({ "message_id": 1, "from": "", "asked_ts": NOW, "overdue": false });
            whole["help"].as_object_mut().unwrap().extend(help.clone());
        }
        serde_json::from_value(whole).unwrap()
    }

    fn what(told: Value) -> String {
        super::what(&item(told), NOW.parse().unwrap())
    }

    #[test]
    fn each_state_is_told_in_a_line() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        let progress = json!({ "state": "in_progress", "percent": 70.0, "step": "Step 4", "context_usage": 45 });
        assert_eq!(what(progress), "70%, context 45%: Step 4");
        assert_eq!(what(json!({ "state": "in_progress", "percent": 33.333, "status": "on it" })), "33.3%: on it");
        let help = json!({ "asked_ts": "2026-01-11T16:05:00Z", "issue_type": "STUCK", "question": "Which?" });
        assert_eq!(what(json!({ "state": "help_wanted", "help": help })), "STUCK: Which?");
        let help = json!({ "asked_ts": "2026-01-11T16:05:00Z", "overdue": true, "problem": "It hangs" });
        assert_eq!(what(json!({ "state": "help_wanted", "help": help })), "overdue, asked 25m ago: It hangs");
        let done = json!({
            "state": "done", "commit_sha": sha, "tests_pass": true, "lint_pass": false, "summary": "All of it",
            "offered": true,
        });
        assert_eq!(what(done), "to review, 0123456789, tests pass, lint FAIL: All of it");
        let failed = json!({ "state": "failed", "failure_type": "TESTS_FAIL", "reason": "Two of nine" });
        assert_eq!(what(failed), "TESTS_FAIL: Two of nine");
        let left = json!({ "state": "checkpointed", "reason": "CONTEXT_HIGH", "next_steps": "Write the tests" });
        assert_eq!(what(left), "CONTEXT_HIGH: Write the tests");
        let wanted = json!({ "state": "spawn_requested", "orchestrator": "boss", "partial_commit_sha": "abc" });
        assert_eq!(what(wanted), "for boss, from abc");
        assert_eq!(what(json!({ "state": "spawned", "session": "tmux-1" })), "session tmux-1");
    }

    #[test]
    fn an_item_of_which_nothing_is_said_shows_its_title() {
        for state in ["assigned", "accepted", "done", "help_wanted", "something_new"] {
            assert_eq!(what(json!({ "state": state, "title": "Login form" })), "Login form");
            assert_eq!(what(json!({ "state": state, "news": [1] })), "");
        }
    }

    #[test]
    fn an_age_has_the_largest_unit_that_is_full() {
        let now = NOW.parse().unwrap();
        for (then, told) in [
            ("2026-01-11T16:30:00Z", "0s"),
            ("2026-01-11T16:29:01Z", "59s"),
            ("2026-01-11T16:29:00Z", "1m"),
            ("2026-01-11T15:30:01Z", "59m"),
            ("2026-01-11T15:30:00Z", "1h"),
            ("2026-01-10T16:30:01Z", "23h"),
            ("2026-01-10T16:30:00Z", "1d"),
            ("2025-01-11T16:30:00Z", "365d"),
            ("2026-01-11T16:31:00Z", "0s"),
        ] {
            assert_eq!(age(then.parse().unwrap(), now), told, "{then}");
        }
    }

    #[test]
    fn acknowledgements_are_counted_and_each_debtor_is_named_once() {
        let acks = |names: &[&str]| {
            let open_acks: Vec<_> = names.iter().map(|name| json!({ "message_id": 1, "agent": name })).collect();
            super::acks(&item(json!({ "open_acks": open_acks })))
        };
        assert_eq!(acks(&["Anna", "Bob", "Anna"]), "3: Anna, Bob");
        assert_eq!(acks(&[]), "");
    }

    fn items(told: Value) -> Vec<WorkAnswer> {
        told.as_array().unwrap().iter().cloned().map(item).collect()
    }

    fn shown(items: &[WorkAnswer], screen: Screen) -> String {
        text(items, "2026-01-11T16:30:00Z".parse().unwrap(), &screen)
    }

    const PIPE: Screen = Screen { width: 100, height: None, is_coloured: false };

    #[test]
    fn the_sum_counts_states_in_the_order_of_the_work_and_new_ones_last() {
        let help = json!({ "overdue": true });
        let items = items(json!([
            { "state": "zebra" }, { "state": "failed" }, { "state": "done" }, { "state": "in_progress" },
            { "state": "done" }, { "state": "help_wanted", "help": help }, { "state": "help_wanted", "help": {} },
        ]));
        assert_eq!(sum(&items), "7 items: 1 in progress, 2 help wanted (1 overdue), 2 done, 1 failed, 1 zebra");
        assert_eq!(sum(&items[1..2]), "1 item: 1 failed");
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_no_text_breaks_one() {
        let long = "word\n\x1b[31m".repeat(100);
        let hostile = json!({
            "work_id": long, "state": "failed", "agent": long, "reason": long, "changed_ts": "2026-01-11T16:00:00Z",
            "open_acks": [{ "message_id": 1, "agent": long }],
        });
        for width in [50, 60, 100, 250] {
            let text = shown(&items(json!([hostile])), Screen { width, ..PIPE });
            assert_eq!(text.lines().count(), 4, "{text}");
            assert!(text.lines().all(|line| text::width(line) <= width), "{text}");
            assert!(!text.contains('\x1b') && text.contains("30m"), "{text}");
        }
    }

    #[test]
    fn overdue_help_is_red_where_there_are_colours() {
        let help = json!({ "asked_ts": "2026-01-11T16:05:00Z", "overdue": true, "question": "Which?" });
        let items = items(json!([{ "work_id": "bd-1", "state": "help_wanted", "help": help }]));
        let text = shown(&items, Screen { is_coloured: true, ..PIPE });
        assert!(text.contains("\x1b[1m\x1b[31moverdue, asked 25m ago: Which?\x1b[0m"), "{text:?}");
        assert!(!shown(&items, PIPE).contains('\x1b'));
    }

    #[test]
    fn a_terminal_that_is_too_low_shows_what_changed_last_and_the_sum() {
        let many: Vec<_> = (0..50).map(|at| json!({ "work_id": format!("bd-{at}"), "state": "done" })).collect();
        let text = shown(&items(json!(many)), Screen { height: Some(20), ..PIPE });
        assert!(text.lines().count() < 20 && text.contains("… and 35 more") && text.ends_with("50 items: 50 done"));
        assert!(text.contains("bd-14") && !text.contains("bd-15"), "{text}");
    }
}
