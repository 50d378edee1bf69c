//! What the post office is asked for an agent at one of its events.
//!
//! Only `news` and `end_session` change anything: what the one returns is not returned again, after the other the agent is
//! gone. What becomes of the answers is for `events`.

use jiff::Timestamp;
use mail::clock::rfc3339;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::digest::Part;
use super::news::News;
use super::session::Kept;
use crate::commands::leases;
use crate::post_office::{PostOffice, Refused, resource};

/// How many new messages are taken at once. More stay for the next time.
const MOST_NEWS: usize = 100;
/// How many unread messages are counted, and how many sent ones are looked through.
const MOST_UNREAD: usize = 1_000;
const MOST_SENT: usize = 100;

/// An agent of a project, at its post office.
pub struct Inquiry<'a> {
    /// The office.
    pub post_office: &'a PostOffice,
    /// Who asks, and where.
    pub me: &'a Kept,
}

/// A message that was sent, and what its recipients did.
#[derive(Deserialize)]
struct Sent {
    #[serde(flatten)]
    news: News,
    #[serde(default)]
    recipients: Vec<Recipient>,
}

#[derive(Deserialize)]
struct Recipient {
    name: String,
    ack_ts: Option<String>,
}

/// A work item that waits for help.
#[derive(Deserialize)]
struct Stuck {
    work_id: String,
    help: Option<Help>,
}

#[derive(Deserialize)]
struct Help {
    from: String,
    #[serde(default)]
    question: String,
    #[serde(default)]
    problem: String,
}

