//! All items as a table, for people. Which items those are, and in which order, is the office's to say.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use api::answers::WorkAnswer;
use jiff::Timestamp;

use super::item::{acks, age, is_overdue, what};
use crate::output::Screen;
use crate::output::grid::{self, Cell, Column};
use crate::output::text;

const COLUMNS: [Column; 6] = [
    Column { head: "WORK", most: 30 },
    Column { head: "STATE", most: 20 },
    Column { head: "AGENT", most: 24 },
    Column { head: "WHAT", most: 400 },
    Column { head: "CHANGED", most: 7 },
    Column { head: "ACKS", most: 30 },
];
/// Who gives way where there is no room, and how far: what, acknowledgements, agent, id, state, and what once more. Fifty
/// columns are enough.
const GIVING: [(usize, usize); 6] = [(3, 16), (5, 4), (2, 6), (0, 8), (1, 5), (3, 10)];
/// Lines of a terminal that are no rows: head, blank line, sum, the line that says what was left out, and the cursor.
const OTHER_LINES: usize = 5;

/// The table and the line that sums it up. Rows for which the screen has no lines are only counted.
pub fn text(items: &[WorkAnswer], now: Timestamp, screen: &Screen) -> String {
    let most_rows = screen.height.map_or(usize::MAX, |height| height.saturating_sub(OTHER_LINES).max(1));
    let rows: Vec<_> = items.iter().take(most_rows).map(|item| row(item, now)).collect();
    let mut lines = grid::lines(&COLUMNS, &GIVING, &rows, screen);
    if items.len() > rows.len() {
        lines.push(format!("… and {} more", items.len() - rows.len()));
    }
    lines.push(String::new());
    lines.push(text::line(&sum(items), screen.width));
    lines.join("\n")
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

/// How many items there are, and how many in each state.
fn sum(items: &[WorkAnswer]) -> String {
    let mut counts: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for item in items {
        let known = mail::work::State::NAMES.iter().position(|name| *name == item.state);
        *counts.entry((known.unwrap_or(usize::MAX), &item.state)).or_default() += 1;
    }
    let overdue = items.iter().filter(|item| is_overdue(item)).count();
    let states = counts.into_iter().map(|((_, state), count)| match state {
        "help_wanted" if overdue > 0 => format!("{count} help wanted ({overdue} overdue)"),
        state => format!("{count} {}", state_name(state)),
    });
    let noun = if items.len() == 1 { "item" } else { "items" };
    format!("{} {noun}: {}", items.len(), states.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::item::tests::item;
    use super::*;

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
