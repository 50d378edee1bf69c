//! The project that is measured: its agents, the mail they send, and a home folder with much of it.
//!
//! The home is filled through the store and not over HTTP, because that is faster; what is in it is the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use mail::agents::{Agent, AgentName, AgentStore, Profile, Taking};
use mail::messages::{Importance, MessageStore, NewMessage, Role, Vouched};
use mail::projects::{Project, ProjectStore};
use mail::responses::JsonFacts;
use serde_json::{Value, json};
use store::{Engine, Options, Sqlite};
use tokio::task::JoinSet;

use crate::setting::{Setting, progress};
use crate::text::{Chance, Language};

/// The project's key.
pub const PROJECT: &str = "/bench/project";
/// How many agents there are.
pub const AGENTS: usize = 50;
/// The name of the database in a home folder.
pub const DATABASE: &str = "postrider.db";
/// In how many messages each case is named.
pub const MESSAGES_OF_A_CASE: usize = 10;
/// As many writes wait at once as the store commits at once.
const WRITERS: usize = 256;

/// The agents' names.
pub fn agents() -> Vec<String> {
    (0..AGENTS).map(|number| format!("Agent{number:02}")).collect()
}

/// A message that somebody writes.
#[derive(Clone)]
pub struct SampleMessage {
    /// The sender's place among the agents.
    pub sender: usize,
    /// The recipients' places.
    pub recipients: [usize; 2],
    /// The subject.
    pub subject: String,
    /// The body, of 1 KiB.
    pub body: String,
}

impl SampleMessage {
    /// The arguments of the tool that sends it.
    pub fn arguments(&self, agents: &[String]) -> Value {
        json!({
            "project_key": PROJECT,
            "sender_name": agents[self.sender],
            "to": self.recipients.map(|place| &agents[place]),
            "subject": self.subject,
            "body_md": self.body,
        })
    }
}

/// So many messages between all agents; `cases` different words are named, each equally often.
pub fn messages(count: usize, cases: usize) -> impl Iterator<Item = SampleMessage> {
    let language = Language::new();
    let mut chance = Chance::new(42);
    (0..count).map(move |number| {
        let sender = number % AGENTS;
        // Two others, and over time every pair of neighbours.
        let first = (sender + 1 + chance.below(AGENTS - 2)) % AGENTS;
        let second = if (first + 1) % AGENTS == sender { (first + 2) % AGENTS } else { (first + 1) % AGENTS };
        SampleMessage {
            sender,
            recipients: [first, second],
            subject: language.subject(&mut chance),
            body: language.body(&mut chance, &case(number % cases.max(1))),
        }
    })
}

/// The word for a case.
pub fn case(number: usize) -> String {
    format!("case{number}")
}

/// A home folder with as much mail as the setting says.
pub struct FilledHome {
    /// The folder.
    pub path: PathBuf,
    /// How many cases are named in the mail.
    pub cases: usize,
}

impl FilledHome {
    /// Fills a fresh folder.
    pub fn make(setting: &Setting) -> anyhow::Result<Self> {
        let begun = Instant::now();
        let path = setting.fresh_folder()?;
        let cases = setting.messages / MESSAGES_OF_A_CASE;
        make(&path.join(DATABASE), setting.messages, cases)?;
        progress(format!("{} messages were filed in {:.1} s", setting.messages, begun.elapsed().as_secs_f64()));
        Ok(Self { path, cases })
    }
}

/// Registers the project and its agents, all numbered from 1, and returns the project.
async fn move_in(store: &Engine) -> anyhow::Result<Project> {
    let now = Timestamp::now();
    let project = store.ensure_project(PROJECT, now).await?;
    for name in agents() {
        let (name, profile) = (AgentName::parse(&name)?, Profile::default());
        store.register(project.id, &name, &profile, None, Taking::NewOnly, now).await?.context("a name is taken")?;
    }
    Ok(project)
}

/// Makes a database with so many messages in it.
pub fn make(database: &Path, count: usize, cases: usize) -> anyhow::Result<()> {
    let store = Arc::new(Sqlite::open(database, &Options::default())?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(fill(&store, count, cases))?;
    runtime.block_on(store.close());
    Ok(())
}

async fn fill(store: &Arc<Engine>, count: usize, cases: usize) -> anyhow::Result<()> {
    let project = move_in(store).await?;
    let agents = store.agents(project.id, None, AGENTS).await?;
    ensure!(agents.len() == AGENTS, "{} agents were registered instead of {AGENTS}", agents.len());
    let mut waiting = JoinSet::new();
    for message in messages(count, cases) {
        if waiting.len() >= WRITERS {
            waiting.join_next().await.context("some wait")???;
        }
        let message = accepted(message, &agents);
        let store = store.clone();
        waiting.spawn(async move { store.append(&message).await });
    }
    while let Some(appended) = waiting.join_next().await {
        appended??;
    }
    Ok(())
}

/// The message as the store takes it when it comes over HTTP.
pub fn accepted(message: SampleMessage, agents: &[Agent]) -> NewMessage {
    let recipient = |place: usize| (agents[place].id, agents[place].name.clone(), Role::To);
    NewMessage {
        from_as: None,
        project: agents[message.sender].project,
        from: agents[message.sender].id,
        recipients: message.recipients.map(recipient).to_vec(),
        subject: message.subject,
        body: message.body,
        thread: None,
        reply_to: None,
        marks_read: false,
        importance: Importance::Normal,
        ack_required: false,
        kind: None,
        work_id: None,
        is_passing: false,
        door: "mcp",
        vouched: Vouched::Claimed,
        idempotency: None,
        open_key: None,
        post: None,
        json: JsonFacts::default(),
        now: Timestamp::now(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_goes_to_two_agents_that_are_not_its_sender() {
        for message in messages(1_000, 100) {
            let [first, second] = message.recipients;
            assert!(first != second && first != message.sender && second != message.sender, "{:?}", message.recipients);
            assert!(first < AGENTS && second < AGENTS);
        }
    }

    #[test]
    fn each_case_is_named_in_as_many_messages() {
        let named =
            messages(100, 100 / MESSAGES_OF_A_CASE).filter(|message| message.body.contains("About case3.")).count();
        assert_eq!(named, MESSAGES_OF_A_CASE);
    }
}
