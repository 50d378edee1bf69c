//! Channels: where agents talk in the open, within one project and with agents that know nothing of Postrider.
//!
//! A message in a channel is a message like any other, and also a *post*: it has a name that folders and other post offices
//! know it by. It is mail for those whom it is addressed to or mentions; a broadcast alone is nobody's mail. What comes
//! from outside comes under a key, and a key is taken in once.

mod outside;

use async_trait::async_trait;
use formats::Kind;
use formats::channel::{ChannelMessage, Content, Type};
use jiff::Timestamp;

use crate::error::{Error, Stored};
use crate::ids::{MessageId, ProjectId};
use crate::messages::Message;
pub(crate) use outside::{ACK_REQUIRED, IMPORTANCE, digest, is_thread_everywhere, named_in};
pub use outside::{MOST_NAMES, OfficeMark, Origin, external_id};

/// The sign before a channel's name where names of agents stand too.
pub const SIGN: char = '#';
/// What most posts are: their type, and how they came to be.
pub const CHAT: &str = "chat";
/// How an answer came to be that a watcher had made.
pub const WATCHER: &str = "watcher";
/// The longest name of a channel, in characters.
const LONGEST_NAME: usize = 64;

/// The name of a channel, without its sign: a safe name of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChannelName(String);

impl ChannelName {
    /// Checks a name, with or without the sign before it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let name = text.strip_prefix(SIGN).unwrap_or(text);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('.') {
            return Ok(Self(name.to_owned()));
        }
        Err(Error::invalid("channel", text, "1 to 64 letters, digits, '-', '_' and '.', not starting with '.'"))
    }

    /// The name, without the sign.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as recipients are told it.
    pub fn signed(&self) -> String {
        format!("{SIGN}{}", self.0)
    }
}

/// A channel, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name, without the sign.
    pub name: String,
    /// When it was first heard of.
    pub created_at: Timestamp,
    /// How many posts it has.
    pub posts: u64,
    /// Its newest post, and when that was accepted.
    pub newest: Option<(MessageId, Timestamp)>,
}

/// What makes a new message a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPost {
    /// The channel, which is made if it is new.
    pub channel: ChannelName,
    /// The keys under which it came from outside, none for a message of our own. It is the one that the first says; if
    /// that was taken in before, the others are noted as more names of what is there.
    pub keys: Vec<String>,
    /// The name that it came with; `None` for a message of our own, which gets its name when it is kept.
    pub external_id: Option<String>,
    /// The id that its author gave it, where that is not its name.
    pub cited_as: Option<String>,
    /// The name of what it answers, where that is not known here.
    pub answers: Option<String>,
    /// What type it is of, such as `chat`.
    pub kind: String,
    /// `chat`, or `watcher`.
    pub mode: String,
    /// How many watchers answered each other on the way to it.
    pub hops: u32,
    /// When its author says that it was sent; `None` for now.
    pub sent_at: Option<Timestamp>,
    /// What arrived, as it arrived; of a message of our own its content, if there is more than the text.
    pub document: Option<String>,
    /// The office that first said it, if it was imported from there.
    pub origin: Option<Origin>,
}

impl NewPost {
    /// The text that calls agents by their names: without the code and the files that go with it.
    pub fn text(&self, door: &str, subject: &str, body: &str) -> String {
        let document = self.document.as_deref();
        let said = document.and_then(|document| match is_outside(door) {
            true => formats::channel::read_value(document).map(|said| said.text),
            false => Content::read(document).map(|content| content.text),
        });
        said.unwrap_or_else(|| text_of(subject, body))
    }

    /// The kind that its type gives to a message whose text is not typed; none if nobody knows that type.
    pub fn type_of_text(&self) -> Option<Kind> {
        Type::parse(&self.kind).map(Kind::Channel)
    }

    /// What an agent or a person says in a channel.
    pub fn chat(channel: ChannelName) -> Self {
        Self {
            channel,
            keys: Vec::new(),
            external_id: None,
            cited_as: None,
            answers: None,
            kind: CHAT.to_owned(),
            mode: CHAT.to_owned(),
            hops: 0,
            sent_at: None,
            document: None,
            origin: None,
        }
    }
}

