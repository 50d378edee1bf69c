//! What is said of a commit that should not be made: whose files they are, until when, and what to do.

use std::collections::BTreeSet;

use api::{ConflictAnswer, Time};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::output::Screen;
use crate::output::grid::{self, Cell, Column};
use crate::output::text::unbroken;

const COLUMNS: [Column; 4] = [
    Column { head: "PATH", most: 200 },
    Column { head: "HOLDER", most: 30 },
    Column { head: "RESERVED AS", most: 40 },
    Column { head: "UNTIL", most: 40 },
];
/// Who gives way where there is no room: the pattern, the holder, and the path last.
const GIVING: [(usize, usize); 4] = [(2, 11), (1, 12), (0, 20), (3, 20)];
/// How many paths are shown. Programs get all of them.
const MOST_ROWS: usize = 20;

/// What programs are told: `{"agent", "conflicts"}`.
pub fn json(found: &[ConflictAnswer], agent: Option<&str>) -> Value {
    json!({ "agent": agent, "conflicts": found })
}

/// What people are told.
pub fn text(found: &[ConflictAnswer], agent: Option<&str>, now: Timestamp, screen: &Screen) -> String {
    let rows: Vec<[Cell; 4]> = found.iter().take(MOST_ROWS).map(|conflict| row(conflict, now)).collect();
    let mut lines =
        vec!["Not committed: another agent has reserved what this commit changes.".to_owned(), String::new()];
    lines.extend(grid::lines(&COLUMNS, &GIVING, &rows, screen));
    if found.len() > rows.len() {
        lines.push(format!("… and {} more", found.len() - rows.len()));
    }
    lines.push(String::new());
    let holders: BTreeSet<&str> = found.iter().map(|conflict| conflict.holder.as_str()).collect();
    let holder = match holders.first() {
        Some(only) if holders.len() == 1 => in_shell(only),
        _ => "HOLDER".to_owned(),
    };
    lines.push(format!("Wait, or ask:             postrider mail send {holder} -s … -m …"));
    lines.push("To commit all the same:   POSTRIDER_GUARD=off git commit …".to_owned());
    if agent.is_none() {
        lines.push(
            "Nobody said who commits, so no reservation is known to be yours: set POSTRIDER_AGENT to your name, or agent in \
             postrider.toml."
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn row(conflict: &ConflictAnswer, now: Timestamp) -> [Cell; 4] {
    let ConflictAnswer { path, holder, path_pattern, expires_ts: Time(ends_at), .. } = conflict;
    // A minute that has begun is still to be waited for, and a clock that differs from the office's says nothing odd.
    let seconds = ends_at.as_second().saturating_sub(now.as_second()).max(1);
    let until = format!("{} (in {} min)", ends_at.strftime("%Y-%m-%d %H:%M:%SZ"), (seconds + 59) / 60);
    [path.clone().into(), holder.clone().into(), path_pattern.clone().into(), until.into()]
}

/// A name as a shell reads it.
fn in_shell(name: &str) -> String {
    let name = unbroken(name);
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.@/".contains(letter);
    if name.chars().all(is_plain) { name } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Screen = Screen { width: 100, height: None, is_coloured: false };

    fn conflict(path: &str, holder: &str) -> ConflictAnswer {
        ConflictAnswer {
            path: path.to_owned(),
            holder: holder.to_owned(),
            path_pattern: "src/**".to_owned(),
            expires_ts: Time("2026-01-11T16:40:00Z".parse().unwrap()),
            reason: String::new(),
        }
    }

    fn told(found: &[ConflictAnswer], now: &str) -> String {
        text(found, Some("Bob"), now.parse().unwrap(), &PIPE)
    }

    #[test]
    fn how_long_to_wait_is_told_in_minutes_that_are_never_too_few() {
        let found = [conflict("src/a.rs", "Ann")];
        for (now, minutes) in [("16:30:00", 10), ("16:30:01", 10), ("16:31:00", 9), ("16:39:59", 1), ("16:41:00", 1)] {
            let text = told(&found, &format!("2026-01-11T{now}Z"));
            assert!(text.contains(&format!("2026-01-11 16:40:00Z (in {minutes} min)")), "{now}: {text}");
        }
    }

    #[test]
    fn one_holder_is_asked_by_name_and_any_name_can_be_pasted() {
        let asked = |holders: &[&str]| {
            let found: Vec<ConflictAnswer> = holders.iter().map(|holder| conflict("src/a.rs", holder)).collect();
            let text = told(&found, "2026-01-11T16:30:00Z");
            text.split("mail send ").nth(1).and_then(|rest| rest.split(" -s ").next()).unwrap().to_owned()
        };
        assert_eq!(asked(&["Ann", "Ann"]), "Ann");
        assert_eq!(asked(&["O'Hara $(x)"]), r"'O'\''Hara $(x)'");
        assert_eq!(asked(&["Ann", "Bea"]), "HOLDER");
    }

    #[test]
    fn a_thousand_files_are_counted_and_not_all_shown() {
        let found: Vec<ConflictAnswer> = (0..1000).map(|at| conflict(&format!("src/{at}.rs\x1b[2J"), "Ann")).collect();
        let text = told(&found, "2026-01-11T16:30:00Z");
        assert!(text.contains("… and 980 more") && text.lines().count() < 30 && !text.contains('\x1b'), "{text}");
        assert_eq!(json(&found, None)["conflicts"].as_array().unwrap().len(), 1000);
    }
}
