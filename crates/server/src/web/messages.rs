//! All mail in one list, narrowed by what stands in the address; and the form for a new message.

use askama::Template;
use axum::extract::Path;
use formats::Kind;
use jiff::Timestamp;
use mail::ids::MessageId;
use mail::messages::{Importance, Message};
use mail::overview::{Listed, Listing};
use mail::projects::Project;
use mail::{Error, Office};
use serde::{Deserialize, Deserializer};

use super::frame::Frame;
use super::markdown::{beginning, line};
use super::refused::PageResult;
use super::session::random;
use super::times::When;
use super::visit::{Query, Visit, encoded, see};
use super::who::Who;

/// How many messages a page shows.
const MESSAGES: usize = 50;
/// How many names a list of choices has.
const CHOICES: usize = 500;
/// How much is shown of subjects, excerpts and lists of names, in characters.
const SUBJECT: usize = 200;
const NAMES: usize = 120;

/// A word beside a message.
pub struct Tag {
    /// What it says.
    pub text: String,
    /// How it looks: `red`, `amber`, `green`, `blue` or nothing.
    pub tone: &'static str,
}

/// A message in a list.
pub struct MessageRow {
    /// Its number.
    pub id: i64,
    /// Where it can be read.
    pub address: String,
    /// Who wrote it.
    pub from: Who,
    pub to: String,
    /// What it is about.
    pub subject: String,
    /// How it begins.
    pub excerpt: String,
    pub when: When,
    /// Whether somebody has not read it.
    pub is_unread: bool,
    /// What else is to be known.
    pub tags: Vec<Tag>,
}

/// A message as a list shows it, with its project if there are several.
pub fn row(project: &Project, listed: &Listed, with_project: bool, now: Timestamp) -> MessageRow {
    let message = &listed.message;
    let mut tags = tags(message);
    if listed.acks_due > 0 {
        tags.push(Tag { text: of_deliveries("ack due", listed.acks_due, listed.deliveries), tone: "amber" });
    }
    if listed.unread > 0 && listed.deliveries > 1 {
        tags.push(Tag { text: format!("{} of {} unread", listed.unread, listed.deliveries), tone: "" });
    }
    if listed.archived > 0 {
        tags.push(Tag { text: of_deliveries("put away", listed.archived, listed.deliveries), tone: "" });
    }
    if with_project {
        tags.push(Tag { text: line(last_part(&project.human_key), 40), tone: "" });
    }
    MessageRow {
        id: message.id.0,
        address: address(&project.slug, &message.thread, message.id.0),
        from: Who::wrote(message),
        to: names(&message.to),
        subject: subject(&message.subject),
        excerpt: beginning(&message.body, SUBJECT),
        when: When::ago(message.created_at, now),
        is_unread: listed.unread > 0,
        tags,
    }
}

/// What a project is called for short: the last part of its path.
pub fn last_part(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

fn of_deliveries(what: &str, count: usize, deliveries: usize) -> String {
    if deliveries > 1 { format!("{what}: {count} of {deliveries}") } else { what.to_owned() }
}

/// What a message says of itself.
pub fn tags(message: &Message) -> Vec<Tag> {
    let mut tags = Vec::new();
    match message.importance {
        Importance::Urgent => tags.push(Tag { text: "urgent".to_owned(), tone: "red" }),
        Importance::High => tags.push(Tag { text: "high".to_owned(), tone: "amber" }),
        Importance::Normal => {}
        Importance::Low => tags.push(Tag { text: "low".to_owned(), tone: "" }),
    }
    let kind = message.kind.filter(|kind| !kind.is_usual());
    tags.extend(kind.map(|kind| Tag { text: kind.as_str().to_owned(), tone: tone_of(kind) }));
    tags.extend(message.work_id.as_ref().map(|work| Tag { text: line(work, 40), tone: "" }));
    let malformed = (!message.problems.is_empty()).then(|| Tag { text: "malformed".to_owned(), tone: "amber" });
    tags.extend(malformed);
    tags
}

fn tone_of(kind: Kind) -> &'static str {
    match kind.as_str() {
        "HELP_REQUEST" | "FAILED" | "RETRY_REQUIRED" | "error_report" | "incident" => "red",
        "DONE" | "OFFERING_READY" | "OFFERING_ACCEPTED" | "COMPLETED" | "task_completion" => "green",
        "SPAWN_REQUEST" | "CHECKPOINT" | "coordination_request" => "amber",
        _ => "blue",
    }
}

