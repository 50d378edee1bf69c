//! A step of the script: what an agent asks of the office, and what the recipients of its message do with it.
//!
//! The sample and the play share it: what was said two days ago and what is said next have one form. In the files a step
//! is the request of a verb, under the names that agents know, with `{{now}}` or `{{worker}}` for what is known only when
//! it happens. Braces of any other sort are text, for code and JSON are full of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use anyhow::Context;
use api::answers::SentAnswer;
use api::{
    Ask, EnsureProject, FileReservationPaths, RegisterAgent, ReleaseFileReservations, ReplyMessage, SendMessage,
    SetPresence, VerbRequest,
};
use jiff::Timestamp;
use mail::ids::MessageId;
use mail::office::Claim;
use mail::{Error, Office};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::super::validate::message_id;

/// Stands for every recipient.
const EVERYBODY: &str = "all";

/// Words, and what each stands for.
pub(super) type Phrases = BTreeMap<String, String>;
/// The messages that later steps answer, by their labels.
pub(super) type Labels = HashMap<String, i64>;

/// What somebody does, and what is said around it.
#[derive(Debug, Deserialize)]
pub(super) struct Step {
    #[serde(flatten)]
    pub(super) deed: Deed,
    /// What others refer to the message by.
    label: Option<String>,
    /// Who does not read it. All others do, after a while.
    #[serde(default)]
    unread: Vec<String>,
    /// Who acknowledges it, and with which words.
    #[serde(default)]
    acked: BTreeMap<String, String>,
    /// Who archives it once it is read.
    #[serde(default)]
    archived: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Deed {
    #[serde(deserialize_with = "request")]
    Join(RegisterAgent),
    #[serde(deserialize_with = "request")]
    Send(SendMessage),
    /// The label of what it answers stands beside it, as `answers`.
    #[serde(deserialize_with = "request")]
    Reply(ReplyMessage),
    /// Says what one is at.
    #[serde(deserialize_with = "request")]
    Is(SetPresence),
    #[serde(deserialize_with = "request")]
    Reserve(FileReservationPaths),
    /// Stands in line for files.
    #[serde(deserialize_with = "request")]
    Line(FileReservationPaths),
    #[serde(deserialize_with = "request")]
    Release(ReleaseFileReservations),
}

/// The request of a verb from a table of the script.
fn request<'de, R: VerbRequest, D: Deserializer<'de>>(table: D) -> Result<R, D::Error> {
    R::read(mcp::Arguments::deserialize(table)?).map_err(|refusal| D::Error::custom(refusal.message))
}

/// What a recipient does with a message.
pub(super) struct Reaction {
    project: String,
    agent: String,
    message: MessageId,
    /// The words of an acknowledgement, if it is one.
    note: Option<String>,
    is_archived: bool,
}

impl Step {
    /// The step as it is taken now, in a project.
    pub(super) fn read(written: &Table, project: &str, words: &Phrases, labels: &Labels) -> anyhow::Result<Self> {
        let mut step = filled_table(written, words);
        step.insert("project_key".to_owned(), project.into());
        if let Some(label) = step.get("answers").and_then(Value::as_str) {
            let message = *labels.get(label).with_context(|| format!("nothing is called '{label}'"))?;
            step.insert("message_id".to_owned(), message.into());
        }
        step.try_into().with_context(|| format!("the step {written}"))
    }

