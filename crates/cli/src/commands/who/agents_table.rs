//! The agents as a table, for people: those who are awake first. What is shown of a presence is the office's to say.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use api::Time;
use api::answers::PresentAnswer;
use jiff::Timestamp;
use mail::agents::{PERSON, signed};

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

/// The table and the line that sums it up. Rows for which the screen has no lines are only counted.
pub fn text(agents: &[PresentAnswer], now: Timestamp, screen: &Screen) -> String {
    let mut agents: Vec<&PresentAnswer> = agents.iter().collect();
    agents.sort_by_key(|one| (rank(one), &one.agent.name));
    let most_rows = screen.height.map_or(usize::MAX, |height| height.saturating_sub(OTHER_LINES).max(1));
    let rows: Vec<_> = agents.iter().take(most_rows).map(|one| row(one, now)).collect();
    let mut lines = grid::lines(&COLUMNS, &GIVING, &rows, screen);
    if agents.len() > rows.len() {
        lines.push(format!("… and {} more", agents.len() - rows.len()));
    }
    lines.push(String::new());
    lines.push(text::line(&sum(&agents), screen.width));
    lines.join("\n")
}

fn row(one: &PresentAnswer, now: Timestamp) -> [Cell; 7] {
    let PresentAnswer { agent, presence, last_mail_ts, reservations } = one;
    let age = |time: Option<Time>| Cell::from(time.map(|Time(then)| ago(then, now)).unwrap_or_default());
    let files = if *reservations > 0 { reservations.to_string() } else { String::new() };
    [
        signed(&agent.name, agent.program == PERSON).into(),
        Cell { text: presence.shown.clone(), style: style(one) },
        age(presence.since),
        age(presence.seen_ts),
        age(*last_mail_ts),
        files.into(),
        agent.program.clone().into(),
    ]
}

/// The state as it is shown, without what the agent is at.
fn state(one: &PresentAnswer) -> &str {
    one.presence.shown.split(['/', ' ']).next().unwrap_or_default()
}

/// Its place in the table: who is awake comes first, and who was never heard of last.
fn rank(one: &PresentAnswer) -> u8 {
    match state(one) {
        "AWAKE" => 0,
        "STALE" => 2,
        "OFFLINE" if one.presence.seen_ts.is_none() => 4,
        "OFFLINE" => 3,
        _ => 1,
    }
}

fn style(one: &PresentAnswer) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match state(one) {
        "AWAKE" => colour(AnsiColor::Green),
        "STALE" => colour(AnsiColor::Yellow),
        "OFFLINE" => Style::new().dimmed(),
        _ => colour(AnsiColor::Cyan),
    }
}

/// How many agents there are, and how many in each state.
fn sum(agents: &[&PresentAnswer]) -> String {
    let mut counts: BTreeMap<(u8, String), usize> = BTreeMap::new();
    for agent in agents {
        *counts.entry((rank(agent).min(3), state(agent).to_lowercase())).or_default() += 1;
    }
    let states: Vec<String> = counts.into_iter().map(|((_, state), count)| format!("{count} {state}")).collect();
    let noun = if agents.len() == 1 { "agent" } else { "agents" };
    format!("{} {noun}: {}", agents.len(), states.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PIPE: Screen = Screen { width: 100, height: None, is_coloured: false };

    fn agent(name: &str, shown: &str, is_seen: bool) -> PresentAnswer {
        let time = "2026-01-11T16:26:00Z";
        let seen = is_seen.then_some(time);
        let agent = json!({
            "id": 1, "name": name, "program": "codex-cli", "model": "", "task_description": "", "registered_ts": time,
            "last_active_ts": time, "presence": { "shown": shown, "state": "", "since": seen, "seen_ts": seen },
            "reservations": 0,
        });
        serde_json::from_value(agent).unwrap()
    }

    fn shown(agents: &[PresentAnswer], screen: Screen) -> String {
        text(agents, "2026-01-11T16:30:00Z".parse().unwrap(), &screen)
    }

    #[test]
    fn who_is_awake_comes_first_and_who_was_never_heard_of_last() {
        let awake = PresentAnswer {
            last_mail_ts: Some(Time("2026-01-11T15:30:00Z".parse().unwrap())),
            reservations: 2,
            ..agent("zoe", "AWAKE/WORKING", true)
        };
        let agents = [
            agent("dave", "OFFLINE (no presence file)", false),
            agent("bob", "OFFLINE", true),
            agent("erin", "STALE/WORKING", true),
            agent("carl", "SLEEPING/SHUTDOWN", true),
            agent("anna", "AWAKE", true),
            awake,
        ];
        insta::assert_snapshot!(shown(&agents, PIPE));
    }

    #[test]
    fn a_person_is_shown_as_one() {
        let mut anna = agent("Anna", "AWAKE", true);
        anna.agent.program = PERSON.to_owned();
        assert!(shown(&[anna, agent("bob", "AWAKE", true)], PIPE).contains("\nAnna (human)  AWAKE"));
    }

    #[test]
    fn an_age_is_never_negative() {
        let mut early = agent("anna", "AWAKE", true);
        early.presence.seen_ts = Some(Time("2026-01-11T16:30:20Z".parse().unwrap()));
        let text = shown(&[early], PIPE);
        assert!(text.contains("just now") && !text.contains("-2"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_no_text_breaks_one() {
        let long = "word\n\x1b[31m".repeat(100);
        let mut hostile = PresentAnswer { reservations: 7, ..agent(&long, &long, false) };
        hostile.agent.program.clone_from(&long);
        for width in [40, 50, 80, 250] {
            let text = shown(&[hostile.clone()], Screen { width, ..PIPE });
            assert_eq!(text.lines().count(), 4, "{text}");
            assert!(text.lines().all(|line| text::width(line) <= width), "{width}: {text}");
            assert!(!text.contains('\x1b'), "{text}");
        }
    }

    #[test]
    fn a_state_has_its_colour_where_there_are_colours() {
        let agents = [agent("anna", "AWAKE/IDLE", true)];
        let text = shown(&agents, Screen { is_coloured: true, ..PIPE });
        assert!(text.contains("\x1b[32mAWAKE/IDLE\x1b[0m"), "{text:?}");
        assert!(!shown(&agents, PIPE).contains('\x1b'));
    }

    #[test]
    fn a_terminal_that_is_too_low_shows_who_is_awake_and_the_sum() {
        let many: Vec<_> = (0..50).map(|at| agent(&format!("agent-{at:02}"), "AWAKE", true)).collect();
        let text = shown(&many, Screen { height: Some(20), ..PIPE });
        assert!(text.lines().count() < 20 && text.contains("… and 35 more") && text.ends_with("50 agents: 50 awake"));
        assert!(text.contains("agent-14") && !text.contains("agent-15"), "{text}");
    }
}