/// A message in a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// The message, with its body.
    pub message: Message,
    /// The channel's name, without the sign.
    pub channel: String,
    /// The number of the event that tells of it.
    pub seq: i64,
    /// Its name in folders and elsewhere.
    pub external_id: String,
    /// The id that its author gave it, where that is another.
    pub cited_as: Option<String>,
    /// What type it is of.
    pub kind: String,
    /// `chat`, or `watcher`.
    pub mode: String,
    /// How many watchers answered each other on the way to it.
    pub hops: u32,
    /// When it was sent, as its author says.
    pub sent_at: Timestamp,
    /// The name of the post that it answers, which may not be known here.
    pub in_reply_to: Option<String>,
    /// What arrived, as it arrived; of a message of our own the content, if there is more than the text.
    pub document: Option<String>,
    /// The office that first said it, if it was imported from there.
    pub origin: Option<Origin>,
}

/// Which posts of a channel to return.
#[derive(Clone, Debug, Default)]
pub struct PostQuery {
    /// Only posts with a number above this one.
    pub after: Option<MessageId>,
    /// Only posts that were accepted after this.
    pub since: Option<Timestamp>,
    /// Only posts with a number below this one.
    pub before: Option<MessageId>,
    /// Only posts of this conversation.
    pub thread: Option<String>,
    /// At most so many: the oldest of them with `after` or `since`, else the newest.
    pub limit: usize,
}

/// What keeps channels.
///
/// A message becomes a post when it is appended with [`NewPost`](crate::messages::NewMessage::post); a key that was taken
/// in before adds nothing.
#[async_trait]
pub trait ChannelStore: Send + Sync {
    /// Which post office this is: a name that was generated when the store was made, and never changes.
    async fn office_id(&self) -> Stored<String>;

    /// The channels of a project, by name.
    async fn channels(&self, project: ProjectId) -> Stored<Vec<Channel>>;

    /// Posts of a channel, always the oldest first. A page ends early once they hold more than
    /// [`PAGE_BYTES`](crate::messages::PAGE_BYTES).
    async fn posts(&self, project: ProjectId, channel: &str, query: &PostQuery) -> Stored<Vec<Post>>;

    /// The number of a channel's newest post.
    async fn newest_post(&self, project: ProjectId, channel: &str) -> Stored<Option<MessageId>>;

    /// The post that a message is, if it is one.
    async fn post(&self, message: MessageId) -> Stored<Option<Post>>;

    /// The post that goes by that name in a channel, or that its author called so, or that also stands outside under it.
    async fn post_called(&self, project: ProjectId, channel: &str, id: &str) -> Stored<Option<Post>>;

    /// The conversation of the first post in a channel that answers one of these names, and came before what it answers.
    async fn thread_awaiting(&self, project: ProjectId, channel: &str, names: &[&str]) -> Stored<Option<String>>;

    /// Those of `keys` that were dealt with in that channel.
    async fn known_keys(&self, project: ProjectId, channel: &str, keys: &[&str]) -> Stored<Vec<String>>;

    /// Notes that a post stands outside under `name`, which is its name from now on, and is not taken in from there.
    async fn name_post(&self, message: MessageId, name: &str) -> Stored<()>;

    /// Notes that a post also stands outside under `key`, and is not taken in from there. Its name stays.
    async fn note_key(&self, message: MessageId, key: &str) -> Stored<()>;
}

/// The door of what the office says by itself: every office that has to say it makes the same document.
pub const OFFICE: &str = "office";
/// The door of what was found in a channel's folder.
pub const FOLDER: &str = "folder";
/// The door of what was published to a channel's subject.
pub const NATS: &str = "nats";

/// Whether what comes by this door is a document that is handed on as it is. Nobody proves a name there.
pub fn is_outside(door: &str) -> bool {
    matches!(door, FOLDER | NATS | OFFICE)
}

/// What a message from outside says.
pub fn content_of(said: ChannelMessage) -> Content {
    let text = outside::written_text(&said).to_owned();
    Content { text, code: said.code, artifacts: said.artifacts }
}

/// What a message with a subject says in one text: the subject is left out where it was made of the body.
pub fn text_of(subject: &str, body: &str) -> String {
    if subject.is_empty() || subject == subject_of(body) { body.to_owned() } else { format!("{subject}\n\n{body}") }
}

/// The subject of a text that came without one: its first line, cut short.
pub fn subject_of(text: &str) -> String {
    const LONGEST: usize = 80;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(no text)");
    let mut subject: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if line.chars().nth(LONGEST).is_some() {
        subject.push('…');
    }
    subject
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_that_was_made_of_a_text_is_not_said_beside_it() {
        let long = "x".repeat(200);
        for text in ["Hello", "\nHello", "a\tb", "  codex: go", "Hello\nthere", "", &long] {
            assert_eq!(text_of(&subject_of(text), text), text);
        }
        assert_eq!(text_of("Freeze", "At noon."), "Freeze\n\nAt noon.");
    }
}
