//! Taking in what was said outside.
//!
//! It is checked like any mail, but nobody can be told to mend it: names that are new get a mailbox, and a typed message
//! with faults is kept, and answered with an error report.

use formats::channel::{ChannelMessage, ERROR_REPORT};
use formats::json::{self, Stamp};
use jiff::{SignedDuration, Timestamp};

use super::{checked_word, hops_after, is_everyone};
use crate::agents::{AgentName, called};
use crate::announcements::Announcement;
use crate::channels::{
    ACK_REQUIRED, CHAT, ChannelName, FOLDER, IMPORTANCE, NewPost, OFFICE, OfficeMark, Post, WATCHER, content_of,
    external_id, is_thread_everywhere, named_in, subject_of,
};
use crate::clock::rfc3339;
use crate::error::{Error, check_text};
use crate::ids::MessageId;
use crate::messages::Importance;
use crate::office::messages::Draft;
use crate::office::{Claim, Office, Sent};
use crate::projects::Project;
use crate::responses::{OFFICE_AGENT, report_id};

/// How old a message with faults may be for its author to be told. Whoever left a folder of old ones is not waiting.
const REPORTED_WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// How much a document may hold beside its text, in bytes.
const MOST_BESIDE_TEXT: usize = 1 << 20;

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
    /// It only announces what is here.
    Announced,
}

impl Office {
    /// Takes in what was said outside, once, however often and by however many doors it comes.
    pub async fn take_in(&self, arrival: Arrival<'_>) -> Result<TakenIn, Error> {
        // JSON may write one byte as six, and a document says more than its text.
        let longest = self.rules.longest_body.saturating_mul(6).saturating_add(MOST_BESIDE_TEXT);
        check_text("document", arrival.document, longest)?;
        let channel = ChannelName::parse(arrival.channel)?;
        let arrival = Arrival { channel: channel.as_str(), ..arrival };
        let project = self.project_or_new(arrival.project_key).await?.project;
        let mark = OfficeMark::of(arrival.said);
        if let Some(own) = self.own_post(&project, &channel, mark.as_ref()).await? {
            if arrival.door == FOLDER {
                self.store.note_key(own, arrival.name).await?;
            }
            return Ok(TakenIn::Own(own));
        }
        if let Some(what) = Announcement::of(arrival.said)
            && let Some(whole) = self.whole_of(&project, &channel, &what).await?
        {
            // Whoever knows the announcement alone answers that.
            self.store.note_key(whole, arrival.name).await?;
            return Ok(TakenIn::Announced);
        }
        // Whoever spoke at an office's door was told there.
        let report = error_report(arrival).filter(|_| mark.is_none());
        let keys = match &report {
            Some(_) => self.keys_to_report(arrival, &project).await?,
            None => keys(arrival, mark.as_ref()),
        };
        let sent = self.keep_arrival(arrival, &project, keys).await?;
        if let Some(report) = report {
            // What was found is part of a report, and may be the secret.
            if sent.notes.secrets.is_empty() {
                self.report_faults(&report, arrival, &project).await?;
            }
            self.store.note_key(sent.message.id, arrival.name).await?;
        }
        Ok(if sent.is_new { TakenIn::New(sent.message.id) } else { TakenIn::Known(sent.message.id) })
    }

    /// Keeps what was said outside, unless it is there under the first of these keys. Nobody is made known for what is
    /// refused.
    async fn keep_arrival(&self, arrival: Arrival<'_>, project: &Project, keys: Vec<String>) -> Result<Sent, Error> {
        let Arrival { project_key, said, .. } = arrival;
        let (to, cc) = self.recipients(said, project).await?;
        let (answered, answers) = self.answered_outside(arrival, project).await?;
        let thread = match &answered {
            Some(answered) => Some(answered.message.thread.clone()),
            None => self.thread_outside(arrival, project, answers).await?,
        };
        let mode = said.metadata_text("mode").unwrap_or(CHAT);
        let new = NewPost {
            channel: ChannelName::parse(arrival.channel)?,
            keys,
            external_id: Some(arrival.name.to_owned()),
            cited_as: Some(said.id.clone()).filter(|id| id != arrival.name),
            answers: answers.map(str::to_owned),
            kind: said.kind.clone(),
            mode: checked_word("mode", mode).unwrap_or_else(|_| CHAT.to_owned()),
            hops: hops_after(mode, answered.as_ref(), said.metadata_number("hops")),
            sent_at: Some(said.timestamp),
            document: Some(arrival.document.to_owned()),
            origin: None,
        };
        let content = content_of(said.clone());
        let (subject, body) = (subject_of(&content.text), content.to_markdown());
        let draft = Draft {
            cc,
            thread: thread.as_deref(),
            importance: said.metadata_text(IMPORTANCE).and_then(Importance::parse).unwrap_or_default(),
            ack_required: said.metadata_flag(ACK_REQUIRED),
            door: arrival.door,
            ..Draft::plain(project_key, Claim::of(&said.from), to, &subject, &body)
        };
        let answered = answered.as_ref().map(|answered| &answered.message);
        self.check(&draft, Some(&new))?;
        let reading = self.read_draft(&draft, answered).await?;
        for name in draft.to.iter().chain(&draft.cc).chain([&said.from]) {
            self.ensure_mailbox_in(project, name).await?;
        }
        self.accept(draft, reading, answered, Some(new)).await
    }

