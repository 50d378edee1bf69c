//! All mail in one list, narrowed by what stands in the address; and the form for a new message.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use formats::Kind;
use jiff::Timestamp;
use mail::Office;
use mail::ids::MessageId;
use mail::messages::{Importance, Message};
use mail::office::ListingAsk;
use mail::overview::Listed;
use mail::projects::Project;
use serde::{Deserialize, Deserializer};

use super::frame::{Frame, PageKind};
use super::markdown::{beginning, line};
use super::projects::named;
use super::refused::Refused;
use super::times::When;
use super::visit::{Asking, Visit, encoded};
use super::who::Who;
use crate::http::Door;

/// How many messages a page shows.
const LETTERS: usize = 50;
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
        tags.push(Tag { text: of_copies("ack due", listed.acks_due, listed.copies), tone: "amber" });
    }
    if listed.unread > 0 && listed.copies > 1 {
        tags.push(Tag { text: format!("{} of {} unread", listed.unread, listed.copies), tone: "" });
    }
    if listed.archived > 0 {
        tags.push(Tag { text: of_copies("put away", listed.archived, listed.copies), tone: "" });
    }
    if with_project {
        tags.push(Tag { text: line(last_part(&project.human_key), 40), tone: "" });
    }
    MessageRow {
        id: message.id.0,
        address: address(&project.slug, message),
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

fn of_copies(what: &str, count: usize, copies: usize) -> String {
    if copies > 1 { format!("{what}: {count} of {copies}") } else { what.to_owned() }
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
    if let Some(kind) = message.kind {
        tags.push(Tag { text: kind.as_str().to_owned(), tone: tone_of(kind) });
    }
    if let Some(work) = &message.work_id {
        tags.push(Tag { text: line(work, 40), tone: "" });
    }
    tags
}

fn tone_of(kind: Kind) -> &'static str {
    match kind.as_str() {
        "HELP_REQUEST" | "FAILED" | "error_report" => "red",
        "DONE" | "OFFERING_READY" | "task_completion" => "green",
        "SPAWN_REQUEST" | "CHECKPOINT" | "coordination_request" => "amber",
        _ => "blue",
    }
}