/// Where a message can be read.
pub fn address(slug: &str, thread: &str, id: i64) -> String {
    format!("/p/{slug}/thread/{}?at={id}#m{id}", encoded(thread))
}

/// Names with commas between them.
pub fn names(names: &[String]) -> String {
    line(&names.join(", "), NAMES)
}

/// A subject on one line, or a word for none.
pub fn subject(subject: &str) -> String {
    let shown = line(subject, SUBJECT);
    if shown.is_empty() { "(no subject)".to_owned() } else { shown }
}

/// What an address asks for.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct MailQuery {
    project: String,
    agent: String,
    kind: String,
    #[serde(deserialize_with = "checked")]
    unread: bool,
    #[serde(deserialize_with = "checked")]
    ack: bool,
    #[serde(deserialize_with = "checked")]
    urgent: bool,
    #[serde(deserialize_with = "checked")]
    away: bool,
    before: Option<i64>,
    done: Option<String>,
}

/// A box that was ticked is sent, whatever it says.
fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let said = String::deserialize(deserializer)?;
    Ok(!["", "0", "false", "off"].contains(&said.as_str()))
}

impl MailQuery {
    /// Whether less than everything is asked for.
    fn narrows(&self) -> bool {
        self.unread || self.ack || self.urgent || self.away || !self.agent.is_empty() || !self.kind.is_empty()
    }

    /// The address of the same question, from a message on.
    fn address(&self, before: Option<i64>) -> String {
        let texts = [("project", &self.project), ("agent", &self.agent), ("kind", &self.kind)];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        let mut parts: Vec<String> = texts.map(|(name, text)| format!("{name}={}", encoded(text))).collect();
        let boxes = [("unread", self.unread), ("ack", self.ack), ("urgent", self.urgent), ("away", self.away)];
        parts.extend(boxes.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| format!("{name}=on")));
        parts.extend(before.map(|before| format!("before={before}")));
        if parts.is_empty() { "/mail".to_owned() } else { format!("/mail?{}", parts.join("&")) }
    }
}

/// The names of those who can be written to.
async fn agents(office: &Office, project: &Project) -> Result<Vec<String>, Error> {
    let agents = office.store().agents(project.id, None, CHOICES).await?;
    Ok(agents.into_iter().filter(|agent| agent.retired_at.is_none()).map(|agent| agent.name).collect())
}

/// The projects to choose from.
pub async fn projects(office: &Office) -> Result<Vec<Project>, Error> {
    office.projects(None, CHOICES).await
}

#[derive(Template)]
#[template(path = "mail.html")]
struct MailboxPage {
    frame: Frame,
    query: MailQuery,
    projects: Vec<Project>,
    agents: Vec<String>,
    kinds: Vec<&'static str>,
    messages: Vec<MessageRow>,
    newest: String,
    older: Option<String>,
}

