//! The one line that says how a work item stands. A state that is not known here shows the title.

use api::answers::{HelpAnswer, WorkAnswer};
use jiff::Timestamp;

/// How much of a commit's name is shown in a line.
const SHORT_COMMIT: usize = 10;

/// Whether somebody has waited too long for help.
pub fn is_overdue(item: &WorkAnswer) -> bool {
    item.detail.help.as_ref().is_some_and(|help| help.overdue)
}

/// How it stands, in a line: short facts first, since the end of a line may be cut.
pub fn what(item: &WorkAnswer, now: Timestamp) -> String {
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
pub fn acks(WorkAnswer { open_acks, .. }: &WorkAnswer) -> String {
    if open_acks.is_empty() {
        return String::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for ack in open_acks {
        // There are at most a hundred.
        if !names.contains(&ack.agent.as_str()) {
            names.push(&ack.agent);
        }
    }
    format!("{}: {}", open_acks.len(), names.join(", "))
}

/// How long ago a time was, in a few letters.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    // Clocks of two machines differ a little, and nothing was said in the future.
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
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

/// The name of a commit, shortened if it is a whole one.
fn short(commit: &str) -> String {
    let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { commit[..SHORT_COMMIT].to_owned() } else { commit.to_owned() }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

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
}