/// Where a message can be read.
pub fn address(slug: &str, message: &Message) -> String {
    format!("/p/{slug}/thread/{}?at={}#m{}", encoded(&message.thread), message.id, message.id)
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
pub struct Asked {
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
pub fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let said = String::deserialize(deserializer)?;
    Ok(!["", "0", "false", "off"].contains(&said.as_str()))
}

impl Asked {
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

/// One of several things to choose from.
pub struct Choice {
    /// What is sent.
    pub value: String,
    /// What is shown.
    pub text: String,
    /// Whether it is chosen.
    pub is_chosen: bool,
}

/// The projects to choose from.
pub async fn projects(office: &Office, chosen: &str) -> Result<Vec<Choice>, Refused> {
    let all = office.projects(None, CHOICES).await?;
    let choice = |project: Project| Choice {
        is_chosen: project.slug == chosen,
        text: line(&project.human_key, NAMES),
        value: project.slug,
    };
    Ok(all.into_iter().map(choice).collect())
}

/// The names of those who can be written to.
async fn agents(office: &Office, project: &Project) -> Result<Vec<String>, Refused> {
    let agents = office.store().agents(project.id, None, CHOICES).await?;
    Ok(agents.into_iter().filter(|agent| agent.retired_at.is_none()).map(|agent| agent.name).collect())
}

#[derive(Template)]
#[template(path = "mail.html")]
struct MailboxPage {
    frame: Frame,
    asked: Asked,
    projects: Vec<Choice>,
    agents: Vec<String>,
    kinds: Vec<Choice>,
    letters: Vec<MessageRow>,
    newest: String,
    older: Option<String>,
}

/// `GET /mail`
pub async fn show(
    State(door): State<Arc<Door>>,
    Asking(asked): Asking<Asked>,
    visit: Visit,
) -> Result<Response, Refused> {
    let office = door.office();
    let project = match asked.project.as_str() {
        "" => None,
        slug => Some(named(office, slug).await?),
    };
    let kind = Kind::all().find(|kind| kind.as_str() == asked.kind);
    let ask = ListingAsk {
        project_key: project.as_ref().map(|project| project.slug.as_str()),
        agent: Some(asked.agent.trim()).filter(|agent| !agent.is_empty()),
        unread_only: asked.unread,
        ack_due_only: asked.ack,
        urgent_only: asked.urgent,
        archived_only: asked.away,
        kind,
        before: asked.before.map(MessageId),
        limit: LETTERS + 1,
    };
    let listed = match office.listing(ask).await {
        // Somebody who types a name is not sent to another page for a slip.
        Err(mail::Error::UnknownAgent { .. }) => Vec::new(),
        listed => listed?,
    };
    let (now, shown) = (office.now(), listed.len().min(LETTERS));
    let projects = projects(office, &asked.project).await?;
    let with_project = project.is_none() && projects.len() > 1;
    let letters: Vec<MessageRow> =
        listed[..shown].iter().map(|(home, listed)| row(home, listed, with_project, now)).collect();
    let older = (listed.len() > LETTERS).then(|| letters.last().map(|last| asked.address(Some(last.id)))).flatten();
    let kinds = Kind::all().map(Kind::as_str);
    let kinds = kinds.map(|kind| Choice { value: kind.into(), text: kind.into(), is_chosen: kind == asked.kind });
    let title = project.as_ref().map(|project| format!("Mail in {}", line(last_part(&project.human_key), 40)));
    let title = title.unwrap_or_else(|| "Mail".to_owned());
    let page = MailboxPage {
        frame: Frame::new(&visit, &title, PageKind::Mail, project.as_ref()).done(asked.done.as_deref()),
        projects,
        agents: match &project {
            Some(project) => agents(office, project).await?,
            None => Vec::new(),
        },
        kinds: kinds.collect(),
        letters,
        newest: asked.address(None),
        older,
        asked,
    };
    visit.page(&page)
}

/// What was not sent.
pub struct Unsent {
    /// In whose name.
    pub name: String,
    /// What it says.
    pub body: String,
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
struct Compose<'a> {
    frame: Frame,
    slug: &'a str,
    agents: Vec<String>,
    levels: Vec<Choice>,
    draft: ComposeForm,
    key: String,
    refusal: Option<String>,
}

/// `GET /p/{project}/compose`
pub async fn compose(
    State(door): State<Arc<Door>>,
    Path(slug): Path<String>,
    Asking(draft): Asking<ComposeForm>,
    visit: Visit,
) -> Result<Response, Refused> {
    composing(door.office(), &slug, draft, &visit, None).await
}

/// The form, with what was written in it, and if that was not sent why.
pub async fn composing(
    office: &Office,
    slug: &str,
    mut draft: ComposeForm,
    visit: &Visit,
    unsent: Option<Unsent>,
) -> Result<Response, Refused> {
    let project = named(office, slug).await?;
    if draft.importance.is_empty() {
        Importance::default().as_str().clone_into(&mut draft.importance);
    }
    let mut agents = agents(office, &project).await?;
    let channels = office.channels(&project.slug).await?.1.into_iter().map(|channel| format!("#{}", channel.name));
    agents.extend(channels.chain(["all".to_owned()]));
    let levels = Importance::NAMES.into_iter();
    let levels =
        levels.map(|name| Choice { value: name.into(), text: name.into(), is_chosen: name == draft.importance });
    let levels = levels.collect();
    let page = Compose {
        frame: Frame::new(visit, "Write", PageKind::Other, Some(&project)).written_by(unsent.as_ref()),
        slug: &project.slug,
        agents,
        levels,
        draft,
        key: visit.new_key(),
        refusal: unsent.map(|unsent| unsent.refusal),
    };
    visit.page(&page)
}

#[derive(Template)]
#[template(path = "choose.html")]
struct Choose {
    frame: Frame,
    projects: Vec<super::frame::Here>,
}

/// `GET /compose`
pub async fn choose_project(State(door): State<Arc<Door>>, visit: Visit) -> Result<Response, Refused> {
    let projects = door.office().projects(None, CHOICES).await?;
    if let [only] = &projects[..] {
        return Ok(super::visit::see(&format!("/p/{}/compose", only.slug)));
    }
    let here = |project: &Project| super::frame::Here::of(project);
    let page = Choose {
        frame: Frame::new(&visit, "Write", PageKind::Other, None),
        projects: projects.iter().map(here).collect(),
    };
    visit.page(&page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_live_in_the_address() {
        let asked: Asked = serde_urlencoded::from_str("project=app&agent=Blue+Lake&unread=on&ack=&before=7").unwrap();
        assert!(asked.unread && !asked.ack && asked.before == Some(7) && asked.narrows());
        assert_eq!(asked.address(Some(3)), "/mail?project=app&agent=Blue%20Lake&unread=on&before=3");
        assert_eq!(Asked::default().address(None), "/mail");
        assert!(!Asked::default().narrows());
    }
}