/// `GET /mail`
pub async fn show(Query(query): Query<MailQuery>, visit: Visit) -> PageResult {
    let office = visit.office();
    let project = visit.project_if_any(&query.project).await?;
    let project_key = project.as_ref().map(|project| project.slug.as_str());
    let agent = Some(query.agent.trim()).filter(|agent| !agent.is_empty());
    let wanted = Listing {
        unread_only: query.unread,
        ack_due_only: query.ack,
        urgent_only: query.urgent,
        archived_only: query.away,
        kind: Kind::all().find(|kind| kind.as_str() == query.kind),
        before: query.before.map(MessageId),
        limit: MESSAGES + 1,
        ..Listing::default()
    };
    let listed = match office.listing(project_key, agent, &wanted).await {
        // Somebody who types a name is not sent to another page for a slip.
        Err(Error::UnknownAgent { .. }) => Vec::new(),
        listed => listed?,
    };
    let projects = projects(office).await?;
    let with_project = project.is_none() && projects.len() > 1;
    let title = project.as_ref().map(|project| format!("Mail in {}", line(last_part(&project.human_key), 40)));
    let frame = visit.frame(title.as_deref().unwrap_or("Mail"), "mail").done(query.done.as_deref());
    let shown = listed.iter().take(MESSAGES);
    let messages: Vec<_> = shown.map(|(home, listed)| row(home, listed, with_project, frame.now)).collect();
    let last = messages.last().filter(|_| listed.len() > MESSAGES);
    visit.page(&MailboxPage {
        agents: match &project {
            Some(project) => agents(office, project).await?,
            None => Vec::new(),
        },
        frame: Frame { project, ..frame },
        projects,
        kinds: Kind::all().map(Kind::as_str).collect(),
        newest: query.address(None),
        older: last.map(|last| query.address(Some(last.id))),
        messages,
        query,
    })
}

/// What was not sent.
pub struct Unsent {
    /// In whose name.
    pub name: String,
    /// What it says.
    pub body: String,
    /// What it is known by: a second try is no second message.
    pub key: String,
    /// Why not, and what to do.
    pub refusal: String,
}

/// What stands in the form for a new message.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct ComposeForm {
    pub to: String,
    /// What it is about.
    pub subject: String,
    /// What it says.
    pub body: String,
    /// How much it matters.
    pub importance: String,
    /// Whether an acknowledgement is wanted.
    #[serde(deserialize_with = "checked")]
    pub ack: bool,
}

#[derive(Template)]
#[template(path = "compose.html")]
struct ComposePage {
    frame: Frame,
    agents: Vec<String>,
    levels: [&'static str; 4],
    draft: ComposeForm,
    key: String,
    refusal: Option<String>,
}

/// `GET /p/{project}/compose`
pub async fn compose(Path(slug): Path<String>, Query(draft): Query<ComposeForm>, visit: Visit) -> PageResult {
    composing(&slug, draft, &visit, None).await
}

/// The form, with what was written in it, and if that was not sent why.
pub async fn composing(slug: &str, mut draft: ComposeForm, visit: &Visit, unsent: Option<Unsent>) -> PageResult {
    let office = visit.office();
    let project = visit.project(slug).await?;
    if draft.importance.is_empty() {
        Importance::default().as_str().clone_into(&mut draft.importance);
    }
    let mut agents = agents(office, &project).await?;
    let channels = office.channels(&project.slug).await?.1.into_iter().map(|channel| format!("#{}", channel.name));
    agents.extend(channels.chain(["all".to_owned()]));
    visit.page(&ComposePage {
        frame: visit.frame("Write", "").about(&project).written_by(unsent.as_ref()),
        agents,
        levels: Importance::NAMES,
        draft,
        key: unsent.as_ref().map_or_else(random, |unsent| unsent.key.clone()),
        refusal: unsent.map(|unsent| unsent.refusal),
    })
}

#[derive(Template)]
#[template(path = "choose.html")]
struct ChoosePage {
    frame: Frame,
    projects: Vec<Project>,
}

/// `GET /compose`
pub async fn choose_project(visit: Visit) -> PageResult {
    let projects = projects(visit.office()).await?;
    match &projects[..] {
        [only] => Ok(see(&format!("/p/{}/compose", only.slug))),
        _ => visit.page(&ChoosePage { frame: visit.frame("Write", ""), projects }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_live_in_the_address() {
        let query: MailQuery =
            serde_urlencoded::from_str("project=app&agent=Blue+Lake&unread=on&ack=&before=7").unwrap();
        assert!(query.unread && !query.ack && query.before == Some(7) && query.narrows());
        assert_eq!(query.address(Some(3)), "/mail?project=app&agent=Blue%20Lake&unread=on&before=3");
        assert_eq!(MailQuery::default().address(None), "/mail");
        assert!(!MailQuery::default().narrows());
    }
}