    /// Whom something is addressed to, and who has a copy. Its author has none.
    async fn recipients(&self, said: &ChannelMessage, project: &Project) -> Result<(Vec<String>, Vec<String>), Error> {
        AgentName::parse(&said.from)?;
        let is_known = self.agent_named(project.id, &said.to).await?.is_some();
        // Foreign agents write '@codex' and 'codex, gemini' there.
        let written = if is_known { vec![said.to.as_str()] } else { said.to.split(',').map(called).collect() };
        let written = written.into_iter().filter(|name| !name.is_empty() && !is_everyone(name));
        let mut named = written.map(AgentName::parse).collect::<Result<Vec<_>, _>>()?;
        let (to, cc) = named_in(said);
        named.extend(to.into_iter().filter_map(|name| AgentName::parse(name).ok()));
        let copied = cc.into_iter().filter_map(|name| AgentName::parse(name).ok()).collect();
        let others = |names: Vec<AgentName>| -> Vec<String> {
            let others = names.iter().map(AgentName::as_str).filter(|name| *name != said.from);
            others.map(str::to_owned).collect()
        };
        Ok((others(named), others(copied)))
    }

    /// The post that something answers; if that is not known here, what it is called.
    async fn answered_outside<'a>(
        &self,
        arrival: Arrival<'a>,
        project: &Project,
    ) -> Result<(Option<Post>, Option<&'a str>), Error> {
        let Some(id) = arrival.said.metadata_text("in_reply_to").filter(|id| is_label(id)) else {
            return Ok((None, None));
        };
        let answered = self.store.post_called(project.id, arrival.channel, id).await?;
        let unknown = Some(id).filter(|_| answered.is_none());
        Ok((answered, unknown))
    }

    /// The conversation that something belongs to which answers nothing that is known here.
    ///
    /// What came before that which it answers began a conversation of its own, and what it answers joins that.
    async fn thread_outside(
        &self,
        arrival: Arrival<'_>,
        project: &Project,
        answers: Option<&str>,
    ) -> Result<Option<String>, Error> {
        let told = arrival.said.metadata_text("thread_id").filter(|name| is_label(name) && is_thread_everywhere(name));
        if told.is_some() {
            return Ok(told.map(str::to_owned));
        }
        let names: Vec<&str> = [arrival.name, &arrival.said.id].into_iter().chain(answers).collect();
        Ok(self.store.thread_awaiting(project.id, arrival.channel, &names).await?)
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
        // A database that was put back in time gives its numbers again, and anybody can write a number of ours.
        let is_it = |post: &Post| post.channel == channel.as_str() && post.mark(&office).as_ref() == Some(mark);
        Ok(post.filter(is_it).map(|post| post.message.id))
    }

    /// Whether the post that is announced in a channel is here, whole.
    pub async fn has_announced(&self, project_key: &str, channel: &str, what: &Announcement) -> Result<bool, Error> {
        let project = self.project(project_key).await?;
        Ok(self.whole_of(&project, &ChannelName::parse(channel)?, what).await?.is_some())
    }

    /// Whether a file of that office was ever taken in from the folder of a channel.
    pub async fn has_file_of(&self, project_key: &str, channel: &str, office: &str) -> Result<bool, Error> {
        // Others could make the mark of a post that has such a key: there is always a colon in those.
        if !office.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(false);
        }
        let project = self.project(project_key).await?;
        Ok(!self.store.known_keys(project.id, channel, &[&folder_key(office)]).await?.is_empty())
    }

    /// The post that is announced, if it is here.
    async fn whole_of(
        &self,
        project: &Project,
        channel: &ChannelName,
        what: &Announcement,
    ) -> Result<Option<MessageId>, Error> {
        let mark = OfficeMark::parse(&what.key);
        let own = self.own_post(project, channel, mark.as_ref()).await?;
        // Also what an author called so would be found by the key, which is not what was announced.
        let is_known = !self.store.known_keys(project.id, channel.as_str(), &[&what.key]).await?.is_empty();
        if own.is_some() || !is_known {
            return Ok(own);
        }
        let post = self.store.post_called(project.id, channel.as_str(), &what.key).await?;
        Ok(post.map(|post| post.message.id))
    }

    /// Tells the author of a JSON message that came from outside what is wrong with it, where it was said.
    ///
    /// Every office that hears the message makes the same report under the same name, so that there is one report however
    /// many offices there are. The message is kept, whether or not that could be told; what fails in passing is an error,
    /// so that the message is looked at again.
    async fn report_faults(
        &self,
        report: &ChannelMessage,
        arrival: Arrival<'_>,
        project: &Project,
    ) -> Result<(), Error> {
        if self.now().duration_since(arrival.said.timestamp) > REPORTED_WITHIN {
            return Ok(());
        }
        let document = report.to_json();
        let told = Arrival { name: &report.id, said: report, document: &document, door: OFFICE, ..arrival };
        match self.keep_arrival(told, project, keys(told, None)).await {
            Err(error) if error.retryable() => Err(error),
            // A report that breaks our own rules, such as one that is too long, would break them again.
            _ => Ok(()),
        }
    }

    /// The key of what has faults, until they are reported: under its name it would count as dealt with, and a crash in
    /// between would leave its author without a word.
    async fn keys_to_report(&self, arrival: Arrival<'_>, project: &Project) -> Result<Vec<String>, Error> {
        let dealt_with = self.store.known_keys(project.id, arrival.channel, &[arrival.name]).await?;
        Ok(if dealt_with.is_empty() { vec![format!("unreported:{}", arrival.name)] } else { dealt_with })
    }
}

