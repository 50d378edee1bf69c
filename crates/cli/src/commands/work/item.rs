//! A work item as the office tells it, and the one line that says how it stands.
//!
//! Read leniently: a newer office may know states and details that are not known here.

use jiff::Timestamp;
use serde::Deserialize;

/// How much of a commit's name is shown in a line.
const SHORT_COMMIT: usize = 10;

/// A work item.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Item {
    /// Its id.
    pub work_id: String,
    /// What it is called.
    pub title: String,
    /// How it stands: the name of a state.
    pub state: String,
    /// Who is on it.
    pub agent: String,
    /// When that was last said.
    pub changed_ts: String,
    /// Who still has to acknowledge what.
    pub open_acks: Vec<OpenAck>,
    /// What a worker asks.
    pub help: Option<Help>,
    percent: Option<f64>,
    step: String,
    status: String,
    context_usage: Option<f64>,
    commit_sha: String,
    tests_pass: Option<bool>,
    lint_pass: Option<bool>,
    build_pass: Option<bool>,
    summary: String,
    offered: bool,
    failure_type: String,
    reason: String,
    partial_commit_sha: String,
    next_steps: String,
    orchestrator: String,
    session: String,
}

/// An acknowledgement that is due.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct OpenAck {
    /// Of which message.
    pub message_id: i64,
    /// By whom.
    pub agent: String,
}

/// What a worker asks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Help {
    /// When it asked.
    pub asked_ts: String,
    /// Whether it has waited too long.
    pub overdue: bool,
    issue_type: String,
    problem: String,
    question: String,
}

impl Item {
    /// Whether somebody has waited too long for help.
    pub fn is_overdue(&self) -> bool {
        self.help.as_ref().is_some_and(|help| help.overdue)
    }

    /// How it stands, in a line: short facts first, since the end of a line may be cut.
    pub fn what(&self, now: Timestamp) -> String {
        let (facts, words) = match self.state.as_str() {
            "in_progress" => {
                let facts = vec![percent(self.percent), tagged("context ", &percent(self.context_usage))];
                (facts, first([&self.step, &self.status]))
            }
            "help_wanted" => self.help.as_ref().map(|help| help.what(now)).unwrap_or_default(),
            "done" => (self.outcome(), self.summary.as_str()),
            "failed" => (vec![self.failure_type.clone()], self.reason.as_str()),
            "checkpointed" => (vec![self.reason.clone()], self.next_steps.as_str()),
            "spawn_requested" => {
                let from = tagged("from ", &short(&self.partial_commit_sha));
                (vec![tagged("for ", &self.orchestrator), from], "")
            }
            "spawned" => (vec![tagged("session ", &self.session)], ""),
            _ => (Vec::new(), ""),
        };
        let facts = facts.into_iter().filter(|fact| !fact.trim().is_empty()).collect::<Vec<_>>().join(", ");
        let words = if words.trim().is_empty() { self.title.as_str() } else { words };
        match (facts.is_empty(), words.trim().is_empty()) {
            (true, _) => words.to_owned(),
            (false, true) => facts,
            (false, false) => format!("{facts}: {words}"),
        }
    }

    fn outcome(&self) -> Vec<String> {
        let check = |name: &str, passed: Option<bool>| {
            passed.map(|passed| format!("{name} {}", if passed { "pass" } else { "FAIL" })).unwrap_or_default()
        };
        vec![
            if self.offered { "to review".to_owned() } else { String::new() },
            short(&self.commit_sha),
            check("tests", self.tests_pass),
            check("lint", self.lint_pass),
            check("build", self.build_pass),
        ]
    }

    /// How many acknowledgements are due, and from whom; empty if none is.
    pub fn acks(&self) -> String {
        if self.open_acks.is_empty() {
            return String::new();
        }
        let mut names: Vec<&str> = Vec::new();
        for ack in &self.open_acks {
            // There are at most a hundred.
            if !names.contains(&ack.agent.as_str()) {
                names.push(&ack.agent);
            }
        }
        format!("{}: {}", self.open_acks.len(), names.join(", "))
    }
}

impl Help {
    fn what(&self, now: Timestamp) -> (Vec<String>, &str) {
        let (overdue, age) = if self.overdue { ("overdue", age(&self.asked_ts, now)) } else { ("", String::new()) };
        let asked = if age.is_empty() { age } else { format!("asked {age} ago") };
        (vec![overdue.to_owned(), asked, self.issue_type.clone()], first([&self.question, &self.problem]))
    }
}

/// How long ago a time was, in a few letters; empty if it cannot be read.
pub fn age(then: &str, now: Timestamp) -> String {
    let Ok(then) = then.parse::<Timestamp>() else { return String::new() };
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
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-01-11T16:30:00Z";

    fn what(item: Value) -> String {
        serde_json::from_value::<Item>(item).unwrap().what(NOW.parse().unwrap())
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
            ("soon", ""),
        ] {
            assert_eq!(age(then, now), told, "{then}");
        }
    }

    #[test]
    fn acknowledgements_are_counted_and_each_debtor_is_named_once() {
        let acks = |names: &[&str]| {
            let open_acks = names.iter().map(|name| OpenAck { message_id: 1, agent: (*name).to_owned() }).collect();
            Item { open_acks, ..Item::default() }.acks()
        };
        assert_eq!(acks(&["Anna", "Bob", "Anna"]), "3: Anna, Bob");
        assert_eq!(acks(&[]), "");
    }
}
