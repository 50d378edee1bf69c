//! Sending: a draft becomes a message that is kept, or is refused whole.

use std::pin::Pin;

use formats::channel::Content;

use super::addressing::name_across;
use super::check_thread;
use super::reading::{Notes, Reading};
use super::resolving::Resolved;
use crate::agents::EVERYONE;
use crate::channels::{ChannelName, NewPost, SIGN};
use crate::error::{Error, check_label, check_text};
use crate::ids::{MessageId, ProjectId};
use crate::messages::{Importance, LONGEST_KEY, Message, OpenKey};
use crate::office::{Claim, Office, RecipientStanding};
use crate::projects::Project;

/// The most names in one of `to`, `cc` and `bcc`.
const MOST_NAMES: usize = 1_000;

/// A message as its sender wants it.
#[derive(Clone, Debug, Default)]
pub struct Draft<'a> {
    /// The project.
    pub project_key: &'a str,
    /// Who sends.
    pub from: Claim<'a>,
    /// Whom to write to; `all` is every agent but the sender.
    pub to: Vec<String>,
    /// Who gets a copy.
    pub cc: Vec<String>,
    /// Who gets a copy that the others do not know of.
    pub bcc: Vec<String>,
    /// The subject.
    pub subject: &'a str,
    /// The body.
    pub body: &'a str,
    /// The conversation; without one, the work item's, or a new one.
    pub thread: Option<&'a str>,
    /// How much it matters.
    pub importance: Importance,
    /// Whether an acknowledgement is wanted; when nobody says, the kind of message decides.
    pub ack_required: Option<bool>,
    /// The key against sending twice.
    pub idempotency_key: Option<&'a str>,
    /// The key of which the recipients have one message open.
    pub open_key: Option<OpenKey>,
    /// Whether to refuse it unless it is a typed message without fault.
    pub strict: bool,
    /// The door it came in by.
    pub door: &'static str,
}

impl<'a> Draft<'a> {
    /// A draft that says nothing beyond these.
    pub fn plain(project_key: &'a str, from: Claim<'a>, to: Vec<String>, subject: &'a str, body: &'a str) -> Self {
        Self { project_key, from, to, subject, body, door: "channel", ..Self::default() }
    }
}

/// An answer as its sender wants it. What is left out comes from the message that is answered.
#[derive(Clone, Debug)]
pub struct ReplyDraft<'a> {
    /// The message that is answered.
    pub reply_to: MessageId,
    /// The subject; without one, `Re:` and the old one.
    pub subject: Option<&'a str>,
    /// The rest, in which empty recipients mean whoever wrote, and no thread the old one.
    pub draft: Draft<'a>,
}

/// A message that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The message.
    pub message: Message,
    /// The path of its project.
    pub project_key: String,
    /// The blind copies, which only the sender learns of.
    pub bcc: Vec<String>,
    /// What its sender should know of it.
    pub notes: Notes,
    /// Whether it is new, and not the message that the same key, or the same name outside, brought before.
    pub is_new: bool,
    /// Whom it is addressed to and nobody knew before: they have a mailbox now. A misspelt name may be among them.
    pub new_mailboxes: Vec<String>,
    /// What the office wrote to the sender of a message that asks for files: what was granted, or who holds it.
    pub reservation: Option<Message>,
    /// What the addresses among the recipients stood for.
    pub resolved: Vec<Resolved>,
    /// How recipients stand, but for those who are awake.
    pub standing: Vec<RecipientStanding>,
    /// The slug of the project that it is kept in, if that is not the sender's own.
    pub other_project: Option<String>,
}

/// A message on its way into the store.
type Accepting<'a> = Pin<Box<dyn Future<Output = Result<Sent, Error>> + Send + 'a>>;

impl Office {
    /// Accepts a draft. After `Ok`, the message survives a crash and every recipient can read it.
    pub async fn send(&self, mut draft: Draft<'_>) -> Result<Sent, Error> {
        check_thread(&draft)?;
        let post = take_channel(&mut draft)?.map(NewPost::chat);
        self.check(&draft, post.as_ref())?;
        let reading = self.read_draft(&draft, None).await?;
        self.accept(draft, reading, None, post).await
    }

