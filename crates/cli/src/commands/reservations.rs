//! `postrider reservations`: which files are reserved, by whom, until when, and who waits for them.

use std::cell::RefCell;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use api::answers::{ReservationAnswer, WaitingAnswer};
use api::{ListReservations, ReservedAnswer, Time};
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::reserve::length;
use super::watching::{Staying, WatchedTable};
use crate::config::Config;
use crate::output::Screen;
use crate::output::grid::{self, Cell, Layout};
use crate::output::text;
use crate::post_office::{InProject, PostOffice, Refused, pages, resource};

const EXAMPLES: &str = "\
Examples:
  postrider reservations             the files that are reserved in the project of the current folder
  postrider reservations --watch     the same, drawn again whenever one is granted or ends
  postrider reservations --json      for a program";

/// Show which files are reserved: by whom, until when, and who waits.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Reservations {
    #[command(flatten)]
    staying: Staying,
    #[command(flatten)]
    project: InProject,
}

impl Reservations {
    /// Prints the table; exit code 1 when the office refuses.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        self.project.visit(config, async |post_office, key| {
            let request = listed(key);
            self.staying.show(post_office, &request, as_json).await
        })
    }
}

fn listed(key: &str) -> ListReservations {
    ListReservations { project_key: key.to_owned(), limit: Some(pages::MOST_AT_ONCE), ..ListReservations::default() }
}

/// All reservations of a project, in the order they were granted.
pub async fn all(post_office: &PostOffice, key: &str) -> Result<Vec<ReservationAnswer>, Refused> {
    let turn = |request: &mut ListReservations, next| request.after = Some(next);
    let (page, _) = pages::all(post_office, listed(key), turn, |page| (&mut page.reservations, page.next)).await?;
    Ok(page.reservations)
}

/// What programs are told.
#[derive(Serialize)]
pub struct Reserved {
    /// The slug of the project.
    project: String,
    reservations: Vec<ReservationAnswer>,
    /// Who stands in line, in that order.
    waiting: Vec<WaitingAnswer>,
    /// Whether there are more than are worth reading.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_more: bool,
}

impl WatchedTable for ListReservations {
    type Answer = Reserved;

    async fn ask(&self, post_office: &PostOffice) -> Result<Reserved, Refused> {
        let waiting = RefCell::new(Vec::new());
        let turn = |request: &mut Self, next| request.after = Some(next);
        let (ReservedAnswer { project, reservations, .. }, has_more) =
            pages::all(post_office, self.clone(), turn, |page| {
                // They come with the first page.
                waiting.borrow_mut().append(&mut page.waiting);
                (&mut page.reservations, page.next)
            })
            .await?;
        Ok(Reserved { project, reservations, waiting: waiting.into_inner(), has_more })
    }

    fn watched(&self) -> String {
        resource("reservations", &self.project_key, &[])
    }

    fn text(&self, answer: &Reserved, now: Timestamp, screen: &Screen) -> String {
        if answer.reservations.is_empty() {
            return "No file is reserved. Reserve some with: postrider reserve PATHS --exclusive".to_owned();
        }
        let mut text = table(answer, now, screen);
        if answer.has_more {
            text.push_str("\nThere are more reservations.");
        }
        text
    }
}

const TABLE: Layout<6> = Layout {
    columns: [("PATHS", 200), ("HOLDER", 30), ("KIND", 9), ("ENDS IN", 8), ("WAITING", 60), ("REASON", 60)],
    // Who gives way where there is no room, and how far: the reason, who waits, the holder, the paths, and the rest.
    giving: &[(5, 8), (4, 8), (1, 10), (0, 20), (5, 0), (4, 0), (1, 5), (0, 10)],
};

/// The table and the line that sums it up. Rows for which the screen has no lines are only counted.
fn table(answer: &Reserved, now: Timestamp, screen: &Screen) -> String {
    let rows = answer.reservations.iter().map(|one| row(one, &answer.waiting, now));
    let states = answer.reservations.iter().map(|one| (usize::from(!one.exclusive), kind(one).to_owned()));
    let mut sum = grid::sum("reservation", states);
    if !answer.waiting.is_empty() {
        let names: Vec<&str> = answer.waiting.iter().map(|waiting| waiting.agent.as_str()).collect();
        sum.push_str(&text::unbroken(&format!("; in line: {}", names.join(", "))));
    }
    TABLE.summed(rows, &sum, screen)
}

fn row(one: &ReservationAnswer, waiting: &[WaitingAnswer], now: Timestamp) -> [Cell; 6] {
    let Time(end) = one.expires_ts;
    let waits = waiting.iter().filter(|waiting| waiting.waits_for.contains(&one.id));
    let waits: Vec<&str> = waits.map(|waiting| waiting.agent.as_str()).collect();
    let style = if one.exclusive { Style::new().fg_color(Some(AnsiColor::Yellow.into())) } else { Style::new() };
    [
        one.path_pattern.clone().into(),
        one.agent.clone().into(),
        Cell { text: kind(one).to_owned(), style },
        length(end, now).into(),
        waits.join(", ").into(),
        one.reason.clone().into(),
    ]
}

fn kind(one: &ReservationAnswer) -> &'static str {
    if one.exclusive { "exclusive" } else { "shared" }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PIPE: Screen = Screen { width: Screen::ENDLESS, height: None, is_coloured: false };

    fn reserved(reservations: Value, waiting: Value) -> Reserved {
        Reserved {
            project: "app".to_owned(),
            reservations: serde_json::from_value(reservations).unwrap(),
            waiting: serde_json::from_value(waiting).unwrap(),
            has_more: false,
        }
    }

    fn one(id: i64, agent: &str, path: &str, exclusive: bool, reason: &str) -> Value {
        json!({
            "id": id, "agent": agent, "path_pattern": path, "exclusive": exclusive, "reason": reason,
            "created_ts": "2026-01-11T16:00:00Z", "expires_ts": "2026-01-11T16:42:00Z",
        })
    }

    fn shown(answer: &Reserved, screen: Screen) -> String {
        table(answer, "2026-01-11T16:30:00Z".parse().unwrap(), &screen)
    }

    #[test]
    fn who_holds_what_until_when_and_who_waits_is_told() {
        let held = json!([one(1, "GreenDog", "src/**", true, "bd-42"), one(2, "RedFox", "docs/**", false, "")]);
        let waiting = json!([{ "agent": "BlueLake", "paths": ["src/a.rs"], "exclusive": true, "waits_for": [1] }]);
        insta::assert_snapshot!(shown(&reserved(held, waiting), PIPE));
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_no_text_breaks_one() {
        let long = "word\n\x1b[31m".repeat(50);
        let held = json!([one(1, &long, &long, true, &long)]);
        let waiting = json!([{ "agent": long, "paths": [long], "exclusive": true, "waits_for": [1] }]);
        let answer = reserved(held, waiting);
        for width in [40, 60, 100, 300, Screen::ENDLESS] {
            let told = shown(&answer, Screen { width, ..PIPE });
            let table: Vec<&str> = told.lines().take(2).collect();
            assert!(table.iter().all(|line| text::width(line) <= width.min(300)), "{width}: {told}");
            assert!(!told.contains('\x1b'), "{told}");
        }
        assert!(shown(&answer, PIPE).lines().take(2).all(|line| text::width(line) <= 100));
    }
}
