//! `postrider who`: who is there, since when, and what it is at.
//!
//! Asks the office and shows what it says. Looking is no sign of life: nobody becomes awake by it.

use std::collections::HashMap;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use api::answers::{OpenSessionAnswer, PresentAnswer};
use api::{AgentsAnswer, ListAgents, Time};
use clap::Args;
use jiff::Timestamp;
use mail::agents::{PERSON, signed};
use mail::roles::ROLE;
use serde::Serialize;
use serde_json::{Value, json};

use super::mail::ago::ago;
use super::reservations;
use super::watching::{Staying, WatchedTable};
use crate::config::Config;
use crate::output::grid::{self, Cell, Layout};
use crate::output::{Screen, text};
use crate::post_office::{InProject, PostOffice, Refused, pages, resource};

const EXAMPLES: &str = "\
Whatever an agent does says that it is awake: a call of a tool, a hook, a command here. Its watcher, or the
heartbeat file of an agent elsewhere, also says what it is at. Who says that it is awake and is silent for over
300 seconds is STALE.

Examples:
  postrider who                     the agents of the project in the current folder, those who are awake first
  postrider who --watch             the same, drawn again whenever somebody comes or goes
  postrider who GreenDog --json     one agent, for a program";

/// Show who is there: who is awake, since when, and what it is at.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Who {
    /// Only this agent
    agent: Option<String>,
    #[command(flatten)]
    staying: Staying,
    #[command(flatten)]
    project: InProject,
}

impl Who {
    /// Prints the table; exit code 1 when the office refuses.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        self.project.visit(config, async |post_office, key| {
            let request = ListAgents {
                project_key: key.to_owned(),
                agent_name: self.agent.clone(),
                limit: Some(pages::MOST_AT_ONCE),
                ..ListAgents::default()
            };
            self.staying.show(post_office, &request, as_json).await
        })
    }
}

/// What programs are told.
#[derive(Serialize)]
pub struct ListedAgents {
    /// The slug of the project.
    project: String,
    agents: Vec<ListedAgent>,
    /// Whether there are more than are worth reading.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_more: bool,
}

/// An agent, and what it has reserved.
#[derive(Clone, Serialize)]
struct ListedAgent {
    #[serde(flatten)]
    present: PresentAnswer,
    /// The patterns that it has reserved, in the order in which they were granted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
}

impl WatchedTable for ListAgents {
    type Answer = ListedAgents;

    async fn ask(&self, post_office: &PostOffice) -> Result<ListedAgents, Refused> {
        // Agents elsewhere tell of themselves in the folder.
        post_office.settle_channels().await;
        let turn = |request: &mut Self, next| request.after = Some(next);
        let (AgentsAnswer { project, mut agents, .. }, has_more) =
            pages::all(post_office, self.clone(), turn, |page| (&mut page.agents, page.next)).await?;
        // Whoever was named is told, retired or not; in the list of all, who is retired would only be in the way, and so would the
        // mailboxes of roles, in which nobody is.
        let is_there = |one: &PresentAnswer| one.agent.retired_ts.is_none() && one.agent.program != ROLE;
        agents.retain(|one| self.agent_name.is_some() || is_there(one));
        let mut paths: HashMap<String, Vec<String>> = HashMap::new();
        if agents.iter().any(|one| one.reservations > 0) {
            for held in reservations::all(post_office, &self.project_key).await? {
                paths.entry(held.agent).or_default().push(held.path_pattern);
            }
        }
        let listed = |present: PresentAnswer| ListedAgent {
            paths: paths.remove(&present.agent.name).unwrap_or_default(),
            present,
        };
        Ok(ListedAgents { project: project.slug, agents: agents.into_iter().map(listed).collect(), has_more })
    }

    fn watched(&self) -> String {
        resource("agents", &self.project_key, &[])
    }

    fn text(&self, answer: &ListedAgents, now: Timestamp, screen: &Screen) -> String {
        if answer.agents.is_empty() {
            return "Nobody is here yet. An agent appears when it registers or joins: postrider join NAME.".to_owned();
        }
        let mut text = table(&answer.agents, now, screen);
        text.push_str(&sessions(&answer.agents, self.agent_name.is_some(), now));
        if answer.has_more {
            text.push_str("\nThere are more agents; name one to see it.");
        }
        text
    }

    /// That somebody was seen again does not count.
    fn compared(&self, answer: &ListedAgents) -> Value {
        let mut json = json!(answer);
        for agent in json["agents"].as_array_mut().into_iter().flatten() {
            agent["last_active_ts"].take();
            agent["presence"]["seen_ts"].take();
            for session in agent["sessions"].as_array_mut().into_iter().flatten() {
                session["seen_ts"].take();
            }
        }
        json
    }
}

const TABLE: Layout<8> = Layout {
    columns: [
        ("AGENT", 30),
        ("STATE", 30),
        ("SINCE", 12),
        ("SEEN", 12),
        ("MAIL", 12),
        ("UNREAD", 6),
        ("PATHS", 60),
        ("PROGRAM", 24),
    ],
    // Who gives way where there is no room, and how far: the paths and the program, the times that matter least, the agent
    // and its state.
    giving: &[(6, 12), (7, 6), (4, 5), (7, 0), (3, 5), (6, 6), (2, 5), (0, 8), (1, 8), (6, 0), (4, 0), (5, 0)],
};

