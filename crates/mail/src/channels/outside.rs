//! A post as the world outside knows it: its name, the mark of the office that said it, and its document.
//!
//! Whoever has to make any of these again makes the same, so that saying a post twice changes nothing.

use std::fmt;

use formats::Kind;
use formats::channel::{ChannelMessage, Content};
use formats::mention::{not_mentioned, opens};
use jiff::Timestamp;

use super::{Post, SIGN, content_of, is_outside, text_of};
use crate::announcements::Announcement;
use crate::messages::Importance;

/// The fields of `metadata` in which what a mailbox knows of a message stands, where that is more than usual.
pub(crate) const IMPORTANCE: &str = "importance";
pub(crate) const ACK_REQUIRED: &str = "ack_required";
/// The field of `metadata` that says who vouched for its author, where that is a person. Offices do not believe it of others.
const VOUCHED: &str = "vouched";
/// The fields of `metadata` with whom a post is addressed to and who has a copy, where the field `to` has no room for them.
const TO: &str = "to";
const CC: &str = "cc";
/// How many names stand there at most. More are only called by the text.
const MOST_NAMED: usize = 50;
/// How much of a sender's name goes into the name of a post, in characters.
const LONGEST_IN_ID: usize = 64;

/// How many names are tried for a post of our own. Each that is taken was generated for another in the same second.
pub const MOST_NAMES: u32 = 1_000;

/// The name of a post of our own: `msg-{YYYYMMDD}-{HHMMSS}-{agent}-{hex4}`.
///
/// The last part follows from what the post is, so that whoever has to make the name again makes the same; `attempt`
/// leads to another when the name turned out to be taken.
pub fn external_id(sent_at: Timestamp, from: &str, office: &str, seq: i64, attempt: u32) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let agent: String = from.chars().take(LONGEST_IN_ID).map(|c| if is_plain(c) { c } else { '_' }).collect();
    let hash = blake3::hash(format!("{office}:{seq}:{attempt}").as_bytes());
    let hex4: String = hash.to_hex().chars().take(4).collect();
    format!("msg-{}-{agent}-{hex4}", sent_at.strftime("%Y%m%d-%H%M%S"))
}

/// The office that first said a post, and the number of its event there.
///
/// A post that was imported goes on under these: whoever has met it knows it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The post office that accepted it.
    pub office: String,
    /// The number of its event there.
    pub seq: i64,
}

impl Origin {
    /// Reads what was written as text.
    pub fn parse(text: &str) -> Option<Self> {
        let (office, seq) = text.rsplit_once(':')?;
        let is_office = !office.is_empty() && office.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Some(Self { office: office.to_owned(), seq: seq.parse().ok()? }).filter(|_| is_office)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.office, self.seq)
    }
}

/// What makes a post recognisable to every post office that meets it: who made it, and that nothing of it was changed.
///
/// Other programs copy metadata from what they answer, so the mark carries a digest of what it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfficeMark {
    /// The post office that accepted it.
    pub office: String,
    /// The number of its event there.
    pub seq: i64,
    digest: String,
}

impl OfficeMark {
    /// The field of `metadata` in which it stands.
    const FIELD: &'static str = "postrider";

    /// The mark of a message, if it has one that was made for it.
    pub fn of(said: &ChannelMessage) -> Option<Self> {
        let told = Self::parse(said.metadata_text(Self::FIELD)?)?;
        Some(Self::made_for(said, &told.office, told.seq)).filter(|mark| *mark == told)
    }

    /// The mark whose key this is.
    pub fn parse(key: &str) -> Option<Self> {
        let mut parts = key.rsplitn(3, ':').map(str::to_owned);
        let (digest, seq, office) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        Some(Self { office, seq, digest }).filter(|mark| mark.key() == key)
    }

    /// The key under which other post offices take the post in, however it reaches them.
    ///
    /// The digest is part of it: an office that was put back in time gives its numbers again, to other posts.
    pub fn key(&self) -> String {
        format!("{}:{}:{}", self.office, self.seq, self.digest)
    }

    fn made_for(said: &ChannelMessage, office: &str, seq: i64) -> Self {
        let (seq_text, time) = (seq.to_string(), said.timestamp.as_millisecond().to_string());
        let parts = [office, &seq_text, &said.session_id, &said.from, &said.to, &time, &said.text];
        let digest = digest(parts).to_hex().chars().take(16).collect();
        Self { office: office.to_owned(), seq, digest }
    }
}

/// A hash over texts, each of which goes in with its length.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}

