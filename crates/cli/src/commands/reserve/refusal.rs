//! What is said of files that others hold: who, until when, and what to do.

use std::collections::BTreeSet;

use api::{InTheWayAnswer, Time};
use jiff::Timestamp;
use serde_json::json;

use super::{until, waiting_for};
use crate::output::Screen;
use crate::output::grid::{Cell, Layout};
use crate::output::text;
use crate::post_office::Refused;

const TABLE: Layout<4> = Layout {
    columns: [("WANTED", 100), ("HOLDER", 30), ("HELD AS", 100), ("UNTIL", 40)],
    // Who gives way where there is no room: what is held, the holder, what is wanted, the end.
    giving: &[(2, 12), (1, 12), (0, 20), (3, 9)],
};

/// The refusal of somebody who has waited long enough.
pub fn of(conflicts: &[InTheWayAnswer]) -> Refused {
    let message = format!("Not granted in that time. {}", waiting_for(conflicts).trim_end_matches('.'));
    Refused::new(mail::Error::RESERVED, &message, "Wait longer, ask the holder, or reserve fewer paths.")
        .saying("conflicts", json!(conflicts))
}

/// The same for people, as an office told it.
pub fn text(refused: &Refused, has_waited: bool, now: Timestamp) -> String {
    let conflicts: Vec<InTheWayAnswer> =
        refused.said("conflicts").and_then(|said| serde_json::from_value(said.clone()).ok()).unwrap_or_default();
    let mut lines = vec!["Not reserved: others hold it, or came earlier.".to_owned(), String::new()];
    lines.extend(TABLE.lines(conflicts.iter().map(|one| row(one, now)), &Screen::of_stderr().uncut()));
    lines.push(String::new());
    let holders: BTreeSet<&str> = conflicts.iter().map(|one| one.holder.as_str()).collect();
    let holder = match holders.first() {
        Some(only) if holders.len() == 1 => text::shell_word(only),
        _ => "HOLDER".to_owned(),
    };
    if !has_waited {
        lines.push("Stand in line:   the same with --wait".to_owned());
    }
    lines.push(format!("Ask the holder:  postrider mail send {} -s … -m …", holder));
    lines.join("\n")
}

fn row(one: &InTheWayAnswer, now: Timestamp) -> [Cell; 4] {
    let Time(end) = one.expires_ts;
    let held_as = match (one.waiting, one.exclusive) {
        (true, _) => format!("{} (in line)", one.held_path),
        (false, true) => one.held_path.clone(),
        (false, false) => format!("{} (shared)", one.held_path),
    };
    // When somebody in line will be done, nobody knows.
    let end = if one.waiting { String::new() } else { until(end, now) };
    [one.path.clone().into(), one.holder.clone().into(), held_as.into(), end.into()]
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn conflict(holder: &str, waiting: bool, exclusive: bool) -> Value {
        json!({
            "path": "src/a.rs", "held_path": "src/**", "holder": holder, "exclusive": exclusive, "waiting": waiting,
            "expires_ts": "2026-01-11T16:40:00Z",
        })
    }

    fn told(conflicts: Value, has_waited: bool) -> String {
        let refused =
            Refused::new(mail::Error::RESERVED, "FILE_RESERVATION_CONFLICT: …", "").saying("conflicts", conflicts);
        text(&refused, has_waited, "2026-01-11T16:30:00Z".parse().unwrap())
    }

    #[test]
    fn who_holds_it_until_when_and_what_to_do_is_told() {
        insta::assert_snapshot!(told(
            json!([conflict("GreenDog", false, true), conflict("GreenDog", false, false)]),
            false
        ));
        let several = told(json!([conflict("O'Hara", false, true), conflict("Bob", true, true)]), true);
        assert!(
            several.contains("send HOLDER") && several.contains("(in line)") && !several.contains("--wait"),
            "{several}"
        );
        assert!(told(json!([conflict("O'Hara", false, true)]), true).contains(r#"send "O'Hara" -s"#));
    }
}
