//! A message as the files of the demo describe it, how it is sent, and what its recipients do with it.
//!
//! The sample and the play share it: what was said two days ago and what is said next have one form.

use std::collections::{BTreeMap, HashMap};

use jiff::SignedDuration;
use mail::Error;
use mail::Office;
use mail::ids::MessageId;
use mail::messages::Importance;
use mail::office::{Claim, Draft, ReplyDraft, Sent};
use serde::Deserialize;

use super::phrases::Phrases;

/// Stands for every recipient.
const EVERYBODY: &str = "all";
/// The door by which agents come.
const DOOR: &str = "mcp";

/// The messages that others refer to, by their labels.
pub(crate) type Labels = HashMap<String, MessageId>;

/// A message, before it is sent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Letter {
    /// How long ago it was sent; of the play, now.
    #[serde(default)]
    pub ago: SignedDuration,
    /// What others refer to it by.
    pub label: Option<String>,
    /// Who sends it.
    pub from: String,
    /// Whom it is written to; may be empty where it answers something.
    #[serde(default)]
    pub to: Vec<String>,
    /// Who gets a copy.
    #[serde(default)]
    pub cc: Vec<String>,
    /// Who gets a copy that the others do not know of.
    #[serde(default)]
    pub bcc: Vec<String>,
    /// The label of what it answers.
    pub answers: Option<String>,
    /// The subject; what answers something may leave it out.
    pub subject: Option<String>,
    pub body: String,
    /// The conversation, where it is not the work item's or that of what it answers.
    pub thread: Option<String>,
    /// How much it matters.
    pub importance: Option<String>,
    /// Whether an acknowledgement is wanted, where its kind does not say.
    pub ack: Option<bool>,
    /// Who does not read it. All others do, after a while.
    #[serde(default)]
    pub unread: Vec<String>,
    /// Who acknowledges it, and with which words.
    #[serde(default)]
    pub acked: BTreeMap<String, String>,
    /// Who puts it away once it is read.
    #[serde(default)]
    pub archived: Vec<String>,
}

/// What a recipient does with a message.
#[derive(Clone, Debug)]
pub(crate) struct Reaction {
    pub project: String,
    agent: String,
    message: MessageId,
    /// The words of an acknowledgement, if it is one.
    note: Option<String>,
    /// Whether it is put away, too.
    is_put_away: bool,
}

impl Letter {
    /// Sends it. Labels are those of what was sent before it.
    pub(crate) async fn send(
        &self,
        office: &Office,
        project: &str,
        words: &Phrases,
        labels: &Labels,
    ) -> anyhow::Result<Sent> {
        let (from, subject) = (words.fill(&self.from), self.subject.as_deref().map(|text| words.fill(text)));
        let (body, thread) = (words.fill(self.body.trim()), self.thread.as_deref().map(|text| words.fill(text)));
        let draft = Draft {
            project_key: project,
            from: Claim::of(&from),
            to: words.fill_all(&self.to),
            cc: words.fill_all(&self.cc),
            bcc: words.fill_all(&self.bcc),
            subject: subject.as_deref().unwrap_or_default(),
            body: &body,
            thread: thread.as_deref(),
            importance: self.importance.as_deref().and_then(Importance::parse).unwrap_or_default(),
            ack_required: self.ack,
            idempotency_key: None,
            strict: false,
            door: DOOR,
        };
        let Some(answered) = &self.answers else { return Ok(office.send(draft).await?) };
        let reply_to = *labels.get(answered).ok_or_else(|| anyhow::anyhow!("nothing is called '{answered}'"))?;
        Ok(office.reply(ReplyDraft { reply_to, subject: subject.as_deref(), draft }).await?)
    }

    /// What those who got it do with it, in the order in which it is addressed.
    pub(crate) fn reactions(&self, project: &str, sent: &Sent, words: &Phrases) -> Vec<Reaction> {
        let names =
            |listed: &[String], name: &str| listed.iter().any(|one| one == EVERYBODY || words.fill(one) == name);
        let recipients = sent.message.open_recipients().chain(sent.bcc.iter().map(String::as_str));
        let readers = recipients.filter(|name| !names(&self.unread, name));
        let reaction = |name: &str| Reaction {
            project: project.to_owned(),
            agent: name.to_owned(),
            message: sent.message.id,
            note: self.acked.iter().find(|(who, _)| words.fill(who) == name).map(|(_, note)| words.fill(note)),
            is_put_away: names(&self.archived, name),
        };
        readers.map(reaction).collect()
    }
}

impl Reaction {
    /// Does it.
    pub(crate) async fn happen(&self, office: &Office) -> Result<(), Error> {
        let agent = Claim::of(&self.agent);
        match &self.note {
            Some(note) => office.acknowledge(&self.project, agent, self.message, note).await?,
            None => office.mark_read(&self.project, agent, self.message).await?,
        };
        if self.is_put_away {
            office.archive(&self.project, agent, self.message).await?;
        }
        Ok(())
    }

    /// How many minutes it takes until it happens, always the same for the same message and recipient.
    pub(crate) fn minutes_later(&self) -> i64 {
        let name: i64 = self.agent.bytes().map(i64::from).sum();
        (self.message.0 * 7 + name) % 9 + 1
    }
}