    /// Takes it, and says what others will do about it.
    pub(super) async fn happen(
        self,
        office: &Arc<Office>,
        project: &str,
        labels: &mut Labels,
    ) -> anyhow::Result<Vec<Reaction>> {
        let sent = match self.deed {
            Deed::Send(request) => Some(request.ask(office).await?),
            Deed::Reply(request) => Some(request.ask(office).await?),
            Deed::Join(request) => {
                EnsureProject { human_key: project.to_owned() }.ask(office).await?;
                request.ask(office).await.map(|_| None)?
            }
            Deed::Is(request) => request.ask(office).await.map(|_| None)?,
            Deed::Reserve(request) => request.ask(office).await.map(|_| None)?,
            Deed::Release(request) => request.ask(office).await.map(|_| None)?,
            Deed::Line(request) => {
                tokio::spawn(stand_in_line(request, office.clone()));
                None
            }
        };
        let Some(SentAnswer { message, bcc, .. }) = sent else { return Ok(Vec::new()) };
        labels.extend(self.label.map(|label| (label, message.id)));
        let names = |listed: &[String], name: &str| listed.iter().any(|one| one == EVERYBODY || one == name);
        let recipients = message.to.into_iter().chain(message.cc).filter(|name| !name.starts_with('#')).chain(bcc);
        let reaction = |agent: String| Reaction {
            project: project.to_owned(),
            message: MessageId(message.id),
            note: self.acked.get(&agent).cloned(),
            is_archived: names(&self.archived, &agent),
            agent,
        };
        Ok(recipients.filter(|name| !names(&self.unread, name)).map(reaction).collect())
    }
}

/// Stands in line until it has what it wants, or the office closes: whoever waits is sent home then, with a refusal.
async fn stand_in_line(request: FileReservationPaths, office: Arc<Office>) {
    if let Err(error) = request.ask(&office).await
        && !office.wake().closing()
    {
        tracing::warn!(%error, "nobody stands in line");
    }
}

impl Reaction {
    pub(super) async fn happen(&self, office: &Office) -> Result<(), Error> {
        let agent = Claim::of(&self.agent);
        match &self.note {
            Some(note) => office.acknowledge(&self.project, agent, self.message, note).await?,
            None => office.mark_read(&self.project, agent, self.message).await?,
        };
        if self.is_archived {
            office.archive(&self.project, agent, self.message).await?;
        }
        Ok(())
    }
}

/// The words for a step that is taken at this time. `seed` tells it from all others.
pub(super) fn words_at(now: Timestamp, seed: &str) -> Phrases {
    let mut bytes = [0; 16];
    blake3::Hasher::new().update(seed.as_bytes()).finalize_xof().fill(&mut bytes);
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Phrases::from([("now".to_owned(), now), ("message_id".to_owned(), message_id(bytes))])
}

/// A text with every known word replaced.
pub(super) fn filled(text: &str, words: &Phrases) -> String {
    words.iter().fold(text.to_owned(), |text, (name, meaning)| text.replace(&format!("{{{{{name}}}}}"), meaning))
}

fn filled_table(table: &Table, words: &Phrases) -> Table {
    table.iter().map(|(name, value)| (filled(name, words), filled_value(value, words))).collect()
}

fn filled_value(value: &Value, words: &Phrases) -> Value {
    match value {
        Value::String(text) => Value::String(filled(text.trim(), words)),
        Value::Array(items) => Value::Array(items.iter().map(|item| filled_value(item, words)).collect()),
        Value::Table(members) => Value::Table(filled_table(members, words)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words_are_replaced_and_other_braces_are_text() {
        let words = Phrases::from([("who".to_owned(), "GreenDog".to_owned()), ("n".to_owned(), "2".to_owned())]);
        assert_eq!(filled("{{who}}: {\"a\":{\"b\":{{n}}}} {{x}} {{", &words), "GreenDog: {\"a\":{\"b\":2}} {{x}} {{");
        let step: Table = toml::from_str("do = 'is'\nlist = ['{{who}}']\n[acked]\n'{{who}}' = '{{n}}'").unwrap();
        let filled = filled_table(&step, &words);
        assert_eq!((filled["list"][0].as_str(), filled["acked"]["GreenDog"].as_str()), (Some("GreenDog"), Some("2")));
    }

    #[test]
    fn a_message_has_its_time_and_an_id_that_follows_from_its_seed() {
        let at = |seed| filled("{{now}} {{message_id}}", &words_at("2026-03-02T08:14:00.5Z".parse().unwrap(), seed));
        assert!(at("a").starts_with("2026-03-02T08:14:00Z "), "{}", at("a"));
        assert_eq!(at("a"), at("a"));
        assert_ne!(at("a"), at("b"));
    }
}