impl Post {
    /// The document of this post for everybody outside, under the name `id`.
    ///
    /// What arrived is handed on as it was. A post of our own always becomes the same document.
    pub fn said(&self, office: &str, id: &str) -> ChannelMessage {
        let arrived = self.document.as_deref().filter(|_| self.has_arrived());
        if let Some(mut said) = arrived.and_then(formats::channel::read_value) {
            id.clone_into(&mut said.id);
            return said;
        }
        let named: Vec<&str> = self.message.to.iter().map(String::as_str).filter(|to| !to.starts_with(SIGN)).collect();
        let (to, several) = match named[..] {
            [one] => (one, &[][..]),
            _ => (formats::channel::EVERYONE, &named[..]),
        };
        let content = self.content();
        let copied: Vec<&str> = self.message.cc.iter().map(String::as_str).collect();
        // Whom the text calls has a copy wherever it is read.
        let copied = not_called(&copied, &content.text);
        let mut said = ChannelMessage {
            id: id.to_owned(),
            timestamp: self.sent_at,
            session_id: self.channel.clone(),
            from: self.message.from.clone(),
            to: to.to_owned(),
            kind: self.kind.clone(),
            text: with_calls(content.text, &[several, &copied].concat()),
            code: content.code,
            artifacts: content.artifacts,
            ..ChannelMessage::default()
        };
        let thread = Some(self.message.thread.as_str()).filter(|thread| is_thread_everywhere(thread));
        said.set_metadata_text("mode", Some(&self.mode));
        said.set_metadata_text("turn", Some(&self.message.from));
        said.set_metadata_text("in_reply_to", self.in_reply_to.as_deref());
        said.set_metadata_text("thread_id", thread);
        said.set_metadata("hops", self.hops);
        if self.message.importance != Importance::default() {
            said.set_metadata_text(IMPORTANCE, Some(self.message.importance.as_str()));
        }
        // Of a typed message the kind would decide for whoever is not told.
        if self.message.ack_required || self.message.kind.is_some_and(Kind::is_typed) {
            said.set_metadata(ACK_REQUIRED, self.message.ack_required);
        }
        if self.message.is_by_human() {
            said.set_metadata_text(VOUCHED, Some(self.message.vouched.as_str()));
        }
        for (field, names) in [(TO, several), (CC, &copied[..])] {
            if !names.is_empty() && several.len() + copied.len() <= MOST_NAMED {
                said.set_metadata(field, names);
            }
        }
        let first = self.first_said(office);
        let mark = OfficeMark::made_for(&said, &first.office, first.seq);
        said.set_metadata_text(OfficeMark::FIELD, Some(&mark.key()));
        said
    }

    /// What it says, with the code and the files that go with it.
    pub fn content(&self) -> Content {
        let document = self.document.as_deref();
        let said = document.and_then(|document| match self.has_arrived() {
            true => formats::channel::read_value(document).map(content_of),
            false => Content::read(document),
        });
        said.unwrap_or_else(|| Content::new(&text_of(&self.message.subject, &self.message.body), None, &[]))
    }

    /// The mark of the office that said it, if that was one: what others know it by.
    pub fn mark(&self, office: &str) -> Option<OfficeMark> {
        OfficeMark::of(&self.said(office, &self.external_id))
    }

    /// Where a post that did not arrive was first said: by the office `office` that has it, unless it was imported there.
    pub fn first_said(&self, office: &str) -> Origin {
        self.origin.clone().unwrap_or_else(|| Origin { office: office.to_owned(), seq: self.seq })
    }

    /// How many bytes it holds: what it says, and the document that it came as.
    pub fn bytes(&self) -> usize {
        self.message.body.len() + self.document.as_ref().map_or(0, String::len)
    }

    /// Whether it came from outside.
    pub fn has_arrived(&self) -> bool {
        is_outside(&self.message.door)
    }
}

/// Whether a conversation has that name in every office. Numbers are an office's own.
pub(crate) fn is_thread_everywhere(thread: &str) -> bool {
    !thread.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whom a document is addressed to and who has a copy, beside the one name of its field `to`.
///
/// Only an office is taken at its word: programs copy the metadata of what they answer.
pub(crate) fn named_in(said: &ChannelMessage) -> (Vec<&str>, Vec<&str>) {
    let (to, cc) = (said.metadata_names(TO), said.metadata_names(CC));
    let is_usable = (1..=MOST_NAMED).contains(&(to.len() + cc.len()));
    let is_of_office = || OfficeMark::of(said).is_some() || Announcement::of(said).is_some();
    if is_usable && is_of_office() { (to, cc) } else { (Vec::new(), Vec::new()) }
}

/// The text of a document as its author wrote it: without the names that an office put behind it.
pub(super) fn written_text(said: &ChannelMessage) -> &str {
    let (to, cc) = named_in(said);
    without_calls(&said.text, &[to, cc].concat())
}

/// Those of the names that the text calls in no way.
fn not_called<'n>(names: &[&'n str], text: &str) -> Vec<&'n str> {
    not_mentioned(names, text).into_iter().filter(|name| !opens(name, text)).collect()
}

/// A text that calls all these names, because agents that know nothing of us read no more than that.
///
/// What is missing stands in a paragraph behind the text: before it, it would hide what kind of message that is.
fn with_calls(text: String, names: &[&str]) -> String {
    let mut missing = not_called(names, &text);
    // Names that its author wrote there are not to be taken for ours.
    if without_calls(&text, names) != text && missing.is_empty() {
        missing = names.to_vec();
    }
    if missing.is_empty() { text } else { format!("{text}\n\n@{}", missing.join(" @")) }
}

/// The text before a last paragraph that is nothing but calls of these names, in their order.
fn without_calls<'t>(text: &'t str, names: &[&str]) -> &'t str {
    let Some((before, mut left)) = text.rsplit_once("\n\n") else { return text };
    for name in names {
        match left.strip_prefix('@').and_then(|left| left.strip_prefix(name)) {
            Some("") => return before,
            Some(rest) if rest.starts_with(" @") => left = &rest[1..],
            _ => {}
        }
    }
    text
}