/// The table and the line that sums it up. Rows for which the screen has no lines are only counted.
fn table(agents: &[ListedAgent], now: Timestamp, screen: &Screen) -> String {
    let mut agents: Vec<&ListedAgent> = agents.iter().collect();
    agents.sort_by_key(|one| (rank(&one.present), &one.present.agent.name));
    let states = agents.iter().map(|one| (rank(&one.present).min(3), state(&one.present).to_lowercase()));
    TABLE.summed(agents.iter().map(|one| row(one, now)), &grid::sum("agent", states), screen)
}

fn row(ListedAgent { present, paths }: &ListedAgent, now: Timestamp) -> [Cell; 8] {
    let PresentAnswer { agent, presence, last_mail_ts, unread, .. } = present;
    let age = |time: Option<Time>| Cell::from(time.map(|Time(then)| ago(then, now)).unwrap_or_default());
    let unread = if *unread > 0 { unread.to_string() } else { String::new() };
    [
        signed(&agent.name, agent.program == PERSON).into(),
        Cell { text: presence.shown.clone(), style: style(present) },
        age(presence.since),
        age(presence.seen_ts),
        age(*last_mail_ts),
        unread.into(),
        shown_paths(paths).into(),
        agent.program.clone().into(),
    ]
}

/// A line for each session of those who have several, or of the one who was asked for.
fn sessions(agents: &[ListedAgent], is_one: bool, now: Timestamp) -> String {
    let told = agents
        .iter()
        .map(|one| &one.present)
        .filter(|one| one.sessions.len() > 1 || is_one && !one.sessions.is_empty());
    let lines = told.flat_map(|one| {
        one.sessions.iter().map(|session| {
            let OpenSessionAnswer { client, host, place, is_idle, began_ts: Time(began), .. } = session;
            let state = if *is_idle { "idle" } else { "working" };
            format!("{}: {client} in {place} on {host}, {state}, began {}", one.agent.name, ago(*began, now))
        })
    });
    let lines: String = lines.map(|line| format!("\n  {}", text::unbroken(&line))).collect();
    if lines.is_empty() { lines } else { format!("\n\nOpen sessions:{lines}") }
}

/// The first of the paths, and how many more there are: what is cut off at the end does not count them.
fn shown_paths(paths: &[String]) -> String {
    match paths {
        [] => String::new(),
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} +{}", rest.len()),
    }
}

/// The state as it is shown, without what the agent is at.
fn state(one: &PresentAnswer) -> &str {
    one.presence.shown.split(['/', ' ']).next().unwrap_or_default()
}

/// Its place in the table: who is awake comes first, and who was never heard of last.
fn rank(one: &PresentAnswer) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Screen = Screen { width: 100, height: None, is_coloured: false };

    fn agent(name: &str, shown: &str, is_seen: bool) -> PresentAnswer {
        let time = "2026-01-11T16:26:00Z";
        let seen = is_seen.then_some(time);
        let agent = json!({
            "id": 1, "name": name, "program": "codex-cli", "model": "", "task_description": "", "registered_ts": time,
            "last_active_ts": time, "presence": { "shown": shown, "state": "", "since": seen, "seen_ts": seen },
            "reservations": 0, "unread": 0,
        });
        serde_json::from_value(agent).unwrap()
    }

    fn shown(agents: &[PresentAnswer], screen: Screen) -> String {
        let held = |one: &PresentAnswer| (1..=one.reservations).map(|at| format!("src/{at}/**")).collect();
        let agents: Vec<ListedAgent> =
            agents.iter().map(|one| ListedAgent { paths: held(one), present: one.clone() }).collect();
        table(&agents, "2026-01-11T16:30:00Z".parse().unwrap(), &screen)
    }

    #[test]
    fn who_is_awake_comes_first_and_who_was_never_heard_of_last() {
        let awake = PresentAnswer {
            last_mail_ts: Some(Time("2026-01-11T15:30:00Z".parse().unwrap())),
            reservations: 2,
            unread: 61,
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
    fn two_sessions_under_one_name_are_told_each_with_its_client_and_place() {
        let session = |client: &str, is_idle: bool| {
            let time = "2026-01-11T16:00:00Z";
            let session = json!({
                "client": client, "host": "here", "place": "/data/app", "is_idle": is_idle, "began_ts": time, "seen_ts": time,
            });
            serde_json::from_value(session).unwrap()
        };
        let now = "2026-01-11T16:30:00Z".parse().unwrap();
        let one = PresentAnswer { sessions: vec![session("claude", true)], ..agent("zoe", "AWAKE", true) };
        let two = PresentAnswer { sessions: vec![session("claude", false), session("codex", true)], ..one.clone() };
        let told =
            |one: PresentAnswer, is_one| sessions(&[ListedAgent { present: one, paths: Vec::new() }], is_one, now);
        assert_eq!(told(one.clone(), false), "");
        assert!(told(one, true).contains("\n  zoe: claude in /data/app on here, idle, began 30 min ago"));
        assert_eq!(told(two, false).matches("\n  zoe: ").count(), 2);
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
