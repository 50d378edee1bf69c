//! The agents as a table, for people: those who are awake first. What is shown of a presence is the office's to say.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use mail::agents::{PERSON, signed};
use serde::Deserialize;

use crate::commands::mail::ago::ago;
use crate::output::Screen;
use crate::output::grid::{self, Cell, Column};
use crate::output::text;

const COLUMNS: [Column; 7] = [
    Column { head: "AGENT", most: 30 },
    Column { head: "STATE", most: 30 },
    Column { head: "SINCE", most: 12 },
    Column { head: "SEEN", most: 12 },
    Column { head: "MAIL", most: 12 },
    Column { head: "FILES", most: 6 },
    Column { head: "PROGRAM", most: 24 },
];
/// Who gives way where there is no room, and how far: the program, the times that matter least, the agent and its state.
const GIVING: [(usize, usize); 7] = [(6, 0), (4, 5), (0, 8), (3, 5), (2, 5), (1, 8), (5, 0)];
/// Lines of a terminal that are no rows: head, blank line, sum, the line that says what was left out, and the cursor.
const OTHER_LINES: usize = 5;

/// An agent, as far as it is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Agent {
    name: String,
    program: String,
    presence: Presence,
    last_mail_ts: String,
    reservations: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Presence {
    shown: String,
    since: String,
    seen_ts: String,
}

/// The table and the line that sums it up. Rows for which the screen has no lines are only counted.
pub fn text(mut agents: Vec<Agent>, now: Timestamp, screen: &Screen) -> String {
    agents.sort_by_cached_key(|agent| (agent.rank(), agent.name.clone()));
    let most_rows = screen.height.map_or(usize::MAX, |height| height.saturating_sub(OTHER_LINES).max(1));
    let rows: Vec<_> = agents.iter().take(most_rows).map(|agent| agent.row(now)).collect();
    let mut lines = grid::lines(&COLUMNS, &GIVING, &rows, screen);
    if agents.len() > rows.len() {
        lines.push(format!("… and {} more", agents.len() - rows.len()));
    }
    lines.push(String::new());
    lines.push(text::line(&sum(&agents), screen.width));
    lines.join("\n")
}

impl Agent {
    fn row(&self, now: Timestamp) -> [Cell; 7] {
        let age = |time: &str| Cell::from(time.parse().map(|then| ago(then, now)).unwrap_or_default());
        let files = if self.reservations > 0 { self.reservations.to_string() } else { String::new() };
        [
            signed(&self.name, self.program == PERSON).into(),
            Cell { text: self.presence.shown.clone(), style: self.style() },
            age(&self.presence.since),
            age(&self.presence.seen_ts),
            age(&self.last_mail_ts),
            files.into(),
            self.program.clone().into(),
        ]
    }

    /// The state as it is shown, without what the agent is at.
    fn state(&self) -> &str {
        self.presence.shown.split(['/', ' ']).next().unwrap_or_default()
    }

    /// Its place in the table: who is awake comes first, and who was never heard of last.
    fn rank(&self) -> u8 {
        match self.state() {
            "AWAKE" => 0,
            "STALE" => 2,
            "OFFLINE" if self.presence.seen_ts.is_empty() => 4,
            "OFFLINE" => 3,
            _ => 1,
        }
    }

    fn style(&self) -> Style {
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self.state() {
            "AWAKE" => colour(AnsiColor::Green),
            "STALE" => colour(AnsiColor::Yellow),
            "OFFLINE" => Style::new().dimmed(),
            _ => colour(AnsiColor::Cyan),
        }
    }
}

/// How many agents there are, and how many in each state.
fn sum(agents: &[Agent]) -> String {
    let mut counts: BTreeMap<(u8, String), usize> = BTreeMap::new();
    for agent in agents {
        *counts.entry((agent.rank().min(3), agent.state().to_lowercase())).or_default() += 1;
    }
    let states: Vec<String> = counts.into_iter().map(|((_, state), count)| format!("{count} {state}")).collect();
    let noun = if agents.len() == 1 { "agent" } else { "agents" };
    format!("{} {noun}: {}", agents.len(), states.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PIPE: Screen = Screen { width: 100, height: None, is_coloured: false };

    fn agent(name: &str, shown: &str, is_seen: bool) -> Value {
        let since = if is_seen { "2026-01-11T16:26:00Z" } else { "" };
        json!({ "name": name, "program": "codex-cli", "presence": { "shown": shown, "since": since, "seen_ts": since } })
    }

    fn shown(agents: Value, screen: Screen) -> String {
        text(serde_json::from_value(agents).unwrap(), "2026-01-11T16:30:00Z".parse().unwrap(), &screen)
    }

    #[test]
    fn who_is_awake_comes_first_and_who_was_never_heard_of_last() {
        let busy = json!({ "last_mail_ts": "2026-01-11T15:30:00Z", "reservations": 2 });
        let mut awake = agent("zoe", "AWAKE/WORKING", true);
        awake.as_object_mut().unwrap().extend(busy.as_object().unwrap().clone());
        let agents = json!([
            agent("dave", "OFFLINE (no presence file)", false),
            agent("bob", "OFFLINE", true),
            agent("erin", "STALE/WORKING", true),
            agent("carl", "SLEEPING/SHUTDOWN", true),
            agent("anna", "AWAKE", true),
            awake,
        ]);
        insta::assert_snapshot!(shown(agents, PIPE));
    }

    #[test]
    fn a_person_is_shown_as_one() {
        let mut anna = agent("Anna", "AWAKE", true);
        anna["program"] = PERSON.into();
        assert!(shown(json!([anna, agent("bob", "AWAKE", true)]), PIPE).contains("\nAnna (human)  AWAKE"));
    }

    #[test]
    fn an_age_is_never_negative() {
        let mut early = agent("anna", "AWAKE", true);
        early["presence"]["seen_ts"] = "2026-01-11T16:30:20Z".into();
        let text = shown(json!([early]), PIPE);
        assert!(text.contains("just now") && !text.contains("-2"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_no_text_breaks_one() {
        let long = "word\n\x1b[31m".repeat(100);
        let hostile = json!([{ "name": long, "program": long, "presence": { "shown": long }, "reservations": 7 }]);
        for width in [40, 50, 80, 250] {
            let text = shown(hostile.clone(), Screen { width, ..PIPE });
            assert_eq!(text.lines().count(), 4, "{text}");
            assert!(text.lines().all(|line| text::width(line) <= width), "{width}: {text}");
            assert!(!text.contains('\x1b'), "{text}");
        }
    }

    #[test]
    fn a_state_has_its_colour_where_there_are_colours() {
        let agents = json!([agent("anna", "AWAKE/IDLE", true)]);
        let text = shown(agents.clone(), Screen { is_coloured: true, ..PIPE });
        assert!(text.contains("\x1b[32mAWAKE/IDLE\x1b[0m"), "{text:?}");
        assert!(!shown(agents, PIPE).contains('\x1b'));
    }

    #[test]
    fn a_terminal_that_is_too_low_shows_who_is_awake_and_the_sum() {
        let many: Vec<_> = (0..50).map(|at| agent(&format!("agent-{at:02}"), "AWAKE", true)).collect();
        let text = shown(json!(many), Screen { height: Some(20), ..PIPE });
        assert!(text.lines().count() < 20 && text.contains("… and 35 more") && text.ends_with("50 agents: 50 awake"));
        assert!(text.contains("agent-14") && !text.contains("agent-15"), "{text}");
    }
}
