//! All projects at a glance: how much is unread, who is awake, who asks for help, and how busy it is.

use askama::Template;
use jiff::{SignedDuration, Timestamp};
use mail::ids::ProjectId;
use mail::office::WorkRequest;
use mail::overview::Listing;
use mail::projects::Project;
use mail::work::State as WorkState;
use mail::{Error, Office};

use super::agents::is_awake;
use super::frame::Frame;
use super::markdown::line;
use super::messages::{MessageRow, last_part, row};
use super::picture;
use super::refused::PageResult;
use super::visit::{PageQuery, Query, Visit};

/// How many projects and messages a page shows.
const PROJECTS: usize = 60;
const NEWEST: usize = 10;
/// How far counting goes: beyond that it matters no more how many.
const COUNTED: usize = 10_000;
/// How many agents are looked at for who is awake, and how many items for who asks for help.
const AGENTS: usize = 1_000;
const ASKING: usize = 100;
/// The hours that are drawn.
const HOURS: usize = 24;

/// A project at a glance.
pub struct Card {
    /// How it stands in addresses.
    pub slug: String,
    /// The last part of its path.
    pub name: String,
    pub path: String,
    /// How many deliveries nobody has read.
    pub unread: String,
    /// How many agents there are, and how many are awake.
    pub agents: String,
    pub awake: usize,
    /// How many ask for help, and how many of them for too long.
    pub help: usize,
    pub overdue: usize,
    /// How busy it was, as a picture and in words.
    pub spark: String,
    pub traffic: String,
}

/// How a project stands.
pub async fn card(office: &Office, project: &Project) -> Result<Card, Error> {
    let (store, now) = (office.store(), office.now());
    let unread = store.count_unread(project.id, None, COUNTED).await?;
    let present = store.present(project.id, None, AGENTS, now).await?;
    let working = || present.iter().filter(|present| present.agent.retired_at.is_none());
    let wanted = WorkRequest { state: Some("help_wanted"), limit: ASKING, ..WorkRequest::default() };
    let request = WorkRequest { project_key: &project.slug, ..wanted };
    let asking = office.work(request).await?.items;
    let overdue = |state: &WorkState| matches!(state, WorkState::HelpWanted(question) if question.overdue);
    let hour = SignedDuration::from_hours(1);
    let traffic = store.traffic(project.id, begin_of(now), hour, HOURS).await?;
    let sent: u64 = traffic.iter().sum();
    Ok(Card {
        slug: project.slug.clone(),
        name: line(last_part(&project.human_key), 60),
        path: line(&project.human_key, 160),
        unread: at_most(unread, COUNTED),
        agents: at_most(working().count(), AGENTS),
        awake: working().filter(|present| is_awake(present, now)).count(),
        help: asking.len(),
        overdue: asking.iter().filter(|item| overdue(&item.state)).count(),
        spark: picture::bars(&traffic),
        traffic: match sent {
            0 => "No message in the last 24 hours".to_owned(),
            1 => "1 message in the last 24 hours".to_owned(),
            sent => format!("{sent} messages in the last 24 hours"),
        },
    })
}

/// When the first of the hours began that are drawn.
fn begin_of(now: Timestamp) -> Timestamp {
    let hours = i64::try_from(HOURS).unwrap_or_default() - 1;
    let begun = now.as_second() - now.as_second().rem_euclid(3600) - hours * 3600;
    Timestamp::from_second(begun).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A count that went only so far.
pub fn at_most(count: usize, most: usize) -> String {
    if count >= most { format!("{most}+") } else { count.to_string() }
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    cards: Vec<Card>,
    messages: Vec<MessageRow>,
    next: Option<i64>,
}

/// `GET /`
pub async fn show(Query(query): Query<PageQuery>, visit: Visit) -> PageResult {
    let office = visit.office();
    let projects = office.projects(query.after.map(ProjectId), PROJECTS).await?;
    let mut cards = Vec::with_capacity(projects.len());
    for project in &projects {
        cards.push(card(office, project).await?);
    }
    // Whoever is stuck comes first.
    cards.sort_by_key(|card| std::cmp::Reverse((card.overdue > 0, card.help > 0)));
    let listed = office.listing(None, None, &Listing { limit: NEWEST, ..Listing::default() }).await?;
    let frame = visit.frame("Overview", "overview");
    let messages = listed.iter().map(|(project, listed)| row(project, listed, projects.len() > 1, frame.now)).collect();
    visit.page(&OverviewPage { frame, cards, messages, next: api::next(&projects, PROJECTS, |last| last.id.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hours_that_are_drawn_end_with_this_one() {
        let now: Timestamp = "2026-01-11T16:33:15Z".parse().unwrap();
        assert_eq!(begin_of(now).to_string(), "2026-01-10T17:00:00Z");
        assert_eq!([at_most(9, 10), at_most(10, 10)], ["9", "10+"]);
    }
}
