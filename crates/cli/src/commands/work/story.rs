//! One item in full, and its story: a line for every message about it. Bodies are not shown.

use anyhow::Context;
use jiff::Timestamp;
use mail::agents::signed;
use mail::messages::Vouched;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::board::{state_name, style_of};
use super::item::{Item, age, percent};
use crate::output::Screen;
use crate::output::grid::{self, Cell, Column};
use crate::output::text;

/// What the head of the item tells, or another part of it.
const TOLD_ELSEWHERE: [&str; 7] = ["work_id", "title", "state", "agent", "changed_ts", "changed_by", "open_acks"];
/// Details in the order in which people ask for them. What is not among them comes behind.
const ORDER: [&str; 20] = [
    "percent",
    "step",
    "status",
    "context_usage",
    "overdue",
    "asked_ts",
    "from",
    "issue_type",
    "problem",
    "question",
    "failure_type",
    "reason",
    "recommendation",
    "progress",
    "next_steps",
    "commit_sha",
    "partial_commit_sha",
    "tests_pass",
    "lint_pass",
    "build_pass",
];
/// How wide the names of details are at least.
const LABEL: usize = 14;

const COLUMNS: [Column; 4] = [
    Column { head: "TIME", most: 20 },
    Column { head: "FROM → TO", most: 50 },
    Column { head: "KIND", most: 24 },
    Column { head: "WHAT", most: 400 },
];
/// Who gives way where there is no room, and how far: what, the names, the kind, and the first two once more. Fifty
/// columns are enough.
const GIVING: [(usize, usize); 5] = [(3, 16), (1, 12), (2, 6), (3, 10), (1, 8)];

/// A message of the story.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Told {
    created_ts: String,
    from: String,
    vouched: Option<String>,
    to: Vec<String>,
    kind: Option<String>,
    gist: String,
}

/// The item and its story, for people.
pub fn text(item: &Value, story: &Value, has_more: bool, now: Timestamp, screen: &Screen) -> anyhow::Result<String> {
    let known = Item::deserialize(item).context("the work item cannot be read")?;
    let story = Vec::<Told>::deserialize(story).context("the story of the item cannot be read")?;
    let mut lines = head(&known, screen);
    lines.push(String::new());
    for (name, value) in details(item) {
        push_detail(&mut lines, &label(&name), &shown(&name, &value));
    }
    let by = item["changed_by"].as_i64().map(|id| format!(", by message {id}")).unwrap_or_default();
    let changed = format!("{} ({} ago){by}", time(&known.changed_ts), age(&known.changed_ts, now));
    push_detail(&mut lines, "changed", &changed);
    let acks = known.open_acks.iter().map(|ack| format!("{} has to acknowledge message {}", ack.agent, ack.message_id));
    push_detail(&mut lines, "open acks", &acks.collect::<Vec<_>>().join("\n"));
    lines.push(String::new());
    let rows: Vec<_> = story.iter().map(row).collect();
    lines.extend(grid::lines(&COLUMNS, &GIVING, &rows, screen));
    if has_more {
        lines.push("… and more".to_owned());
    }
    Ok(lines.join("\n"))
}

fn head(item: &Item, screen: &Screen) -> Vec<String> {
    let state = screen.paint(&text::unbroken(&state_name(&item.state)), style_of(item));
    let mut first = format!("{}: {state}", text::unbroken(&item.work_id));
    if !item.agent.is_empty() {
        first.push_str(&format!(", {}", text::unbroken(&item.agent)));
    }
    let title = text::unbroken(&item.title);
    [first, title].into_iter().filter(|line| !line.is_empty()).collect()
}

/// What the state says more, the help that is wanted among it, in the order in which people ask.
fn details(item: &Value) -> Vec<(String, Value)> {
    let mut details = item.as_object().cloned().unwrap_or_else(Map::new);
    details.retain(|name, _| !TOLD_ELSEWHERE.contains(&name.as_str()));
    if let Some(Value::Object(help)) = details.remove("help") {
        details.extend(help);
    }
    let mut details: Vec<_> = details.into_iter().collect();
    details.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    details
}

fn label(name: &str) -> String {
    match name {
        "commit_sha" => "commit".to_owned(),
        "partial_commit_sha" => "partial commit".to_owned(),
        "context_usage" => "context".to_owned(),
        "asked_ts" => "asked".to_owned(),
        "from" => "asked by".to_owned(),
        "message_id" => "in message".to_owned(),
        "offered" => "to review".to_owned(),
        name => name.trim_end_matches("_pass").replace('_', " "),
    }
}

fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(passed) if name.ends_with("_pass") => if *passed { "pass" } else { "FAIL" }.to_owned(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::Number(number) if matches!(name, "percent" | "context_usage") => percent(number.as_f64()),
        Value::String(text) if name.ends_with("_ts") => time(text),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Adds a detail whole: its name, and its lines below each other. One that says nothing is left out.
fn push_detail(lines: &mut Vec<String>, label: &str, value: &str) {
    let value = text::lines(value);
    let mut label = text::unbroken(label);
    for line in value.trim().lines() {
        lines.push(format!("  {label:LABEL$}  {line}").trim_end().to_owned());
        label.clear();
    }
}

fn row(told: &Told) -> [Cell; 4] {
    let kind = told.kind.clone().unwrap_or_else(|| "-".to_owned());
    let is_human = told.vouched.as_deref() == Some(Vouched::Human.as_str());
    let way = format!("{} → {}", signed(&told.from, is_human), told.to.join(", "));
    [time(&told.created_ts).into(), way.into(), kind.into(), told.gist.clone().into()]
}

/// A time to the second, as people read it; as it was written if it cannot be read.
fn time(text: &str) -> String {
    match text.parse::<Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WIDE: Screen = Screen { width: 100, height: None, is_coloured: false };

    fn shown_text(item: Value, story: Value) -> String {
        text(&item, &story, false, "2026-01-11T16:30:00Z".parse().unwrap(), &WIDE).unwrap()
    }

    #[test]
    fn every_detail_is_told_in_full_even_one_that_is_not_known_here() {
        let long = "word ".repeat(100);
        let help = json!({ "asked_ts": "2026-01-11T16:00:00Z", "overdue": true, "question": "One?\nTwo?" });
        let text = shown_text(
            json!({ "work_id": "bd-1", "state": "help_wanted", "title": "Form", "help": help, "news": long }),
            json!([]),
        );
        assert!(text.starts_with("bd-1: help wanted\nForm\n\n"), "{text}");
        assert!(text.contains("  question        One?\n                  Two?\n"), "{text}");
        assert!(text.contains("  overdue         yes\n") && text.contains("2026-01-11 16:00:00Z"), "{text}");
        assert!(text.contains(long.trim()), "{text}");
    }

    #[test]
    fn a_message_of_the_story_is_one_line_that_fits() {
        let told = json!({
            "created_ts": "2026-01-11T16:00:00.123456Z", "from": "Anna", "to": ["Bob", "Eve"], "kind": null,
            "gist": "a\nb".repeat(200),
        });
        let whole = shown_text(json!({ "work_id": "x", "state": "done" }), json!([told]));
        let last = whole.lines().last().unwrap();
        assert!(last.starts_with("2026-01-11 16:00:00Z  Anna → Bob, Eve  -     a ba b"), "{last}");
        assert!(text::width(last) <= 100 && last.ends_with('…'), "{last}");
        let item = json!({ "work_id": "x", "state": "done" });
        let narrow = text(&item, &json!([told]), false, Timestamp::UNIX_EPOCH, &Screen { width: 50, ..WIDE }).unwrap();
        let last = narrow.lines().last().unwrap();
        assert!(text::width(last) <= 50 && last.ends_with('…'), "{last}");
    }

    #[test]
    fn what_a_person_wrote_is_shown_so() {
        let told = json!({ "created_ts": "2026-01-11T16:00:00Z", "from": "Anna", "vouched": "human", "to": ["Bob"] });
        let whole = shown_text(json!({ "work_id": "x", "state": "done" }), json!([told]));
        assert!(whole.lines().last().unwrap().starts_with("2026-01-11 16:00:00Z  Anna (human) → Bob"), "{whole}");
    }

    #[test]
    fn no_detail_can_steer_the_terminal() {
        let evil = "\x1b[2J\u{9b}1m\r";
        let item = json!({
            "work_id": evil, "state": evil, "agent": evil, "title": evil, "summary": evil, evil: evil,
            "changed_ts": evil, "open_acks": [{ "message_id": 1, "agent": evil }],
        });
        let told = json!({ "created_ts": evil, "from": evil, "to": [evil], "kind": evil, "gist": evil });
        let text = shown_text(item, json!([told]));
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
    }
}
