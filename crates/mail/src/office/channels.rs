//! Channels: posting, reading, and taking in what was said outside.
//!
//! What comes from outside is checked like any mail, but nobody can be told to mend it: names that are new get a
//! mailbox, and a typed message with faults is kept, and answered with an error report.

use formats::channel::{ChannelMessage, Content, EVERYONE};
use formats::json::{self, Stamp};
use formats::mention;

use super::messages::{Draft, check_thread};
use super::{Claim, Known, Office, Sent};
use crate::agents::AgentName;
use crate::channels::{
    CHAT, Channel, ChannelName, FOLDER, NewPost, OFFICE, OfficeMark, Post, PostQuery, WATCHER, content_of, subject_of,
    text_of,
};
use crate::clock::rfc3339;
use crate::error::{Error, shown};
use crate::ids::{AgentId, MessageId};
use crate::messages::{Importance, Message, Role};
use crate::projects::Project;

/// Who answers for the office itself.
const OFFICE_AGENT: &str = "postrider";
/// The longest chain of watchers that is told apart from a longer one.
const MOST_HOPS: u32 = 1_000;

/// What somebody says in a channel.
#[derive(Clone, Debug)]
pub struct PostDraft<'a> {
    /// The project.
    pub project_key: &'a str,
    /// Who says it; made known if it is new, as is everybody in `to`.
    pub from: Claim<'a>,
    /// The channel, with or without its sign.
    pub channel: &'a str,
    /// Whom it is addressed to; nobody in particular if `all`. If empty, whoever wrote what it answers.
    pub to: Vec<String>,
    /// What it is about; without one, its first line.
    pub subject: Option<&'a str>,
    /// What it says.
    pub text: &'a str,
    /// Code that goes with it.
    pub code: Option<&'a str>,
    /// The files that it speaks of.
    pub artifacts: Vec<String>,
    /// What type it is of, such as `chat`.
    pub kind: &'a str,
    /// `chat`, or `watcher`.
    pub mode: &'a str,
    /// What it answers: a message's number, or a post's name.
    pub in_reply_to: Option<&'a str>,
    /// The conversation; without one, that of what it answers, or a new one.
    pub thread: Option<&'a str>,
    /// The key against saying it twice.
    pub idempotency_key: Option<&'a str>,
    /// The door it came in by.
    pub door: &'static str,
}

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
    /// Says something in a channel, which may be new.
    pub async fn post(&self, post: PostDraft<'_>) -> Result<Sent, Error> {
        let channel = ChannelName::parse(post.channel)?;
        self.ensure_mailbox(post.project_key, post.from.name).await?;
        let answered = self.answered(post.project_key, &channel, post.in_reply_to).await?;
        let mut to: Vec<String> = post.to.iter().filter(|name| !is_everyone(name)).cloned().collect();
        for name in &to {
            self.ensure_mailbox(post.project_key, name).await?;
        }
        if post.to.is_empty() {
            to.extend(answered.as_ref().map(|answered| answered.message.from.clone()));
        }
        let content = Content::new(post.text, post.code, &post.artifacts);
        let (subject, body) =
            (post.subject.map_or_else(|| subject_of(post.text), str::to_owned), content.to_markdown());
        let new = NewPost {
            kind: checked_word("type", post.kind)?,
            mode: checked_word("mode", post.mode)?,
            hops: hops_after(post.mode, answered.as_ref(), None),
            document: (!content.is_plain()).then(|| {
                let text = text_of(&subject, post.text);
                Content { text, ..content }.to_json()
            }),
            ..NewPost::chat(channel)
        };
        let thread = post.thread.or(answered.as_ref().map(|answered| answered.message.thread.as_str()));
        let draft = Draft {
            idempotency_key: post.idempotency_key,
            thread: post.thread,
            door: post.door,
            ..plain(post.project_key, post.from, to, &subject, &body)
        };
        check_thread(&draft)?;
        let draft = Draft { thread, ..draft };
        self.keep(draft, answered.as_ref().map(|answered| &answered.message), new).await
    }

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

    /// The channels of a project, by name.
    pub async fn channels(&self, project_key: &str) -> Result<(Project, Vec<Channel>), Error> {
        let project = self.project(project_key).await?;
        let channels = self.store.channels(project.id).await?;
        Ok((project, channels))
    }

    /// A page of a channel, the oldest first. A channel that nobody ever used is empty.
    pub async fn posts(
        &self,
        project_key: &str,
        channel: &str,
        query: PostQuery,
    ) -> Result<(Project, ChannelName, Vec<Post>), Error> {
        let channel = ChannelName::parse(channel)?;
        let project = self.project(project_key).await?;
        let posts = self.store.posts(project.id, channel.as_str(), &query).await?;
        Ok((project, channel, posts))
    }

    /// Where a reader stands who has seen all up to `since`: a message's number, a time, or a post's name.
    pub async fn posts_since(&self, project_key: &str, channel: &str, since: &str) -> Result<PostQuery, Error> {
        let here = PostQuery::default();
        if let Ok(number) = since.parse() {
            return Ok(PostQuery { after: Some(MessageId(number)), ..here });
        }
        if let Ok(time) = since.parse() {
            return Ok(PostQuery { since: Some(time), ..here });
        }
        let channel = ChannelName::parse(channel)?;
        let project = self.project(project_key).await?;
        if let Some(post) = self.store.post_called(project.id, channel.as_str(), since).await? {
            return Ok(PostQuery { after: Some(post.message.id), ..here });
        }
        let wanted = format!("a message's number, a time, or the name of a message in '{}'", channel.signed());
        Err(Error::Invalid { what: "since", value: shown(since), wanted })
    }

    async fn keep(&self, draft: Draft<'_>, answered: Option<&Message>, post: NewPost) -> Result<Sent, Error> {
        self.check(&draft, Some(&post))?;
        let reading = self.read_draft(&draft, answered)?;
        self.accept(draft, reading, answered, Some(post)).await
    }

    /// The post that a caller answers, by its number or its name.
    async fn answered(&self, key: &str, channel: &ChannelName, id: Option<&str>) -> Result<Option<Post>, Error> {
        let Some(id) = id else { return Ok(None) };
        let project = self.project(key).await?;
        let found = match id.parse() {
            Ok(number) => {
                let is_here = |post: &Post| post.message.project == project.id && post.channel == channel.as_str();
                self.store.post(MessageId(number)).await?.filter(is_here)
            }
            Err(_) => self.store.post_called(project.id, channel.as_str(), id).await?,
        };
        let wanted = || format!("the number or the name of a message in '{}'", channel.signed());
        found.map(Some).ok_or_else(|| Error::Invalid { what: "in_reply_to", value: shown(id), wanted: wanted() })
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

    /// Adds whoever a post calls by name to its recipients, but for its author.
    pub(super) async fn add_mentioned(
        &self,
        project: &Project,
        sender: &Known,
        text: &str,
        recipients: &mut Vec<(AgentId, String, Role)>,
    ) -> Result<(), Error> {
        let mut called = self.store.agents_named(project.id, &mention::candidates(text)).await?;
        // A name at the very beginning calls in any case.
        called.extend(self.store.agents_in_any_case(project.id, &mention::openings(text)).await?);
        called.sort_by_key(|agent| agent.id);
        recipients.retain(|(agent, ..)| *agent != sender.id);
        for agent in called {
            let is_new = recipients.iter().all(|(known, ..)| *known != agent.id) && agent.id != sender.id;
            if is_new {
                recipients.push((agent.id, agent.name, Role::Cc));
            }
        }
        Ok(())
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

fn hops_after(mode: &str, answered: Option<&Post>, told: Option<i64>) -> u32 {
    let counted = if mode == WATCHER { answered.map_or(0, |post| post.hops) + 1 } else { 0 };
    let told = told.and_then(|hops| u32::try_from(hops).ok()).unwrap_or(0);
    counted.max(told).min(MOST_HOPS)
}

fn is_everyone(name: &str) -> bool {
    name.eq_ignore_ascii_case(EVERYONE)
}

fn is_thread(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= crate::threads::LONGEST_THREAD && !name.chars().any(char::is_control)
}

fn checked_word(what: &'static str, word: &str) -> Result<String, Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&word.len()) && word.chars().all(is_plain) {
        return Ok(word.to_owned());
    }
    let wanted = "1 to 64 letters, digits, '-', '_' and '.'".to_owned();
    Err(Error::Invalid { what, value: shown(word), wanted })
}

fn plain<'a>(project_key: &'a str, from: Claim<'a>, to: Vec<String>, subject: &'a str, body: &'a str) -> Draft<'a> {
    Draft {
        project_key,
        from,
        to,
        cc: Vec::new(),
        bcc: Vec::new(),
        subject,
        body,
        thread: None,
        importance: Importance::default(),
        ack_required: None,
        idempotency_key: None,
        strict: false,
        door: "channel",
    }
}