/// The report on a message that was meant as a JSON message and has faults: it follows from the message alone. A report is
/// not reported on.
fn error_report(arrival: Arrival<'_>) -> Option<ChannelMessage> {
    let said = arrival.said;
    let read = json::read(json::find_in(&said.text)?);
    let is_meant = |message: &json::Message| match message.kind() {
        Some(kind) => kind != json::Type::ErrorReport,
        // Of an unknown type, or none: whoever says who it is, or under which id, means a message.
        None => message.sender_id().is_some() || message.message_id().is_some(),
    };
    read.value.as_ref().filter(|message| is_meant(message))?;
    let rejection = json::rejection(&read)?;
    let hash = blake3::hash(format!("{}\n{}\n{}", arrival.channel, arrival.name, said.text).as_bytes());
    let (hex, message_id) = (hash.to_hex(), report_id(hash));
    // Names are sorted by their time, and an answer comes behind what it answers.
    let time = Timestamp::from_millisecond(said.timestamp.as_millisecond() + 1).ok()?;
    let timestamp = rfc3339(time);
    let stamp = Stamp { timestamp: &timestamp, message_id: &message_id, sender_id: OFFICE_AGENT };
    let mut report = ChannelMessage {
        id: external_id(time, OFFICE_AGENT, &hex, 0, 0),
        timestamp: time,
        session_id: arrival.channel.to_owned(),
        from: OFFICE_AGENT.to_owned(),
        to: said.from.clone(),
        kind: ERROR_REPORT.to_owned(),
        text: json::error_report(&read, &rejection, stamp).write(),
        ..ChannelMessage::default()
    };
    report.set_metadata_text("mode", Some(WATCHER));
    report.set_metadata_text("turn", Some(OFFICE_AGENT));
    report.set_metadata_text("in_reply_to", Some(arrival.name));
    Some(report)
}

/// The keys under which something is taken in: what it is first, then what it is called where it was found, and that the
/// office that said it has the same folder.
fn keys(arrival: Arrival<'_>, mark: Option<&OfficeMark>) -> Vec<String> {
    let called = arrival.name.to_owned();
    match mark {
        None => vec![called],
        Some(mark) if arrival.door == FOLDER => vec![mark.key(), called, folder_key(&mark.office)],
        Some(mark) => vec![mark.key()],
    }
}

fn is_label(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= crate::threads::LONGEST_THREAD && !name.chars().any(char::is_control)
}

/// The key that is noted in a channel with every file of an office: no file is called so.
fn folder_key(office: &str) -> String {
    format!("folder/{office}")
}