impl Inquiry<'_> {
    /// Whether the agent is registered in the project. One that was retired is not: it comes back by registering again.
    pub async fn is_known(&self) -> Result<bool, Refused> {
        let whois = json!({ "project_key": self.me.project, "agent_name": self.me.agent });
        match self.post_office.call("whois", whois).await {
            Ok(about) => Ok(about["retired_ts"].is_null()),
            Err(refused) if is_nobody(&refused) => Ok(false),
            Err(refused) => Err(refused),
        }
    }

    /// Registers the agent, under the name that it has or a new one. Returns who it is now.
    pub async fn register(&self, program: &str, model: &str) -> Result<Kept, Refused> {
        let Kept { agent, token, project } = self.me;
        // Only a path can become a project; a slug names one that is there.
        if project.starts_with('/') {
            self.post_office.call("ensure_project", json!({ "human_key": project })).await?;
        }
        let mut profile = json!({ "project_key": project, "program": program });
        for (member, value) in
            [("name", Some(agent)), ("model", Some(&model.to_owned())), ("registration_token", token.as_ref())]
        {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                profile[member] = value.as_str().into();
            }
        }
        let answer = self.post_office.call("register_agent", profile).await?;
        let text = |member: &str| answer[member].as_str().map(str::to_owned);
        let agent = text("name").unwrap_or_else(|| agent.clone());
        Ok(Kept { agent, token: text("registration_token"), project: project.clone() })
    }

    /// Unread mail that was never returned before, oldest first. Nothing is taken after `not_after`, however long the office
    /// is held up: nobody would tell it.
    pub async fn news(&self, not_after: Timestamp) -> Result<Vec<News>, Refused> {
        let not_after = rfc3339(not_after);
        self.list("wait_for_mail", json!({ "timeout_seconds": 0, "limit": MOST_NEWS, "not_after": not_after })).await
    }

    /// Unread mail without its text, newest first.
    pub async fn unread(&self) -> Result<Vec<News>, Refused> {
        let unread = json!({ "unread_only": true, "include_bodies": false, "limit": MOST_UNREAD });
        self.list("fetch_inbox", unread).await
    }

    /// What waits for the agent when its session begins.
    pub async fn parts(&self) -> anyhow::Result<Vec<Part>> {
        let unread = self.unread().await?;
        let at_least = unread.len() == MOST_UNREAD;
        let unread = Part { at_least, ..Part::of("Unread", unread.iter().map(News::headline).collect()) };
        let leases = leases::read(self.post_office, &self.me.project).await?;
        let mine = leases.iter().filter(|lease| lease.holder == self.me.agent);
        let held = mine.map(|lease| format!("{} until {}", lease.pattern.as_str(), rfc3339(lease.ends_at))).collect();
        Ok(vec![unread, self.unacknowledged().await?, Part::of("Your reservations", held), self.help_wanted().await?])
    }

    /// The folder of the project.
    pub async fn root(&self) -> Result<String, Refused> {
        let project = &self.me.project;
        if project.starts_with('/') {
            return Ok(project.clone());
        }
        let about = self.post_office.read(&resource("agents", project, &[("limit", Some("1"))])).await?;
        Ok(about["project"]["human_key"].as_str().unwrap_or(project).to_owned())
    }

    async fn unacknowledged(&self) -> Result<Part, Refused> {
        let keys = [
            ("project", Some(self.me.project.as_str())),
            ("limit", Some(&*MOST_SENT.to_string())),
            ("include_bodies", Some("false")),
            ("registration_token", self.me.token.as_deref()),
        ];
        let page = self.post_office.read(&resource("outbox", &self.me.agent, &keys)).await?;
        let waiting = entries(&page["messages"]).into_iter().filter_map(|Sent { news, recipients }| {
            let silent: Vec<String> =
                recipients.into_iter().filter(|one| one.ack_ts.is_none()).map(|one| one.name).collect();
            let is_waiting = news.ack_required && !silent.is_empty();
            is_waiting.then(|| format!("#{} to {}: {}", news.id, silent.join(", "), news.subject))
        });
        let part = Part::of("You wait for an acknowledgement of", waiting.collect());
        Ok(Part { at_least: page["next"].is_string(), ..part })
    }

    async fn help_wanted(&self) -> Result<Part, Refused> {
        let (mut asked, mut at_least) = (Vec::new(), false);
        // Who has waited too long stands in a state of its own, and comes first.
        for state in ["overdue", "help_wanted"] {
            let page = self.post_office.read(&resource("work", &self.me.project, &[("state", Some(state))])).await?;
            at_least |= page["next"].is_string();
            asked.extend(entries(&page["items"]).into_iter().filter_map(|Stuck { work_id, help }| {
                let Help { from, question, problem } = help?;
                Some(format!("{work_id} {from}: {}", if question.is_empty() { problem } else { question }))
            }));
        }
        Ok(Part { at_least, ..Part::of("Open requests for help", asked) })
    }

    /// Says that the agent's last session ended.
    pub async fn end_session(&self) -> Result<(), Refused> {
        self.call("presence", json!({ "verb": "end_session" })).await.map(drop)
    }

    async fn list(&self, tool: &str, arguments: Value) -> Result<Vec<News>, Refused> {
        Ok(entries(&self.call(tool, arguments).await?["result"]))
    }

    /// Calls a tool for the agent. Whoever is not registered has no mail, and cannot leave: that is no answer at all.
    async fn call(&self, tool: &str, mut arguments: Value) -> Result<Value, Refused> {
        let Kept { agent, token, project } = self.me;
        arguments["project_key"] = project.as_str().into();
        arguments["agent_name"] = agent.as_str().into();
        if let Some(token) = token {
            arguments["registration_token"] = token.as_str().into();
        }
        match self.post_office.call(tool, arguments).await {
            Err(refused) if is_nobody(&refused) => Ok(Value::Null),
            answer => answer,
        }
    }
}

/// Whether there is no such agent or project yet.
pub fn is_nobody(refused: &Refused) -> bool {
    matches!(refused.code.as_str(), "AGENT_NOT_FOUND" | "PROJECT_NOT_FOUND")
}

/// The entries of a list that can be read.
fn entries<T: DeserializeOwned>(list: &Value) -> Vec<T> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|entry| T::deserialize(entry).ok()).collect()
}