    /// Accepts an answer: to whoever wrote the message, or to its recipients when one answers oneself.
    pub async fn reply(&self, reply: ReplyDraft<'_>) -> Result<Sent, Error> {
        let mut draft = reply.draft;
        // Only what this caller asks for: a thread that is there is taken as it is, whatever its name.
        check_thread(&draft)?;
        let project = self.project(draft.project_key).await?;
        let parent = self.known_message(&project, reply.reply_to).await?;
        let is_implied = draft.to.is_empty();
        if is_implied {
            draft.to = self.answered_to(&project, &draft, &parent).await?;
            // What was said in the open is answered there.
            let channel = parent.to.first().filter(|name| name.starts_with(SIGN) && !draft.to.contains(name));
            draft.to.extend(channel.cloned());
        }
        let mut post = take_channel(&mut draft)?.map(NewPost::chat);
        if is_implied && post.is_some() {
            self.leave_out_retired(draft.project_key, &mut draft.to).await?;
        }
        if let Some(post) = post.as_mut().filter(|_| reply.subject.is_none()) {
            // The subject of what is answered may call others by name, and its author does not call them again.
            post.document = Some(Content::new(draft.body, None, &[]).to_json());
        }
        let subject = reply.subject.map_or_else(|| answer_to(&parent.subject), str::to_owned);
        draft.subject = &subject;
        draft.thread = draft.thread.or(Some(&parent.thread));
        self.check(&draft, post.as_ref())?;
        let reading = match reply.subject {
            Some(_) => self.read_draft(&draft, Some(&parent)).await?,
            None => self.read_answer(&draft, &parent).await?,
        };
        self.accept(draft, reading, Some(&parent), post).await
    }

    /// Who gets an answer: whoever wrote the message, or its recipients when one answers oneself.
    async fn answered_to(&self, project: &Project, draft: &Draft<'_>, parent: &Message) -> Result<Vec<String>, Error> {
        if !self.part_in(draft.project_key, draft.from.name, parent.id).await?.is_sender {
            return Ok(vec![parent.from.clone()]);
        }
        if parent.project == project.id {
            return Ok(parent.to.clone());
        }
        // The names that it shows are those of the project that it went to.
        let before = Some(ProjectId(parent.project.0 - 1));
        let there = self.store.projects(before, 1).await?.pop();
        let there = there.ok_or(Error::UnknownMessage(parent.id))?;
        Ok(parent.to.iter().map(|name| name_across(name, &there)).collect())
    }

    /// Keeps a draft that was checked and read, and tells those who wait for it.
    ///
    /// A future that is boxed here is compiled once, in this crate, and not again in every crate that sends.
    pub(in crate::office) fn accept<'a>(
        &'a self,
        draft: Draft<'a>,
        reading: Reading,
        answered: Option<&'a Message>,
        post: Option<NewPost>,
    ) -> Accepting<'a> {
        Box::pin(self.keep(draft, reading, answered, post))
    }

    pub(in crate::office) fn check(&self, draft: &Draft<'_>, post: Option<&NewPost>) -> Result<(), Error> {
        let limit = self.rules.longest_body;
        for (what, text) in [("subject", draft.subject), ("body_md", draft.body)] {
            check_text(what, text, limit)?;
        }
        if draft.to.is_empty() && post.is_none() {
            return Err(Error::NoRecipients);
        }
        for (what, names) in [("to", &draft.to), ("cc", &draft.cc), ("bcc", &draft.bcc)] {
            if names.len() > MOST_NAMES {
                let given = format!("{} names", names.len());
                return Err(Error::invalid(what, &given, format!("at most {MOST_NAMES} names")));
            }
        }
        draft.idempotency_key.map_or(Ok(()), |key| check_label("idempotency_key", key, LONGEST_KEY))
    }
}

/// Takes the channel out of the recipients; what is left is whom the post is for by name, nobody for `all`.
fn take_channel(draft: &mut Draft<'_>) -> Result<Option<ChannelName>, Error> {
    let (channels, names): (Vec<_>, Vec<_>) = draft.to.drain(..).partition(|name| name.starts_with(SIGN));
    draft.to = names;
    let hidden = draft.cc.iter().chain(&draft.bcc).find(|name| name.starts_with(SIGN));
    if let Some(one) = hidden.or(channels.get(1)) {
        return Err(Error::invalid("to", one, "one channel, among the names of `to`"));
    }
    let Some(channel) = channels.first().map(|name| ChannelName::parse(name)).transpose()? else { return Ok(None) };
    for names in [&mut draft.to, &mut draft.cc, &mut draft.bcc] {
        names.retain(|name| !name.eq_ignore_ascii_case(EVERYONE));
    }
    Ok(Some(channel))
}

fn answer_to(subject: &str) -> String {
    let answered = subject.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"));
    if answered { subject.to_owned() } else { format!("Re: {subject}") }
}
