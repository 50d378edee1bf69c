//! Taking in what was said outside.
//!
//! It is checked like any mail, but nobody can be told to mend it: names that are new get a mailbox, and a typed message
//! with faults is kept, and answered with an error report.

use formats::channel::ChannelMessage;
use formats::json::{self, Stamp};

use super::{PostDraft, checked_word, hops_after, is_everyone, plain};
use crate::agents::AgentName;
use crate::channels::{CHAT, ChannelName, FOLDER, NewPost, OFFICE, OfficeMark, Post, WATCHER, content_of, subject_of};
use crate::clock::rfc3339;
use crate::error::Error;
use crate::ids::MessageId;
use crate::messages::Message;
use crate::office::messages::Draft;
use crate::office::{Claim, Office};
use crate::projects::Project;

/// Who answers for the office itself.
const OFFICE_AGENT: &str = "postrider";

/// Something that was said outside.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The project, which may be new.
    pub project_key: &'a str,
    /// The channel.
    pub channel: &'a str,
    /// What it is called where it was found: its file without the ending, or its id.
    pub name: &'a str,
    /// What was read of it.
    pub said: &'a ChannelMessage,
    /// The document itself.
    pub document: &'a str,
    /// Where it was found.
    pub door: &'static str,
}

/// What became of something that was said outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenIn {
    /// It is a message now.
    New(MessageId),
    /// It was taken in before, as this message.
    Known(MessageId),
    /// This office said it: this message.
    Own(MessageId),
}

impl Office {
    /// Takes in what was said outside, once, however often and by however many doors it comes.
    pub async fn take_in(&self, arrival: Arrival<'_>) -> Result<TakenIn, Error> {
        let Arrival { project_key, said, .. } = arrival;
        let channel = ChannelName::parse(arrival.channel)?;
        let project = self.project_or_new(project_key).await?;
        let mark = OfficeMark::of(said);
        if let Some(own) = self.own_post(&project, &channel, mark.as_ref()).await? {
            if arrival.door == FOLDER {
                self.store.note_key(own, arrival.name).await?;
            }
            return Ok(TakenIn::Own(own));
        }
        AgentName::parse(&said.from)?;
        self.ensure_mailbox(project_key, &said.from).await?;
        let to: Vec<String> =
            Some(&said.to).filter(|to| !is_everyone(to) && **to != said.from).into_iter().cloned().collect();
        for name in &to {
            self.ensure_mailbox(project_key, name).await?;
        }
        let answered = match said.in_reply_to() {
            Some(id) => self.store.post_called(project.id, channel.as_str(), id).await?,
            None => None,
        };
        let new = NewPost {
            keys: keys(arrival, mark.as_ref()),
            external_id: Some(arrival.name.to_owned()),
            cited_as: Some(said.id.clone()).filter(|id| id != arrival.name),
            kind: said.kind.clone(),
            mode: said.mode().and_then(|mode| checked_word("mode", mode).ok()).unwrap_or_else(|| CHAT.to_owned()),
            hops: hops_after(said.mode().unwrap_or(CHAT), answered.as_ref(), said.metadata_number("hops")),
            sent_at: Some(said.timestamp),
            document: Some(arrival.document.to_owned()),
            origin: None,
            channel,
        };
        let (subject, body) = (subject_of(&said.text), content_of(said.clone()).to_markdown());
        let thread = answered.as_ref().map(|answered| answered.message.thread.as_str());
        let thread = thread.or(said.metadata_text("thread_id").filter(|name| is_thread(name)));
        let draft =
            Draft { thread, door: arrival.door, ..plain(project_key, Claim::of(&said.from), to, &subject, &body) };
        let sent = self.keep(draft, answered.as_ref().map(|answered| &answered.message), new).await?;
        if !sent.is_new {
            return Ok(TakenIn::Known(sent.message.id));
        }
        // What was found is part of a report, and may be the secret.
        if sent.notes.secrets.is_empty() {
            self.report_faults(arrival, &sent.message).await?;
        }
        Ok(TakenIn::New(sent.message.id))
    }

    /// The post of this office that a document from outside is.
    async fn own_post(
        &self,
        project: &Project,
        channel: &ChannelName,
        mark: Option<&OfficeMark>,
    ) -> Result<Option<MessageId>, Error> {
        let Some(mark) = mark else { return Ok(None) };
        let office = self.store.office_id().await?;
        if mark.office != office {
            return Ok(None);
        }
        let event = self.store.events(project.id, mark.seq.saturating_sub(1), 1).await?.pop();
        let Some(event) = event.filter(|event| event.seq == mark.seq) else { return Ok(None) };
        let post = self.store.post(MessageId(event.reference)).await?;
        // A database that was put back in time gives its numbers anew, and anybody can write a number of ours.
        let is_it = |post: &Post| post.channel == channel.as_str() && post.mark(&office).as_ref() == Some(mark);
        Ok(post.filter(is_it).map(|post| post.message.id))
    }

    /// Tells the author of a JSON message that came from outside what is wrong with it, where it was said.
    async fn report_faults(&self, arrival: Arrival<'_>, kept: &Message) -> Result<(), Error> {
        let Some(report) = self.error_report(&arrival.said.text) else { return Ok(()) };
        let id = kept.id.to_string();
        let told = PostDraft {
            project_key: arrival.project_key,
            from: Claim::of(OFFICE_AGENT),
            channel: arrival.channel,
            to: vec![arrival.said.from.clone()],
            subject: None,
            text: &report,
            code: None,
            artifacts: Vec::new(),
            kind: CHAT,
            mode: WATCHER,
            in_reply_to: Some(&id),
            thread: None,
            idempotency_key: Some(&id),
            door: OFFICE,
        };
        self.post(told).await.map(drop)
    }

    /// The report on a text that was meant as a JSON message and has faults. A report is not reported on.
    fn error_report(&self, text: &str) -> Option<String> {
        let read = json::read(json::find_in(text)?);
        let is_meant = |message: &json::Message| message.kind().is_some_and(|kind| kind != json::Type::ErrorReport);
        read.value.as_ref().filter(|message| is_meant(message))?;
        let rejection = json::rejection(&read)?;
        let hex = blake3::hash(self.chance.token().as_bytes()).to_hex();
        let message_id =
            format!("msg-{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30]);
        let timestamp = rfc3339(self.now());
        let stamp = Stamp { timestamp: &timestamp, message_id: &message_id, sender_id: OFFICE_AGENT };
        Some(json::error_report(&read, &rejection, stamp).write())
    }
}

/// The keys under which something is taken in: what it is first, then what it is called where it was found.
fn keys(arrival: Arrival<'_>, mark: Option<&OfficeMark>) -> Vec<String> {
    let called = arrival.name.to_owned();
    match mark {
        None => vec![called],
        Some(mark) if arrival.door == FOLDER => vec![mark.key(), called],
        Some(mark) => vec![mark.key()],
    }
}

fn is_thread(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= crate::threads::LONGEST_THREAD && !name.chars().any(char::is_control)
}
