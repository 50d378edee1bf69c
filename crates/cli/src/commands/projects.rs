//! `postrider projects`: every project of the post office, and how much is in each.

use std::process::ExitCode;

use api::answers::ProjectSumAnswer;
use api::{SumProjects, Time};
use clap::Args;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use serde_json::json;

use super::mail::ago::ago;
use crate::config::Config;
use crate::output::grid::{Cell, Layout};
use crate::output::{self, Screen};
use crate::post_office::{self, pages};

const EXAMPLES: &str = "\
A project is a folder, mostly a git repository with all its worktrees. Commands take its path or its slug with --project.

Examples:
  postrider projects
  postrider projects --json | jq -r '.projects[] | select(.unread > 0).slug'";

/// Show every project: its path, its agents and its mail.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Projects {}

const TABLE: Layout<6> = Layout {
    columns: [("PROJECT", 60), ("PATH", 120), ("AGENTS", 6), ("UNREAD", 6), ("MESSAGES", 9), ("LAST MAIL", 12)],
    // Who gives way where there is no room, and how far: the path, the slug, the times and the counts.
    giving: &[(1, 20), (0, 16), (5, 9), (1, 0), (4, 6), (0, 8), (5, 5)],
};

impl Projects {
    /// Prints the table.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        post_office::visit(config, "", async |post_office| {
            let request = SumProjects { limit: Some(pages::MOST_AT_ONCE), ..SumProjects::default() };
            let turn = |request: &mut SumProjects, next| request.after = Some(next);
            let (page, has_more) =
                pages::all(post_office, request, turn, |page| (&mut page.projects, page.next)).await?;
            let nothing = page.projects.is_empty().then_some("No project yet. One begins with: postrider join NAME");
            let mut json = json!({ "projects": page.projects });
            if has_more {
                json["has_more"] = true.into();
            }
            Ok(output::answer_or(as_json, nothing, &json, || {
                table(page.projects, SystemClock.now(), &Screen::of_stdout())
            }))
        })
    }
}

/// The projects with the newest mail come first.
fn table(mut projects: Vec<ProjectSumAnswer>, now: Timestamp, screen: &Screen) -> String {
    let time = |one: &ProjectSumAnswer| one.last_mail_ts.map(|Time(time)| time);
    projects.sort_by(|one, other| (time(other), &one.project.slug).cmp(&(time(one), &other.project.slug)));
    TABLE.text(projects.iter().map(|one| row(one, now)), screen)
}

fn row(one: &ProjectSumAnswer, now: Timestamp) -> [Cell; 6] {
    [
        one.project.slug.clone().into(),
        one.project.human_key.clone().into(),
        one.agents.to_string().into(),
        if one.unread > 0 { one.unread.to_string().into() } else { Cell::default() },
        one.messages.to_string().into(),
        one.last_mail_ts.map(|Time(time)| ago(time, now)).unwrap_or_default().into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::text;

    fn project(slug: &str, path: &str, unread: u64, last: Option<&str>) -> ProjectSumAnswer {
        let project = json!({
            "slug": slug, "human_key": path, "created_at": "2026-01-01T00:00:00Z", "agents": 3, "messages": 1200,
            "unread": unread, "last_mail_ts": last,
        });
        serde_json::from_value(project).unwrap()
    }

    fn shown(projects: Vec<ProjectSumAnswer>, width: usize) -> String {
        let now = "2026-01-11T16:30:00Z".parse().unwrap();
        table(projects, now, &Screen { width, height: None, is_coloured: false })
    }

    #[test]
    fn the_project_with_the_newest_mail_comes_first() {
        let projects = vec![
            project("data-quiet", "/data/quiet", 0, None),
            project("data-old", "/data/old", 2, Some("2026-01-02T16:00:00Z")),
            project("data-app", "/data/app", 61, Some("2026-01-11T16:26:00Z")),
        ];
        insta::assert_snapshot!(shown(projects, Screen::ENDLESS));
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let long = format!("/{}", "folder/".repeat(100));
        for width in [50, 80, 100] {
            let told = shown(vec![project(&long, &long, 1, None)], width);
            assert!(told.lines().all(|line| text::width(line) <= width), "{width}: {told}");
        }
    }
}
